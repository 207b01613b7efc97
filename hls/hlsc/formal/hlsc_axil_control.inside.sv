  // Properties of hlsc_axil_control: the bus rules, every register against a model of it, no event lost. An argument
  // word chosen by the solver stands for all.
  logic [7:0] f_addresses, f_datas, f_reads;
  axil_rules #(.ADDR_WIDTH(ADDR_WIDTH)) f_bus (
      .clk, .rst, .awvalid, .awready, .awaddr, .wvalid, .wready, .wdata, .wstrb, .bvalid, .bready, .bresp,
      .arvalid, .arready, .araddr, .rvalid, .rready, .rdata, .rresp,
      .addresses(f_addresses), .datas(f_datas), .reads(f_reads)
  );

  // The write that is executed, seen from the bus: its address and its data in whatever order they came
  logic [INDEX-1:0] f_address;
  logic [31:0] f_data;
  logic [3:0] f_strb;
  logic f_at;  // the write takes effect at this clock edge
  logic f_was_reset = 1'b0;
  assign f_at = have_address && have_data && (!bvalid || bready);
  initial assume (rst);
  always @(posedge clk) begin
    f_was_reset <= rst;
    if (awvalid && awready) f_address <= INDEX'(awaddr >> 2);
    if (wvalid && wready) {f_data, f_strb} <= {wdata, wstrb};
    if (!rst) begin
      assert (f_addresses == 8'(have_address) + 8'(bvalid));
      assert (f_datas == 8'(have_data) + 8'(bvalid));
      assert (f_reads == 8'(rvalid));
      if (have_address) assert (write_word == f_address);
      if (have_data) assert (write_data == f_data && write_strb == f_strb);
      // neither side waits for the other
      assert (awready == !have_address && wready == !have_data && arready == !rvalid);
    end
  end

  // One argument word
  (* anyconst *) logic [INDEX-1:0] f_word;  // counted from 0x10
  logic [31:0] f_argument, f_bits, f_report;
  assign f_bits   = 32'(ARGUMENT_BITS >> (32 * f_word));
  assign f_report = 32'((reports & REPORT_BITS) >> (32 * f_word));
  always @(posedge clk) begin
    assume (f_word < WORDS);
    if (rst) begin
      f_argument <= '0;
    end else if (f_at && f_address == f_word + INDEX'(4)) begin
      for (int i = 0; i < 4; i++) begin
        if (f_strb[i]) f_argument[8*i+:8] <= f_data[8*i+:8] & f_bits[8*i+:8];
      end
    end
    if (!rst) begin
      assert (32'(arguments >> (32 * f_word)) == f_argument);
      assert ((f_argument & ~f_bits) == 0);
    end
  end

  // What a read gives: the registers as they are when its address is taken
  logic f_reading = 1'b0, f_start, f_interrupt, f_global, f_restart, f_done, f_ready;
  logic [1:0] f_on, f_pending;
  logic [INDEX-1:0] f_read_word;
  logic [31:0] f_expected, f_control;
  assign f_control = {22'b0, f_interrupt, 1'b0, f_restart, 3'b0, f_ready, ap_idle,
                      MODE == 2 ? ap_done : f_done, f_start};
  always @(posedge clk) begin
    f_reading   <= !rst && arvalid && arready;
    f_read_word <= INDEX'(araddr >> 2);
    case (araddr >> 2)
      0: f_expected <= MODE == 0 ? 0 : f_control;
      1: f_expected <= MODE == 0 ? 0 : 32'(f_global);
      2: f_expected <= MODE == 0 ? 0 : 32'(f_on);
      3: f_expected <= MODE == 0 ? 0 : 32'(f_pending);
      default: f_expected <= f_argument | f_report;
    endcase
    if (f_reading && !rst) begin
      assert (rvalid);
      if (f_read_word < 4 || f_read_word == f_word + INDEX'(4)) assert (rdata == f_expected);
      if (f_read_word >= WORDS + 4) assert (rdata == 0);
    end
  end

  // Block control
  logic f_finished, f_read_control, f_waiting = 1'b0;
  assign f_read_control = arvalid && arready && (araddr >> 2) == 0;
  // ap_ctrl_chain holds ap_done until ap_continue: that is one end of a call
  assign f_finished  = ap_done && !(MODE == 2 && f_waiting);
  assign f_interrupt = f_global && f_pending != 0;
  if (MODE != 0) begin : gen_f_control
    logic [3:0] low;  // the low byte of words 0 to 3 is written
    logic was_start = 1'b0, was_continued = 1'b0;
    for (genvar i = 0; i < 4; i++) begin : gen_low
      assign low[i] = f_at && f_address == i && f_strb[0];
    end
    always @(posedge clk) begin
      if (rst) begin
        {f_start, f_restart, f_done, f_ready, f_global, f_on, f_pending, f_waiting} <= '0;
      end else begin
        f_waiting <= MODE == 2 && ap_done && !ap_continue;
        if (low[0] && f_data[0]) f_start <= 1'b1;
        else if (ap_ready) f_start <= f_restart;
        if (low[0]) f_restart <= f_data[7];
        if (f_finished) f_done <= 1'b1;
        else if (f_read_control) f_done <= 1'b0;
        if (ap_ready) f_ready <= 1'b1;
        else if (f_read_control) f_ready <= 1'b0;
        if (low[1]) f_global <= f_data[0];
        if (low[2]) f_on <= f_data[1:0];
        for (int i = 0; i < 2; i++) begin
          if (f_on[i] && (i == 0 ? f_finished : ap_ready)) f_pending[i] <= 1'b1;
          else if (low[3] && f_data[i]) f_pending[i] <= !f_pending[i];
        end
      end
      if (!rst) begin
        assert (ap_start == f_start && irq == f_interrupt);
        assert (gen_control.auto_restart == f_restart && gen_control.done == f_done);
        assert (gen_control.ready == f_ready && gen_control.global_on == f_global);
        assert (gen_control.on == f_on && gen_control.pending == f_pending && gen_control.waiting == f_waiting);
        if (MODE == 1) assert (ap_continue);
      end
    end
    // ap_start is not taken away before ap_ready; every 1 written to ap_continue is one pulse
    always @(posedge clk) begin
      was_start     <= !rst && ap_start && !ap_ready;
      was_continued <= !rst && low[0] && f_data[4];
      if (was_start && !rst) assert (ap_start);
      if (MODE == 2 && !rst) assert (ap_continue == (was_continued || f_restart));
      cover (!rst && irq && f_reading && f_read_word == 0);
      cover (!rst && f_pending == 2'd3 && low[3] && f_data[1:0] == 2'd1);
    end
  end else begin : gen_f_none
    always @(posedge clk) assert (ap_start && ap_continue && !irq);
  end
  always @(posedge clk) begin
    cover (!rst && rvalid && f_reading && f_read_word == 4 && rdata != 0);
    cover (!rst && have_data && !have_address && awvalid);
  end
