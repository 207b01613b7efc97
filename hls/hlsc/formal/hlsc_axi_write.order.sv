  // Data integrity, for ever: one beat of the data stream, chosen by the solver, is followed: unclaimed in the buffer,
  // claimed by a burst (or dropped), then its burst's way over AW and its own over W. On the bus the n-th beat of the
  // data belongs to the n-th beat that was announced; `f_skew` is how many beats AW is ahead of W.
  localparam int FR = ADDR_WIDTH + 8;
  (* hierconn *) wire [L-1:0] \split.remaining ;
  (* hierconn *) wire [BUFFER*DATA_WIDTH-1:0] \buffer.f_items ;
  (* anyseq *) logic f_choose;

  function automatic logic [ADDR_WIDTH-1:0] f_address(input logic [ADDR_WIDTH-1:0] first, input logic [15:0] beats);
    f_address = first + beats * BYTES;
  endfunction

  // the command under way, seen from outside
  logic [ADDR_WIDTH-1:0] f_command;
  logic [LENGTH_WIDTH-1:0] f_bytes;
  logic [15:0] f_beats, f_done;
  logic f_unaligned;
  always @(posedge clk) begin
    if (command_valid && command_ready) begin
      f_command   <= command_address;
      f_unaligned <= command_bytes != 0 && (command_address % BYTES) != 0;
      f_bytes     <= command_bytes;
      f_beats     <= (16'(command_bytes) + 16'(BYTES - 1)) / 16'(BYTES);
      f_done      <= '0;
    end else if (taken) begin
      f_done <= f_done + item_beats;
    end
  end

  // the chosen beat
  logic f_waits, f_claims, f_claimed_now, f_asks, f_drop;  // in the buffer; claimed; its burst is in `requests`
  logic [15:0] f_place;  // buffered beats before it
  logic [15:0] f_unclaimed_ahead;  // unclaimed beats before it
  logic [15:0] f_pieces_ahead, f_index;  // pieces before its own; beats before it in its own
  logic [15:0] f_to_announce;  // beats in `requests` before it; after its AW: negative
  logic [15:0] f_skew;
  logic [ADDR_WIDTH-1:0] f_target;
  logic [DATA_WIDTH-1:0] f_value;
  logic [BYTES-1:0] f_strobes, f_strobes_now;  // its bytes that are inside the command
  logic f_ends_burst, f_announces;
  assign f_claimed_now = f_waits && !f_claims && taken && f_unclaimed_ahead < 16'(item_beats);
  always_comb begin
    for (int i = 0; i < BYTES; i++) begin
      f_strobes_now[i] = (f_done + f_unclaimed_ahead) * 16'(BYTES) + 16'(i) < 16'(f_bytes);
    end
  end
  assign f_announces = f_asks && awvalid && awready && f_to_announce <= 16'(awlen);

  always @(posedge clk) begin
    if (rst) begin
      {f_waits, f_claims, f_asks} <= '0;
      f_skew <= '0;
    end else begin
      f_skew <= f_skew + ((awvalid && awready) ? 16'(awlen) + 16'd1 : 16'd0) - 16'(wvalid && wready);
      f_place           <= f_place - 16'(beat_done);
      f_unclaimed_ahead <= f_unclaimed_ahead - (taken ? 16'(item_beats) : 16'd0);
      f_pieces_ahead    <= f_pieces_ahead - 16'(piece_done);
      f_to_announce     <= f_to_announce - ((awvalid && awready) ? 16'(awlen) + 16'd1 : 16'd0);
      if (!f_waits) begin
        if (f_choose && data_valid && data_ready && !f_asks) begin
          f_waits           <= 1'b1;
          f_claims          <= 1'b0;
          f_value           <= data;
          f_place           <= 16'(\buffer.count ) - 16'(beat_done);
          f_unclaimed_ahead <= 16'(unclaimed) - (taken ? 16'(item_beats) : 16'd0);
        end
      end else if (f_claimed_now) begin
        f_claims       <= 1'b1;
        f_drop         <= f_unaligned;
        f_asks         <= !f_unaligned;
        f_strobes      <= f_strobes_now;
        f_index        <= f_unclaimed_ahead;
        f_ends_burst   <= f_unclaimed_ahead + 16'd1 == 16'(item_beats);
        f_pieces_ahead <= 16'(\pieces.count ) - 16'(piece_done);
        f_target       <= f_address(f_command, 16'(f_done) + f_unclaimed_ahead);
        f_to_announce  <= f_requested - ((awvalid && awready) ? 16'(awlen) + 16'd1 : 16'd0) + f_unclaimed_ahead;
      end
      if (f_waits && beat_done && f_place == 0) f_waits <= 1'b0;
      if (f_announces) f_asks <= 1'b0;
    end
  end

  // what is claimed
  logic [15:0] f_bus_ahead;  // beats of W before the chosen one, by what AW announced
  assign f_bus_ahead = f_to_announce + f_skew;
  always @(posedge clk) begin
    if (!rst) begin
      // AW says its address, and where its burst ends
      if (f_announces) begin
        assert (f_address(awaddr, f_to_announce) == f_target);
        assert (f_ends_burst == (f_to_announce == 16'(awlen)));
      end
      if (f_waits && f_claims && !f_drop) begin
        // W brings it when AW's count says so, and nothing else then
        if (wvalid) assert ((f_place == 0) == (f_bus_ahead == 0));
        if (wvalid && f_place == 0) assert (wdata == f_value && wstrb == f_strobes && wlast == f_ends_burst);
      end
      // what is dropped is not on the bus; what is not claimed is not taken from the buffer
      if (f_waits && f_place == 0 && (f_drop || !f_claims) && wvalid) assert (f_claims && !f_drop);
      if (f_waits && !f_claims && f_place == 0) assert (!beat_done);
      // all of a command is asked for: the last item completes it
      if (taken && item_last) assert (f_done + item_beats == f_beats);
    end
    cover (!rst && f_waits && f_claims && !f_drop && f_place == 0 && wvalid && wready && f_asks);
    cover (!rst && f_waits && f_claims && !f_drop && f_place == 0 && wvalid && wready && !f_asks && f_index == 1);
    cover (!rst && f_waits && f_claims && !f_drop && f_place == 0 && wvalid && f_strobes == 1);
    cover (!rst && f_waits && f_claims && f_drop && f_place == 0 && beat_done);
  end

  // where it is, stage by stage
  logic [15:0] f_requested, f_first;  // beats in `requests`; of the older request
  logic [15:0] f_pending, f_before, f_kept_before;  // kept beats in `pieces`; all and kept beats in pieces before its own
  logic [7:0] f_own_length;
  logic f_own_drop;
  logic [S-1:0] f_own_tail;
  assign f_first = 16'(\requests.f_items [7:0]) + 16'd1;
  always_comb begin
    f_requested   = '0;
    f_pending     = '0;
    f_before      = '0;
    f_kept_before = '0;
    f_own_length  = '0;
    f_own_drop    = 1'b0;
    f_own_tail    = '0;
    for (int i = 0; i < 2; i++) begin
      if (i < \requests.count ) f_requested = f_requested + \requests.f_items [i*FR+:8] + 16'd1;
    end
    for (int i = 0; i < OUTSTANDING; i++) begin
      if (i < \pieces.count ) begin
        if (!\pieces.f_items [FP*i+8]) f_pending = f_pending + \pieces.f_items [FP*i+:8] + 16'd1;
        if (i < f_pieces_ahead) f_before = f_before + \pieces.f_items [FP*i+:8] + 16'd1;
        if (i < f_pieces_ahead && !\pieces.f_items [FP*i+8]) begin
          f_kept_before = f_kept_before + \pieces.f_items [FP*i+:8] + 16'd1;
        end
        if (i == f_pieces_ahead) {f_own_tail, f_own_drop, f_own_length} = \pieces.f_items [FP*i+:FP];
      end
    end
    if (piece_valid && !piece_drop) begin
      f_pending     = f_pending - 16'(sent);
      f_kept_before = f_kept_before - 16'(sent);
    end
  end
  always @(posedge clk) begin
    if (!rst) begin
      assert (f_skew + f_requested == f_pending);
      if (item_valid) begin
        assert (f_unaligned == item_unaligned && f_done + 16'(\split.remaining ) == f_beats);
        assert (f_beats == (16'(f_bytes) + 16'(BYTES - 1)) / 16'(BYTES) && tail == S'(f_bytes % BYTES));
        assert (item_skip == (f_beats == 0) && f_done <= f_beats);
        if (!f_unaligned && !item_skip) assert (item_address == f_address(f_command, 16'(f_done)));
      end
      if (f_waits) begin
        assert (f_place < 16'(\buffer.count ));
        assert (DATA_WIDTH'(\buffer.f_items >> (DATA_WIDTH * f_place)) == f_value);
        if (!f_claims) begin
          assert (f_unclaimed_ahead < 16'(unclaimed));
          assert (f_place == 16'(\buffer.count ) - 16'(unclaimed) + f_unclaimed_ahead);
          assert (!f_asks);
        end else begin
          assert (f_pieces_ahead < 16'(\pieces.count ));
          assert (f_own_drop == f_drop && f_index <= 16'(f_own_length));
          assert (f_ends_burst == (f_index == 16'(f_own_length)));
          if (f_ends_burst && f_own_tail != 0) assert (f_strobes == BYTES'((32'd1 << f_own_tail) - 32'd1));
          else assert (f_strobes == '1);
          assert (f_place == f_before + f_index - 16'(sent));
          if (f_pieces_ahead == 0) assert (16'(sent) <= f_index);
          if (!f_drop) assert (f_bus_ahead == f_kept_before + f_index);
          if (f_drop) assert (!f_asks);
        end
      end
      if (f_asks) begin
        assert (f_to_announce < f_requested);
        if (f_to_announce < f_first) begin
          assert (f_address(\requests.f_items [8+:ADDR_WIDTH], f_to_announce) == f_target);
          assert (f_ends_burst == (f_to_announce + 16'd1 == f_first));
        end else begin
          assert (f_address(\requests.f_items [FR+8+:ADDR_WIDTH], f_to_announce - f_first) == f_target);
          assert (f_ends_burst == (f_to_announce - f_first == 16'(\requests.f_items [FR+:8])));
        end
      end
    end
  end
