// `kv_decompress` with a checker on both streams and a fault injector (off unless a test asks) behind its output.
// The kernel's ports are those that Vitis HLS gives it, so an exported module takes this place unchanged.
`default_nettype none

module kv_decompress_tb (
    input  wire         ap_clk,
    input  wire         ap_rst_n,
    input  wire [511:0] frame_in_TDATA,
    input  wire [63:0]  frame_in_TKEEP,
    input  wire [0:0]   frame_in_TLAST,
    input  wire         frame_in_TVALID,
    output wire         frame_in_TREADY,
    output wire [511:0] raw_out_TDATA,
    output wire [63:0]  raw_out_TKEEP,
    output wire [0:0]   raw_out_TLAST,
    output wire         raw_out_TVALID,
    input  wire         raw_out_TREADY,
    input  wire [3:0]   fault,
    input  wire [15:0]  fault_packet,
    input  wire [15:0]  fault_beat,
    input  wire         clear_violations,
    // axis_checker's bits: of the stream that the bench drives, and of the one that the kernel drives
    output wire [4:0]   frame_in_violations,
    output wire [4:0]   raw_out_violations
);

    wire [511:0] dut_tdata;
    wire [63:0]  dut_tkeep;
    wire [0:0]   dut_tlast;
    wire         dut_tvalid, dut_tready;

    kv_decompress dut (
        .ap_clk,
        .ap_rst_n,
        .frame_in_TDATA,
        .frame_in_TKEEP,
        .frame_in_TLAST,
        .frame_in_TVALID,
        .frame_in_TREADY,
        .raw_out_TDATA  (dut_tdata),
        .raw_out_TKEEP  (dut_tkeep),
        .raw_out_TLAST  (dut_tlast),
        .raw_out_TVALID (dut_tvalid),
        .raw_out_TREADY (dut_tready)
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
        .out_tdata  (raw_out_TDATA),
        .out_tkeep  (raw_out_TKEEP),
        .out_tlast  (raw_out_TLAST),
        .out_tvalid (raw_out_TVALID),
        .out_tready (raw_out_TREADY)
    );

    // error tests send partial TKEEP on purpose
    axis_checker #(.FULL_KEEP(1'b0)) u_check_in (
        .clk        (ap_clk),
        .rst_n      (ap_rst_n),
        .tdata      (frame_in_TDATA),
        .tkeep      (frame_in_TKEEP),
        .tlast      (frame_in_TLAST),
        .tvalid     (frame_in_TVALID),
        .tready     (frame_in_TREADY),
        .clear      (clear_violations),
        .violations (frame_in_violations)
    );

    axis_checker u_check_out (
        .clk        (ap_clk),
        .rst_n      (ap_rst_n),
        .tdata      (raw_out_TDATA),
        .tkeep      (raw_out_TKEEP),
        .tlast      (raw_out_TLAST),
        .tvalid     (raw_out_TVALID),
        .tready     (raw_out_TREADY),
        .clear      (clear_violations),
        .violations (raw_out_violations)
    );

endmodule

`default_nettype wire
