// `kv_compress` with a checker on both streams and a fault injector (off unless a test asks) behind its output.
// The kernel's ports are those that Vitis HLS gives it, so an exported module takes this place unchanged.
`default_nettype none

module kv_compress_tb (
    input  wire         ap_clk,
    input  wire         ap_rst_n,
    input  wire [511:0] raw_in_TDATA,
    input  wire [63:0]  raw_in_TKEEP,
    input  wire [0:0]   raw_in_TLAST,
    input  wire         raw_in_TVALID,
    output wire         raw_in_TREADY,
    output wire [511:0] frame_out_TDATA,
    output wire [63:0]  frame_out_TKEEP,
    output wire [0:0]   frame_out_TLAST,
    output wire         frame_out_TVALID,
    input  wire         frame_out_TREADY,
    input  wire [3:0]   fault,
    input  wire [15:0]  fault_packet,
    input  wire [15:0]  fault_beat,
    input  wire         clear_violations,
    // axis_checker's bits: of the stream that the bench drives, and of the one that the kernel drives
    output wire [4:0]   raw_in_violations,
    output wire [4:0]   frame_out_violations
);

    wire [511:0] dut_tdata;
    wire [63:0]  dut_tkeep;
    wire [0:0]   dut_tlast;
    wire         dut_tvalid, dut_tready;

    kv_compress dut (
        .ap_clk,
        .ap_rst_n,
        .raw_in_TDATA,
        .raw_in_TKEEP,
        .raw_in_TLAST,
        .raw_in_TVALID,
        .raw_in_TREADY,
        .frame_out_TDATA  (dut_tdata),
        .frame_out_TKEEP  (dut_tkeep),
        .frame_out_TLAST  (dut_tlast),
        .frame_out_TVALID (dut_tvalid),
        .frame_out_TREADY (dut_tready)
    );

    axis_fault u_fault (
        .clk        (ap_clk),
        .rst_n      (ap_rst_n),
        .fault,
        .fault_packet,
        .fault_beat,
        .in_tdata   (dut_tdata),
        .in_tkeep   (dut_tkeep),
        .in_tlast   (dut_tlast),
        .in_tvalid  (dut_tvalid),
        .in_tready  (dut_tready),
        .out_tdata  (frame_out_TDATA),
        .out_tkeep  (frame_out_TKEEP),
        .out_tlast  (frame_out_TLAST),
        .out_tvalid (frame_out_TVALID),
        .out_tready (frame_out_TREADY)
    );

    // error tests send partial TKEEP on purpose
    axis_checker #(.FULL_KEEP(1'b0)) u_check_in (
        .clk        (ap_clk),
        .rst_n      (ap_rst_n),
        .tdata      (raw_in_TDATA),
        .tkeep      (raw_in_TKEEP),
        .tlast      (raw_in_TLAST),
        .tvalid     (raw_in_TVALID),
        .tready     (raw_in_TREADY),
        .clear      (clear_violations),
        .violations (raw_in_violations)
    );

    axis_checker u_check_out (
        .clk        (ap_clk),
        .rst_n      (ap_rst_n),
        .tdata      (frame_out_TDATA),
        .tkeep      (frame_out_TKEEP),
        .tlast      (frame_out_TLAST),
        .tvalid     (frame_out_TVALID),
        .tready     (frame_out_TREADY),
        .clear      (clear_violations),
        .violations (frame_out_violations)
    );

endmodule

`default_nettype wire
