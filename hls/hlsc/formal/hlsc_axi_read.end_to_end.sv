  // End to end: the word at an address chosen by the solver holds a value and answers with a response, both chosen
  // too. Every beat of that address has the value; every command has its beats, its last and its status.
  localparam int FQ = 3;
  (* anyconst *) logic [ADDR_WIDTH-1:0] f_where;
  (* anyconst *) logic [DATA_WIDTH-1:0] f_value;
  (* anyconst *) logic [1:0] f_response;
  (* anyconst *) logic [3:0] f_chosen;  // the command (of those with data) and the status that are looked at

  // the subordinate: answers in order
  logic [ADDR_WIDTH-1:0] f_address[8], f_bus_address;
  logic [FQ-1:0] f_asked, f_answered;
  logic [8:0] f_bus_beat;
  assign f_bus_address = f_address[f_answered] + ADDR_WIDTH'(f_bus_beat * BYTES);
  always @(posedge clk) begin
    if (arvalid && arready) f_address[f_asked] <= araddr;
    if (rst) begin
      f_asked    <= '0;
      f_answered <= '0;
      f_bus_beat <= '0;
    end else begin
      if (arvalid && arready) f_asked <= f_asked + 1'b1;
      if (rvalid && rready) f_bus_beat <= rlast ? '0 : f_bus_beat + 1'b1;
      if (rvalid && rready && rlast) f_answered <= f_answered + 1'b1;
      if (rvalid) begin
        if (f_bus_address == f_where) assume (rdata == f_value && rresp == f_response);
        else assume (rresp == 2'b00);
      end
    end
  end

  // what was commanded, and what came
  logic [3:0] f_commands, f_with_data, f_lasts, f_statuses;
  logic f_data_known, f_status_known, f_has_data;
  logic [ADDR_WIDTH-1:0] f_start, f_here;
  logic [LENGTH_WIDTH-1:0] f_length, f_came;
  logic [1:0] f_expected;
  assign f_has_data = command_beats != 0 && (command_address % BYTES) == 0;
  assign f_here = f_start + ADDR_WIDTH'(f_came * BYTES);
  always @(posedge clk) begin
    assume ((f_where % BYTES) == 0);
    assume (command_beats <= 6);
    if (rst) begin
      f_commands     <= '0;
      f_with_data    <= '0;
      f_lasts        <= '0;
      f_statuses     <= '0;
      f_data_known   <= 1'b0;
      f_status_known <= 1'b0;
      f_came         <= '0;
    end else begin
      if (command_valid && command_ready) begin
        f_commands  <= f_commands + 1'b1;
        f_with_data <= f_with_data + 4'(f_has_data);
        if (f_has_data && f_with_data == f_chosen) begin
          f_data_known <= 1'b1;
          f_start      <= command_address;
          f_length     <= command_beats;
        end
        if (f_commands == f_chosen) begin
          f_status_known <= 1'b1;
          f_expected     <= command_beats == 0 ? 2'd0 : !f_has_data ? 2'd1 :
              (f_response[1] && ADDR_WIDTH'(f_where - command_address) < ADDR_WIDTH'(command_beats * BYTES)) ?
              f_response : 2'd0;
        end
      end
      if (data_valid) assert (f_lasts != f_with_data);  // no data that nobody asked for
      if (data_valid && f_lasts == f_chosen) begin
        assert (f_data_known);
        assert (data_last == (f_came + 1 == f_length));
        if (f_here == f_where) assert (data == f_value);
      end
      if (data_valid && data_ready) begin
        f_lasts <= f_lasts + 4'(data_last);
        if (f_lasts == f_chosen) f_came <= f_came + 1'b1;
      end
      if (status_valid) assert (f_statuses != f_commands);
      if (status_valid && f_statuses == f_chosen) assert (f_status_known && status == f_expected);
      if (status_valid && status_ready) f_statuses <= f_statuses + 1'b1;
      cover (data_valid && f_chosen == 1 && f_lasts == 1 && f_came == 2 && f_here == f_where);
      cover (status_valid && f_statuses == 2 && f_chosen == 2 && f_expected == 2'd2);
    end
  end
