// Burst reader and burst writer against a memory model, with the AXI4 rules that the proofs use checked on both
// sides. One instance per width; `finished` rises when all commands are done and checked.
//
// Plusargs: +stall=PERCENT (each channel, each cycle), +latency=CYCLES, +commands=N, +order=0..2 (write channels:
// 0 free, 1 AW is taken only after the burst's WLAST, 2 W only after the burst's AW), +long=BEATS (instead of
// random commands: N aligned commands of that many beats; the bench then prints the cycles they take).
`default_nettype none

module axi_library_bench #(
    parameter int DATA_WIDTH  = 512,
    parameter int MAX_BURST   = 16,
    parameter int OUTSTANDING = 16
) (
    input  wire  clk,
    input  wire  rst,
    output logic finished
);
  localparam int BYTES = DATA_WIDTH / 8;
  localparam int BURST = (MAX_BURST * BYTES > 4096) ? 4096 / BYTES : MAX_BURST;
  localparam int SPACE = 1 << 19;  // bytes of memory

  typedef struct {
    longint address;
    int     beats;
    int     bytes;
  } transfer_t;

  int stall, latency, commands, order, long_beats, now;
  initial begin
    if (!$value$plusargs("stall=%d", stall)) stall = 30;
    if (!$value$plusargs("latency=%d", latency)) latency = 20;
    if (!$value$plusargs("commands=%d", commands)) commands = 200;
    if (!$value$plusargs("order=%d", order)) order = 0;
    if (!$value$plusargs("long=%d", long_beats)) long_beats = 0;
  end
  always @(posedge clk) now <= rst ? 0 : now + 1;

  function automatic bit go();
    return stall == 0 || int'($urandom_range(99)) >= stall;
  endfunction

  // what the memory holds before anything is written
  function automatic logic [7:0] initial_byte(longint address);
    longint mixed = (address + 1) * 64'h9e3779b97f4a7c15;
    return mixed[63:56];
  endfunction
  function automatic logic [DATA_WIDTH-1:0] initial_word(longint address);
    logic [DATA_WIDTH-1:0] word;
    for (int i = 0; i < BYTES; i++) word[8*i+:8] = initial_byte(address + longint'(i));
    return word;
  endfunction
  // pages 13 and 14 of every 16 answer SLVERR and DECERR
  function automatic logic [1:0] response(longint address);
    return address[15:12] == 4'd13 ? 2'd2 : address[15:12] == 4'd14 ? 2'd3 : 2'd0;
  endfunction
  function automatic logic [1:0] expected_status(transfer_t t);
    logic [1:0] worst = 0;
    if (t.beats == 0) return 2'd0;
    if (t.address % BYTES != 0) return 2'd1;
    for (int i = 0; i < t.beats; i++) begin
      if (response(t.address + longint'(i * BYTES)) > worst) worst = response(t.address + longint'(i * BYTES));
    end
    return worst;
  endfunction
  function automatic transfer_t random_transfer(int k);
    transfer_t t;
    if (long_beats != 0) begin
      t.address = longint'(k * long_beats * BYTES % 4096);
      t.beats   = long_beats;
      t.bytes   = long_beats * BYTES;
      return t;
    end
    case ($urandom_range(9))
      0: t.beats = 0;
      1, 2, 3: t.beats = $urandom_range(4, 1);
      4, 5, 6, 7: t.beats = $urandom_range(40, 1);
      default: t.beats = $urandom_range(2048 / (BYTES / 4), 1);
    endcase
    t.bytes   = t.beats * BYTES;
    if (t.beats != 0 && $urandom_range(1) == 0) t.bytes -= $urandom_range(BYTES - 1);
    t.address = longint'($urandom_range(63)) * 4096;
    // near the end of a page, or anywhere
    if ($urandom_range(1) == 0) t.address += 4096 - longint'($urandom_range(4, 1)) * BYTES;
    else t.address += longint'($urandom_range(4095)) / BYTES * BYTES;
    if ($urandom_range(14) == 0) t.address += longint'($urandom_range(BYTES - 1, 1));
    return t;
  endfunction

  // ---- reader
  logic rc_valid, rc_ready, rd_valid, rd_ready, rd_last, rs_valid, rs_ready;
  logic [63:0] rc_address;
  logic [31:0] rc_bytes;
  logic [DATA_WIDTH-1:0] rd;
  logic [1:0] rs;
  logic arvalid, arready, rvalid, rready, rlast;
  logic [63:0] araddr;
  logic [7:0] arlen;
  logic [2:0] arsize;
  logic [1:0] arburst, rresp;
  logic [DATA_WIDTH-1:0] rdata;

  /* verilator lint_off PINMISSING */
  hlsc_axi_read #(.DATA_WIDTH(DATA_WIDTH), .MAX_BURST(MAX_BURST), .OUTSTANDING(OUTSTANDING)) reader (
      .clk, .rst,
      .command_valid(rc_valid), .command_ready(rc_ready), .command_address(rc_address), .command_bytes(rc_bytes),
      .data_valid(rd_valid), .data_ready(rd_ready), .data(rd), .data_last(rd_last),
      .status_valid(rs_valid), .status_ready(rs_ready), .status(rs),
      .arvalid, .arready, .araddr, .arlen, .arsize, .arburst, .rvalid, .rready, .rdata, .rlast, .rresp
  );
  axi4_read_rules #(.DATA_WIDTH(DATA_WIDTH), .MAX_BURST(BURST), .CHECK_SUBORDINATE(1), .EXACT(1)) read_rules (
      .clk, .rst, .arvalid, .arready, .araddr, .arlen, .arsize, .arburst,
      .rvalid, .rready, .rdata, .rlast, .rresp
  );
  /* verilator lint_on PINMISSING */

  transfer_t r_asked[$], r_data[$], r_status[$];
  int r_given, r_beat, r_done, r_first, r_end, r_most;
  typedef struct {
    longint address;
    int     beats;
    int     when_ready;
  } burst_t;
  burst_t r_bursts[$];

  always @(posedge clk) begin
    if (rst) begin
      {rc_valid, rd_ready, rs_ready, arready, rvalid} <= '0;
      r_given <= 0;
      r_beat  <= 0;
      r_done  <= 0;
      r_first <= 0;
      r_most  <= 0;
    end else begin
      // commands
      if (!rc_valid || rc_ready) begin
        if (r_given < commands && go()) begin
          transfer_t t;
          t = random_transfer(r_given);
          rc_valid   <= 1'b1;
          rc_address <= t.address;
          rc_bytes   <= t.bytes;
          r_given    <= r_given + 1;
          r_status.push_back(t);
          if (expected_status(t) != 2'd1 && t.beats != 0) r_data.push_back(t);
        end else begin
          rc_valid <= 1'b0;
        end
      end
      // data
      rd_ready <= go();
      if (rd_valid && rd_ready) begin
        if (r_first == 0) r_first <= now;
        r_end <= now;
        if (r_data.size() == 0) $fatal(1, "%m: data that nobody asked for");
        if (rd !== initial_word(r_data[0].address + longint'(r_beat * BYTES))) begin
          $fatal(1, "%m: wrong data at %h beat %0d", r_data[0].address, r_beat);
        end
        if (rd_last !== (r_beat + 1 == r_data[0].beats)) $fatal(1, "%m: wrong last, beat %0d", r_beat);
        if (rd_last) void'(r_data.pop_front());
        r_beat <= rd_last ? 0 : r_beat + 1;
      end
      // statuses
      rs_ready <= go();
      if (rs_valid && rs_ready) begin
        if (r_status.size() == 0) $fatal(1, "%m: a status that nobody asked for");
        if (rs !== expected_status(r_status[0])) $fatal(1, "%m: status %0d at %h", rs, r_status[0].address);
        void'(r_status.pop_front());
        r_done <= r_done + 1;
      end
      // memory
      arready <= go();
      if (arvalid && arready) r_bursts.push_back('{longint'(araddr), int'(arlen) + 1, now + latency});
      if (r_bursts.size() > r_most) r_most <= r_bursts.size();
      if (!rvalid || rready) begin
        if (r_bursts.size() != 0 && now >= r_bursts[0].when_ready && go()) begin
          rvalid <= 1'b1;
          rdata  <= initial_word(r_bursts[0].address);
          rresp  <= response(r_bursts[0].address);
          rlast  <= r_bursts[0].beats == 1;
          if (r_bursts[0].beats == 1) begin
            void'(r_bursts.pop_front());
          end else begin
            r_bursts[0].address += BYTES;
            r_bursts[0].beats -= 1;
          end
        end else begin
          rvalid <= 1'b0;
        end
      end
    end
  end

  // ---- writer
  logic wc_valid, wc_ready, wd_valid, wd_ready, ws_valid, ws_ready;
  logic [63:0] wc_address;
  logic [31:0] wc_bytes;
  logic [DATA_WIDTH-1:0] wd;
  logic [1:0] ws;
  logic awvalid, awready, wvalid, wready, wlast, bvalid, bready;
  logic [63:0] awaddr;
  logic [7:0] awlen;
  logic [2:0] awsize;
  logic [1:0] awburst, bresp;
  logic [DATA_WIDTH-1:0] wdata;
  logic [BYTES-1:0] wstrb;

  /* verilator lint_off PINMISSING */
  hlsc_axi_write #(.DATA_WIDTH(DATA_WIDTH), .MAX_BURST(MAX_BURST), .OUTSTANDING(OUTSTANDING)) writer (
      .clk, .rst,
      .command_valid(wc_valid), .command_ready(wc_ready), .command_address(wc_address), .command_bytes(wc_bytes),
      .data_valid(wd_valid), .data_ready(wd_ready), .data(wd),
      .status_valid(ws_valid), .status_ready(ws_ready), .status(ws),
      .awvalid, .awready, .awaddr, .awlen, .awsize, .awburst,
      .wvalid, .wready, .wdata, .wstrb, .wlast, .bvalid, .bready, .bresp
  );
  axi4_write_rules #(.DATA_WIDTH(DATA_WIDTH), .MAX_BURST(BURST), .CHECK_SUBORDINATE(1), .EXACT(1)) write_rules (
      .clk, .rst, .awvalid, .awready, .awaddr, .awlen, .awsize, .awburst,
      .wvalid, .wready, .wdata, .wstrb, .wlast, .bvalid, .bready, .bresp
  );
  /* verilator lint_on PINMISSING */

  logic [7:0] memory[SPACE], shadow[SPACE];
  initial begin
    for (int i = 0; i < SPACE; i++) begin
      memory[i] = initial_byte(longint'(i));
      shadow[i] = memory[i];
    end
  end

  transfer_t w_data[$], w_status[$];
  burst_t w_bursts[$], w_answers[$];  // announced; complete and waiting for B
  int w_given, w_beat, w_done, w_first, w_end;
  logic [DATA_WIDTH-1:0] w_words[$];
  logic [BYTES-1:0] w_strobes[$];
  int w_lasts, w_addresses;  // bursts whose WLAST, whose AW was taken
  logic [DATA_WIDTH-1:0] next_word;

  always @(posedge clk) begin
    if (rst) begin
      {wc_valid, wd_valid, ws_ready, awready, wready, bvalid} <= '0;
      w_given     <= 0;
      w_beat      <= 0;
      w_done      <= 0;
      w_first     <= 0;
      w_lasts     = 0;
      w_addresses = 0;
    end else begin
      // commands
      if (!wc_valid || wc_ready) begin
        if (w_given < commands && go()) begin
          transfer_t t;
          t = random_transfer(w_given);
          wc_valid   <= 1'b1;
          wc_address <= t.address;
          wc_bytes   <= t.bytes;
          w_given    <= w_given + 1;
          w_status.push_back(t);
          if (t.beats != 0) w_data.push_back(t);
        end else begin
          wc_valid <= 1'b0;
        end
      end
      // data; what a command that is not refused brings is written to the shadow, and no byte more
      if (!wd_valid || wd_ready) begin
        if (w_data.size() != 0 && go()) begin
          longint at;
          at = w_data[0].address + longint'(w_beat * BYTES);
          for (int i = 0; i < BYTES; i += 4) next_word[8*i+:32] = $urandom;
          wd_valid <= 1'b1;
          wd       <= next_word;
          if (at % BYTES == 0 && response(at) == 0) begin
            for (int i = 0; i < BYTES; i++) if (w_beat * BYTES + i < w_data[0].bytes) shadow[at+longint'(i)] = next_word[8*i+:8];
          end
          if (w_beat + 1 == w_data[0].beats) begin
            w_beat <= 0;
            void'(w_data.pop_front());
          end else begin
            w_beat <= w_beat + 1;
          end
        end else begin
          wd_valid <= 1'b0;
        end
      end
      // statuses
      ws_ready <= go();
      if (ws_valid && ws_ready) begin
        if (w_status.size() == 0) $fatal(1, "%m: a status that nobody asked for");
        if (ws !== expected_status(w_status[0])) $fatal(1, "%m: status %0d at %h", ws, w_status[0].address);
        void'(w_status.pop_front());
        w_done <= w_done + 1;
      end
      // memory
      if (awvalid && awready) begin
        w_bursts.push_back('{longint'(awaddr), int'(awlen) + 1, 0});
        w_addresses += 1;
      end
      if (wvalid && wready) begin
        w_words.push_back(wdata);
        w_strobes.push_back(wstrb);
        w_lasts += int'(wlast);
        if (w_first == 0) w_first <= now;
        w_end <= now;
      end
      awready <= go() && (order != 1 || w_lasts > w_addresses);
      if (order == 1 && awvalid && awready) awready <= 1'b0;
      wready  <= go() && (order != 2 || w_addresses > w_lasts);
      if (order == 2 && wvalid && wready && wlast) wready <= 1'b0;
      while (w_bursts.size() != 0 && w_words.size() != 0) begin
        longint at;
        at = w_bursts[0].address;
        if (response(at) == 0) begin
          for (int i = 0; i < BYTES; i++) if (w_strobes[0][i]) memory[at+longint'(i)] = w_words[0][8*i+:8];
        end
        void'(w_words.pop_front());
        void'(w_strobes.pop_front());
        w_bursts[0].address += BYTES;
        w_bursts[0].beats -= 1;
        if (w_bursts[0].beats == 0) begin
          w_answers.push_back('{at, 0, now + latency});
          void'(w_bursts.pop_front());
        end
      end
      if (!bvalid || bready) begin
        bvalid <= 1'b0;
        if (w_answers.size() != 0 && now >= w_answers[0].when_ready && go()) begin
          bvalid <= 1'b1;
          bresp  <= response(w_answers[0].address);
          void'(w_answers.pop_front());
        end
      end
    end
  end

  // ---- end: nothing more comes, and memory is what it should be
  int quiet;
  always @(posedge clk) begin
    if (rst || r_done != commands || w_done != commands || r_data.size() != 0) begin
      quiet    <= 0;
      finished <= 1'b0;
    end else begin
      quiet <= quiet + 1;
      if (quiet == 50 && !finished) begin
        for (int i = 0; i < SPACE; i++) begin
          if (memory[i] !== shadow[i]) $fatal(1, "%m: memory differs at %h", i);
        end
        $display("RESULT width %0d read_cycles %0d write_cycles %0d read_bursts %0d", DATA_WIDTH,
                 r_end - r_first + 1, w_end - w_first + 1, r_most);
        finished <= 1'b1;
      end
    end
    if (now == 2000000) $fatal(1, "%m: hangs: %0d reads and %0d writes of %0d done", r_done, w_done, commands);
  end
endmodule

module axi_library_top (
    input wire clk,
    input wire rst
);
  logic [3:0] finished;
  axi_library_bench #(.DATA_WIDTH(32), .MAX_BURST(256)) narrow (.clk, .rst, .finished(finished[0]));
  axi_library_bench #(.DATA_WIDTH(512), .MAX_BURST(16)) usual (.clk, .rst, .finished(finished[1]));
  axi_library_bench #(.DATA_WIDTH(1024), .MAX_BURST(256)) wide (.clk, .rst, .finished(finished[2]));
  axi_library_bench #(.DATA_WIDTH(64), .MAX_BURST(1)) single (.clk, .rst, .finished(finished[3]));
  always @(posedge clk) if (!rst && finished == '1) $finish;
endmodule

`default_nettype wire
