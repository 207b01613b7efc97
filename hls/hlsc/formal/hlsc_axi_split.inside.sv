  // Properties of hlsc_axi_split: the items of a transfer are its beats, in order, without gap or overlap.
  logic f_busy = 1'b0, f_was_reset = 1'b0, f_skip, f_unaligned;
  logic [ADDR_WIDTH-1:0] f_next;  // address of the next beat, of an unaligned transfer rounded down
  logic [LENGTH_WIDTH-1:0] f_left;  // beats that no item had yet
  logic [12:0] f_end;
  assign f_end = 13'(burst_address[11:0]) + 13'(13'(burst_beats) * 13'(BYTES));

  initial assume (rst);
  always @(posedge clk) begin
    f_was_reset <= rst;
    if (rst) begin
      f_busy <= 1'b0;
    end else if (command_valid && command_ready) begin
      f_busy      <= 1'b1;
      f_unaligned <= command_beats != 0 && (command_address % BYTES) != 0;
      f_skip      <= command_beats == 0 || (CHUNK_UNALIGNED == 0 && (command_address % BYTES) != 0);
      f_next      <= command_address - (command_address % BYTES);
      f_left      <= command_beats;
    end else if (burst_valid && burst_ready) begin
      f_busy <= !burst_last;
      f_next <= f_next + burst_beats * BYTES;
      f_left <= f_left - burst_beats;
    end
    if (f_was_reset) assert (!burst_valid);
    if (!rst) begin
      assert (burst_valid == f_busy);
      if (f_busy) begin
        assert (burst_unaligned == f_unaligned);
        assert (burst_address == f_next);
        assert (beat == f_next[ADDR_WIDTH-1:S] && remaining == f_left && skip == f_skip);
        if (f_skip) begin
          assert (burst_beats == 0 && burst_last);
        end else begin
          assert (burst_beats >= 1 && burst_beats <= BURST);
          assert (f_end <= 13'd4096);
          assert (burst_beats <= f_left);
          assert (burst_last == (burst_beats == f_left));
          // no shorter than it must be
          assert (burst_last || f_end % 13'(BURST * BYTES) == 0);
        end
      end
      // one item per cycle, also from one transfer to the next
      assert (command_ready == (!f_busy || (burst_ready && burst_last)));
    end
    cover (f_busy && f_left != 0 && f_end == 13'd4096 && burst_last && !rst);
    cover (f_busy && !burst_last && burst_beats < BURST && burst_beats != 0 && !rst);
  end
