  // Data integrity, for ever: one beat of one command, both chosen by the solver, is followed: the command in the
  // splitter, its burst in `requests`, its place among the beats under way on the bus, its place in the buffer. At
  // each stage `f_ahead` beats are before it, so no beat is lost, doubled or out of order. The subordinate answers in
  // order; of RLAST the rule is used that the chosen beat has it if it ends its burst, and that all earlier bursts
  // have had theirs by then.
  localparam int FR = ADDR_WIDTH + 8;
  localparam bit [2:0] F_IDLE = 0, F_COMMAND = 1, F_REQUEST = 2, F_BUS = 3, F_BUFFER = 4;
  (* hierconn *) wire [L-1:0] \split.remaining ;
  (* hierconn *) wire [BUFFER*(DATA_WIDTH+1)-1:0] \buffer.f_items ;
  (* anyseq *) logic f_choose;
  (* anyconst *) logic [L-1:0] f_offset;  // of the chosen beat in its command

  logic [2:0] f_stage;
  logic [15:0] f_ahead;  // beats before it in its stage
  logic [15:0] f_tags_ahead, f_bursts_ahead;  // from the request on: tags before its burst's, bursts before its own
  logic f_last, f_ends_burst, f_flag;  // last of its command, of its burst; its burst is the command's last
  logic [ADDR_WIDTH-1:0] f_target;
  logic [DATA_WIDTH-1:0] f_value;

  function automatic logic [ADDR_WIDTH-1:0] f_address(input logic [ADDR_WIDTH-1:0] first, input logic [15:0] beats);
    f_address = first + beats * BYTES;
  endfunction

  logic f_taken, f_leaves;
  logic [15:0] f_command_beats;
  assign f_command_beats = (16'(command_bytes) + 16'(BYTES - 1)) / 16'(BYTES);
  assign f_taken = f_stage == F_IDLE && f_choose && command_valid && command_ready
      && (command_address % BYTES) == 0 && 16'(f_offset) < f_command_beats;
  // it leaves its stage in this cycle
  always_comb begin
    case (f_stage)
      F_COMMAND: f_leaves = request && f_ahead < 16'(item_beats);
      F_REQUEST: f_leaves = arvalid && arready && f_ahead <= 16'(arlen);
      F_BUS:     f_leaves = beat && f_ahead == 0;
      F_BUFFER:  f_leaves = data_valid && data_ready && f_ahead == 0;
      default:   f_leaves = 1'b0;
    endcase
  end

  always @(posedge clk) begin
    if (rst) begin
      f_stage <= F_IDLE;
    end else if (f_taken) begin
      f_stage  <= F_COMMAND;
      f_ahead  <= 16'(f_offset);
      f_target <= f_address(command_address, 16'(f_offset));
      f_last   <= 16'(f_offset) + 16'd1 == f_command_beats;
    end else if (f_leaves) begin
      f_stage <= (f_stage == F_BUFFER) ? F_IDLE : f_stage + 1'b1;
      case (f_stage)
        F_COMMAND: begin
          f_ahead      <= f_ahead + f_requested - ((arvalid && arready) ? 16'(arlen) + 1 : 0);
          f_ends_burst <= f_ahead + 1 == 16'(item_beats);
          f_flag       <= item_last;
        end
        F_REQUEST: f_ahead <= f_ahead + f_beats - 16'(beat);
        F_BUS:     f_ahead <= 16'(\buffer.count ) - 16'(data_valid && data_ready);
        default:   ;
      endcase
      f_value <= f_stage == F_BUS ? rdata : f_value;
    end else begin
      case (f_stage)
        F_COMMAND: f_ahead <= f_ahead - (request ? 16'(item_beats) : 0);
        F_REQUEST: f_ahead <= f_ahead - ((arvalid && arready) ? 16'(arlen) + 1 : 0);
        F_BUS:     f_ahead <= f_ahead - 16'(beat);
        F_BUFFER:  f_ahead <= f_ahead - 16'(data_valid && data_ready);
        default:   ;
      endcase
    end
    if (f_stage == F_COMMAND) begin
      f_tags_ahead   <= 16'(\tags.count ) - 16'(tag_done);
      f_bursts_ahead <= f_tagged - 16'(beat && rlast);
    end else begin
      f_tags_ahead   <= f_tags_ahead - 16'(tag_done);
      f_bursts_ahead <= f_bursts_ahead - 16'(beat && rlast);
    end
  end

  // what the subordinate does
  always @(posedge clk) begin
    if (!rst && rvalid && f_stage == F_BUS) begin
      if (f_ahead == 0) assume (f_bursts_ahead == 0 && rlast == f_ends_burst);
      else if (f_bursts_ahead == 0) assume (!rlast);
    end
  end

  // what is claimed
  always @(posedge clk) begin
    if (!rst) begin
      if (f_stage == F_REQUEST && f_leaves) assert (f_address(araddr, f_ahead) == f_target);
      if (f_stage == F_BUFFER && f_ahead == 0) assert (data_valid && data == f_value && data_last == f_last);
    end
    cover (!rst && f_stage == F_BUFFER && f_leaves && f_offset == 3);
    cover (!rst && f_stage == F_BUS && f_leaves && f_flag && !f_last);
  end

  // where the chosen beat is, stage by stage
  logic [15:0] f_first;  // beats of the older request
  logic [15:0] f_bursts_before;
  assign f_first = 16'(\requests.f_items [7:0]) + 1;
  always_comb begin
    f_bursts_before = '0;
    for (int i = 0; i < OUTSTANDING; i++) begin
      if (i < f_tags_ahead) f_bursts_before = f_bursts_before + 16'(!\tags.f_items [2*i+1]);
    end
  end
  always @(posedge clk) begin
    if (!rst) begin
      assert (f_stage <= F_BUFFER);
      if (f_stage == F_COMMAND) begin
        assert (item_valid && !item_skip && f_ahead < 16'(\split.remaining ));
        assert (f_address(item_address, f_ahead) == f_target);
        assert (f_last == (f_ahead + 1 == 16'(\split.remaining )));
      end
      if (f_stage == F_REQUEST) begin
        assert (f_ahead < f_requested);
        if (f_ahead < f_first) begin
          assert (f_address(\requests.f_items [8+:ADDR_WIDTH], f_ahead) == f_target);
          assert (f_bursts_ahead == f_bursts);
        end else begin
          assert (f_address(\requests.f_items [FR+8+:ADDR_WIDTH], f_ahead - f_first) == f_target);
          assert (f_bursts_ahead == f_bursts + 1);
        end
      end
      if (f_stage == F_BUS) assert (f_ahead < f_beats && f_bursts_ahead < f_bursts);
      if (f_stage == F_REQUEST || f_stage == F_BUS) begin
        assert (f_last == (f_ends_burst && f_flag));
        assert (f_tags_ahead < 16'(\tags.count ) && f_bursts_before == f_bursts_ahead);
        assert (2'(\tags.f_items >> (2 * f_tags_ahead)) == {1'b0, f_flag});
      end
      if (f_stage == F_BUFFER) begin
        assert (f_ahead < 16'(\buffer.count ));
        assert ((DATA_WIDTH + 1)'(\buffer.f_items >> ((DATA_WIDTH + 1) * f_ahead)) == {f_last, f_value});
      end
    end
  end
