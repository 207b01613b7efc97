// Raw page in, raw page out: kv_compress feeding kv_decompress. `link_open` stalls the stream between them.
`default_nettype none

module codec_loopback (
    input  wire         ap_clk,
    input  wire         ap_rst_n,
    input  wire [511:0] raw_in_TDATA,
    input  wire [63:0]  raw_in_TKEEP,
    input  wire [0:0]   raw_in_TLAST,
    input  wire         raw_in_TVALID,
    output wire         raw_in_TREADY,
    output wire [511:0] raw_out_TDATA,
    output wire [63:0]  raw_out_TKEEP,
    output wire [0:0]   raw_out_TLAST,
    output wire         raw_out_TVALID,
    input  wire         raw_out_TREADY,
    input  wire         link_open,
    input  wire         clear_violations,
    // axis_checker's bits of the three streams
    output wire [4:0]   raw_in_violations,
    output wire [4:0]   frame_violations,
    output wire [4:0]   raw_out_violations
);

    wire [511:0] frame_tdata;
    wire [63:0]  frame_tkeep;
    wire [0:0]   frame_tlast;
    wire         sent_tvalid, sent_tready;  // kv_compress's side of the gate
    wire         took_tvalid, took_tready;  // kv_decompress's side

    kv_compress u_compress (
        .ap_clk,
        .ap_rst_n,
        .raw_in_TDATA,
        .raw_in_TKEEP,
        .raw_in_TLAST,
        .raw_in_TVALID,
        .raw_in_TREADY,
        .frame_out_TDATA  (frame_tdata),
        .frame_out_TKEEP  (frame_tkeep),
        .frame_out_TLAST  (frame_tlast),
        .frame_out_TVALID (sent_tvalid),
        .frame_out_TREADY (sent_tready)
    );

    axis_gate u_gate (
        .clk        (ap_clk),
        .rst_n      (ap_rst_n),
        .open       (link_open),
        .in_tvalid  (sent_tvalid),
        .in_tready  (sent_tready),
        .out_tvalid (took_tvalid),
        .out_tready (took_tready)
    );

    kv_decompress u_decompress (
        .ap_clk,
        .ap_rst_n,
        .frame_in_TDATA  (frame_tdata),
        .frame_in_TKEEP  (frame_tkeep),
        .frame_in_TLAST  (frame_tlast),
        .frame_in_TVALID (took_tvalid),
        .frame_in_TREADY (took_tready),
        .raw_out_TDATA,
        .raw_out_TKEEP,
        .raw_out_TLAST,
        .raw_out_TVALID,
        .raw_out_TREADY
    );

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

    axis_checker u_check_frame (
        .clk        (ap_clk),
        .rst_n      (ap_rst_n),
        .tdata      (frame_tdata),
        .tkeep      (frame_tkeep),
        .tlast      (frame_tlast),
        .tvalid     (sent_tvalid),
        .tready     (sent_tready),
        .clear      (clear_violations),
        .violations (frame_violations)
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
