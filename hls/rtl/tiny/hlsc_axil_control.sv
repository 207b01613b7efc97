// AXI4-Lite control registers with the register map that Vitis HLS gives an s_axilite interface (UG1399).
//
//   0x00  bit 0 ap_start    set by writing 1, cleared when the kernel is ready (with auto_restart it stays set)
//         bit 1 ap_done     ap_ctrl_hs: set at the end of a call, cleared by reading; ap_ctrl_chain: as the kernel
//         bit 2 ap_idle     as the kernel
//         bit 3 ap_ready    set when the kernel takes its arguments, cleared by reading
//         bit 4 ap_continue ap_ctrl_chain: writing 1 gives one pulse; reads 0 (auto_restart holds it high)
//         bit 7 auto_restart
//         bit 9 interrupt   the interrupt output
//   0x04  bit 0 global interrupt enable
//   0x08  interrupt enable: bit 0 ap_done, bit 1 ap_ready
//   0x0c  interrupt status: an enabled event sets its bit, writing 1 toggles it
//   0x10  32-bit words of the arguments (ARGUMENT_BITS) and of what the kernel reports (REPORT_BITS)
//
// With ap_ctrl_none there is nothing below 0x10. All that is not there reads 0 and ignores writes, always OKAY.
// Write address and data may come in any order. Argument registers change as soon as they are written.
`default_nettype none

module hlsc_axil_control #(
    parameter int MODE = 1,  // 0 ap_ctrl_none, 1 ap_ctrl_hs, 2 ap_ctrl_chain
    parameter int ADDR_WIDTH = 6,  // bits of a byte address
    parameter int WORDS = 1,  // 32-bit words from 0x10 up, reserved ones too
    parameter bit [32*WORDS-1:0] ARGUMENT_BITS = '1,  // bits that are registers, read and written by the host
    parameter bit [32*WORDS-1:0] REPORT_BITS = '0  // bits that the host reads from `reports`
) (
    input  wire                   clk,
    input  wire                   rst,          // synchronous, active high
    input  wire                   awvalid,
    output logic                  awready,
    input  wire  [ADDR_WIDTH-1:0] awaddr,       // the two lowest bits are ignored
    input  wire                   wvalid,
    output logic                  wready,
    input  wire  [          31:0] wdata,
    input  wire  [           3:0] wstrb,
    output logic                  bvalid,
    input  wire                   bready,
    output logic [           1:0] bresp,
    input  wire                   arvalid,
    output logic                  arready,
    input  wire  [ADDR_WIDTH-1:0] araddr,       // the two lowest bits are ignored
    output logic                  rvalid,
    input  wire                   rready,
    output logic [          31:0] rdata,
    output logic [           1:0] rresp,
    output logic                  ap_start,     // held until ap_ready
    input  wire                   ap_ready,     // one cycle: the arguments were taken
    input  wire                   ap_done,      // ap_ctrl_hs: one cycle; ap_ctrl_chain: held until ap_continue
    input  wire                   ap_idle,
    output logic                  ap_continue,
    output logic                  irq,          // the top's `interrupt`
    output logic [32*WORDS-1:0]   arguments,
    input  wire  [32*WORDS-1:0]   reports
);
  localparam int INDEX = ADDR_WIDTH - 2;  // bits of a word's number

  if (MODE < 0 || MODE > 2) begin : gen_mode
    $error("%m: MODE (%0d) must be 0 (ap_ctrl_none), 1 (ap_ctrl_hs) or 2 (ap_ctrl_chain)", MODE);
  end
  if (WORDS < 1 || ADDR_WIDTH < 5 || 4 * (WORDS + 4) > 2 ** ADDR_WIDTH) begin : gen_words
    $error("%m: ADDR_WIDTH (%0d) does not reach WORDS (%0d, at least 1) words from 0x10", ADDR_WIDTH, WORDS);
  end
  if ((ARGUMENT_BITS & REPORT_BITS) != '0) begin : gen_overlap
    $error("%m: a bit is in ARGUMENT_BITS and in REPORT_BITS");
  end

  // Write channels: each side is held until both are there
  logic have_address, have_data, write;
  logic [INDEX-1:0] write_word;
  logic [31:0] write_data, write_mask;
  logic [3:0] write_strb;

  assign awready = !have_address;
  assign wready  = !have_data;
  assign bresp   = '0;
  assign write   = have_address && have_data && (!bvalid || bready);

  always_comb for (int i = 0; i < 32; i++) write_mask[i] = write_strb[i/8];

  always_ff @(posedge clk) begin
    if (awvalid && awready) write_word <= awaddr[ADDR_WIDTH-1:2];
    if (wvalid && wready) begin
      write_data <= wdata;
      write_strb <= wstrb;
    end
    if (rst) begin
      have_address <= 1'b0;
      have_data    <= 1'b0;
      bvalid       <= 1'b0;
    end else begin
      have_address <= (have_address && !write) || (awvalid && awready);
      have_data    <= (have_data && !write) || (wvalid && wready);
      bvalid       <= write || (bvalid && !bready);
    end
  end

  // Arguments
  for (genvar w = 0; w < WORDS; w++) begin : gen_argument
    localparam bit [31:0] BITS = ARGUMENT_BITS[32*w+:32];
    always_ff @(posedge clk) begin
      if (rst) begin
        arguments[32*w+:32] <= '0;
      end else if (write && write_word == INDEX'(w + 4)) begin
        arguments[32*w+:32] <= ((arguments[32*w+:32] & ~write_mask) | (write_data & write_mask)) & BITS;
      end
    end
  end

  // Block control and interrupt
  logic [31:0] control, global_enable, enable, status;  // what the host reads

  if (MODE == 0) begin : gen_none
    assign control       = '0;
    assign global_enable = '0;
    assign enable        = '0;
    assign status        = '0;
    assign ap_start      = 1'b1;
    assign ap_continue   = 1'b1;
    assign irq           = 1'b0;
    wire _unused = &{1'b0, ap_ready, ap_done, ap_idle};
  end else begin : gen_control
    logic auto_restart, done, ready, pulse, waiting, global_on, finished, control_read;
    logic [1:0] on, pending, event_now;
    logic [3:0] written;  // the low byte of words 0 to 3 is written

    for (genvar i = 0; i < 4; i++) begin : gen_written
      assign written[i] = write && write_strb[0] && write_word == INDEX'(i);
    end
    assign control_read = arvalid && arready && araddr[ADDR_WIDTH-1:2] == '0;
    assign finished     = ap_done && !waiting;  // one call ended
    assign event_now    = {ap_ready, finished} & on;

    always_ff @(posedge clk) begin
      if (rst) begin
        ap_start     <= 1'b0;
        auto_restart <= 1'b0;
        done         <= 1'b0;
        ready        <= 1'b0;
        pulse        <= 1'b0;
        waiting      <= 1'b0;
        global_on    <= 1'b0;
        on           <= '0;
        pending      <= '0;
      end else begin
        if (written[0]) auto_restart <= write_data[7];
        if (written[0] && write_data[0]) ap_start <= 1'b1;
        else if (ap_ready) ap_start <= auto_restart;
        // an event in the cycle of the read stays for the next one
        done    <= finished || (done && !control_read);
        ready   <= ap_ready || (ready && !control_read);
        pulse   <= MODE == 2 && written[0] && write_data[4];
        waiting <= MODE == 2 && ap_done && !ap_continue;
        if (written[1]) global_on <= write_data[0];
        if (written[2]) on <= write_data[1:0];
        pending <= (pending ^ (written[3] ? write_data[1:0] : 2'b00)) | event_now;
      end
    end
    assign ap_continue   = MODE == 1 || pulse || auto_restart;
    assign irq           = global_on && pending != '0;
    assign control       = {
      22'b0, irq, 1'b0, auto_restart, 3'b0, ready, ap_idle, (MODE == 2) ? ap_done : done, ap_start
    };
    assign global_enable = {31'b0, global_on};
    assign enable        = {30'b0, on};
    assign status        = {30'b0, pending};
  end

  // Read channels
  logic [31:0] selected;
  logic [32*WORDS-1:0] readable;

  assign readable = (arguments & ARGUMENT_BITS) | (reports & REPORT_BITS);
  assign arready  = !rvalid;
  assign rresp    = '0;

  always_comb begin
    case (araddr[ADDR_WIDTH-1:2])
      INDEX'(0): selected = control;
      INDEX'(1): selected = global_enable;
      INDEX'(2): selected = enable;
      INDEX'(3): selected = status;
      default:   selected = '0;
    endcase
    for (int w = 0; w < WORDS; w++) begin
      if (araddr[ADDR_WIDTH-1:2] == INDEX'(w + 4)) selected = readable[32*w+:32];
    end
  end

  always_ff @(posedge clk) begin
    if (arvalid && arready) rdata <= selected;
    if (rst) rvalid <= 1'b0;
    else rvalid <= (arvalid && arready) || (rvalid && !rready);
  end

  wire _unused = &{1'b0, awaddr[1:0], araddr[1:0]};
endmodule

`default_nettype wire
