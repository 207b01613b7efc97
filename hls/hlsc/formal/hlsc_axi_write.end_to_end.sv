  // End to end: one beat of the data stream, chosen by the solver, is followed to the bus: it has the data and
  // strobes it came with and the address its command says. Its burst's response is chosen, all others are OKAY;
  // each status is what its command's bursts got, and comes after them. All numbers count from reset.
  localparam int FB = 6;
  (* anyconst *) logic [FB-1:0] f_beat;  // its number in the data stream
  (* anyconst *) logic [1:0] f_response;
  (* anyconst *) logic [FB-1:0] f_chosen;  // number of the command whose status is looked at

  // the data stream
  logic [FB-1:0] f_given;
  logic [DATA_WIDTH-1:0] f_value;
  logic [BYTES-1:0] f_strobes;

  // the commands: beats asked for, and those that go to the bus
  logic [FB-1:0] f_commands, f_asked, f_kept, f_bus_beat;
  logic f_unaligned, f_inside, f_target_known, f_dropped, f_chosen_known, f_after;
  logic [ADDR_WIDTH-1:0] f_target;
  logic [1:0] f_expected;
  assign f_unaligned = (command_address % BYTES) != 0;
  assign f_inside = f_beat >= f_asked && f_beat < f_asked + FB'(command_beats);

  // the bus
  logic [FB-1:0] f_announced, f_written, f_bursts, f_responses, f_burst, f_statuses;
  logic f_burst_known, f_answered, f_own_burst;
  assign f_own_burst = f_target_known && !f_dropped && f_bus_beat >= f_announced
      && f_bus_beat <= f_announced + FB'(awlen);

  always @(posedge clk) begin
    assume (command_beats <= 6);
    if (rst) begin
      f_given        <= '0;
      f_commands     <= '0;
      f_asked        <= '0;
      f_kept         <= '0;
      f_target_known <= 1'b0;
      f_dropped      <= 1'b0;
      f_chosen_known <= 1'b0;
      f_after        <= 1'b0;
      f_announced    <= '0;
      f_written      <= '0;
      f_bursts       <= '0;
      f_responses    <= '0;
      f_statuses     <= '0;
      f_burst_known  <= 1'b0;
      f_answered     <= 1'b0;
    end else begin
      if (data_valid && data_ready) begin
        f_given <= f_given + 1'b1;
        if (f_given == f_beat) {f_value, f_strobes} <= {data, data_strb};
      end
      if (command_valid && command_ready) begin
        f_commands <= f_commands + 1'b1;
        f_asked    <= f_asked + FB'(command_beats);
        if (!f_unaligned) f_kept <= f_kept + FB'(command_beats);
        if (f_inside) begin
          f_target_known <= 1'b1;
          f_dropped      <= f_unaligned;
          f_target       <= command_address + ADDR_WIDTH'((f_beat - f_asked) * BYTES);
          f_bus_beat     <= f_kept + (f_beat - f_asked);
        end
        if (f_commands == f_chosen) begin
          f_chosen_known <= 1'b1;
          f_after        <= f_inside && !f_unaligned;
          f_expected     <= command_beats == 0 ? 2'd0 : f_unaligned ? 2'd1 :
              (f_inside && f_response[1]) ? f_response : 2'd0;
        end
      end
      if (awvalid) begin
        assert (f_announced < f_kept);  // no more than was asked for
        if (f_own_burst) assert (awaddr + ADDR_WIDTH'((f_bus_beat - f_announced) * BYTES) == f_target);
      end
      if (awvalid && awready) begin
        f_announced <= f_announced + FB'(awlen) + 1'b1;
        f_bursts    <= f_bursts + 1'b1;
        if (f_own_burst) {f_burst_known, f_burst} <= {1'b1, f_bursts};
      end
      if (wvalid) begin
        assert (f_written < f_kept);
        if (f_target_known && !f_dropped && f_written == f_bus_beat) begin
          assert (f_given > f_beat);
          assert (wdata == f_value && wstrb == f_strobes);
        end
      end
      if (wvalid && wready) f_written <= f_written + 1'b1;
      if (bvalid) assume (bresp == ((f_burst_known && f_burst == f_responses) ? f_response : 2'd0));
      if (bvalid && bready) begin
        f_responses <= f_responses + 1'b1;
        if (f_burst_known && f_burst == f_responses) f_answered <= 1'b1;
      end
      if (status_valid) assert (f_statuses != f_commands);
      if (status_valid && f_statuses == f_chosen) begin
        assert (f_chosen_known && status == f_expected);
        if (f_after) assert (f_answered);
      end
      if (status_valid && status_ready) f_statuses <= f_statuses + 1'b1;
      cover (wvalid && f_target_known && !f_dropped && f_written == f_bus_beat && f_beat == 3 && f_kept != f_asked);
      cover (status_valid && f_statuses == 2 && f_chosen == 2 && f_expected == 2'd2);
    end
  end
