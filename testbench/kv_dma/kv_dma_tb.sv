// `kv_dma` with three memories behind links and stalls, rules on every port, and a fault injector (off unless a test
// asks) on far memory. The codec's streams end in Python, which answers them with the golden model.
// The kernel's ports are those that Vitis HLS gives it, so an exported module takes this place unchanged.
`default_nettype none

`define STREAM_OUT(s) \
    output wire [511:0] s``_TDATA, \
    output wire [63:0]  s``_TKEEP, \
    output wire [0:0]   s``_TLAST, \
    output wire         s``_TVALID, \
    input  wire         s``_TREADY, \
    output wire [4:0]   s``_violations

`define STREAM_IN(s) \
    input  wire [511:0] s``_TDATA, \
    input  wire [63:0]  s``_TKEEP, \
    input  wire [0:0]   s``_TLAST, \
    input  wire         s``_TVALID, \
    output wire         s``_TREADY, \
    output wire [4:0]   s``_violations

`define STREAM(s) \
    .s``_TDATA, .s``_TKEEP, .s``_TLAST, .s``_TVALID, .s``_TREADY

`define STREAM_CHECK(s) \
    axis_checker u_check_``s ( \
        .clk(ap_clk), .rst_n(ap_rst_n), .tdata(s``_TDATA), .tkeep(s``_TKEEP), .tlast(s``_TLAST), .tvalid(s``_TVALID), \
        .tready(s``_TREADY), .clear(clear_violations), .violations(s``_violations));

module kv_dma_tb #(
    parameter int ADDRESS_BITS = 8  // of the registers
) (
    input  wire                    ap_clk,
    input  wire                    ap_rst_n,
    input  wire                    clear_violations,
    input  wire [3:0]              fault,
    input  wire [15:0]             fault_burst,

    `MEMORY_PORTS(control),
    `MEMORY_PORTS(near),
    `MEMORY_PORTS(far),
    `STREAM_OUT(request_out),
    `STREAM_IN(frame_in),
    `STREAM_OUT(frame_out),
    `STREAM_IN(page_in),

    input  wire                    awvalid,
    output wire                    awready,
    input  wire [ADDRESS_BITS-1:0] awaddr,
    input  wire                    wvalid,
    output wire                    wready,
    input  wire [31:0]             wdata,
    output wire                    bvalid,
    input  wire                    bready,
    input  wire                    arvalid,
    output wire                    arready,
    input  wire [ADDRESS_BITS-1:0] araddr,
    output wire                    rvalid,
    input  wire                    rready,
    output wire [31:0]             rdata,
    output wire [6:0]              registers_violations,
    output wire                    irq,

    // a completion is taken by control memory; one ever was while data was under way
    output wire                    completion,
    output logic                   completed_early
);

    `MEMORY_WIRES(control)
    `MEMORY_WIRES(near)
    `MEMORY_WIRES(far)
    wire [1:0] bresp, rresp;

    kv_dma dut (
        .ap_clk,
        .ap_rst_n,
        `STREAM(request_out),
        `STREAM(frame_in),
        `STREAM(frame_out),
        `STREAM(page_in),
        `KERNEL_PORT(m_axi_control_memory, control),
        `KERNEL_PORT(m_axi_near, near),
        `KERNEL_PORT(m_axi_far, far),
        .s_axi_control_AWVALID (awvalid),
        .s_axi_control_AWREADY (awready),
        .s_axi_control_AWADDR  (awaddr),
        .s_axi_control_WVALID  (wvalid),
        .s_axi_control_WREADY  (wready),
        .s_axi_control_WDATA   (wdata),
        .s_axi_control_WSTRB   (4'hF),
        .s_axi_control_BVALID  (bvalid),
        .s_axi_control_BREADY  (bready),
        .s_axi_control_BRESP   (bresp),
        .s_axi_control_ARVALID (arvalid),
        .s_axi_control_ARREADY (arready),
        .s_axi_control_ARADDR  (araddr),
        .s_axi_control_RVALID  (rvalid),
        .s_axi_control_RREADY  (rready),
        .s_axi_control_RDATA   (rdata),
        .s_axi_control_RRESP   (rresp),
        .interrupt             (irq)
    );

    checked_memory #(.SEED(1)) u_control (`MEMORY(control));
    // kv_dma asks for bursts of at most 64 beats of these
    checked_memory #(.MAX_BURST(64), .SEED(2)) u_near (`MEMORY(near));

    wire faulty_arvalid, faulty_awvalid, faulty_wlast, faulty_bvalid;
    wire [63:0] faulty_araddr, faulty_awaddr, faulty_wstrb;
    wire [511:0] faulty_wdata;
    wire [1:0] faulty_bresp;
    axi_fault u_fault (
        .clk         (ap_clk),
        .rst_n       (ap_rst_n),
        .fault,
        .fault_burst,
        .in_arvalid  (far_arvalid),
        .in_araddr   (far_araddr),
        .in_awvalid  (far_awvalid),
        .in_awaddr   (far_awaddr),
        .in_wdata    (far_wdata),
        .in_wstrb    (far_wstrb),
        .in_wlast    (far_wlast),
        .in_wvalid   (far_wvalid),
        .in_bvalid   (far_bvalid),
        .in_bresp    (far_bresp),
        .in_bready   (far_bready),
        .out_arvalid (faulty_arvalid),
        .out_araddr  (faulty_araddr),
        .out_arready (far_arready),
        .out_awvalid (faulty_awvalid),
        .out_awaddr  (faulty_awaddr),
        .out_awready (far_awready),
        .out_wdata   (faulty_wdata),
        .out_wstrb   (faulty_wstrb),
        .out_wlast   (faulty_wlast),
        .out_wready  (far_wready),
        .out_bvalid  (faulty_bvalid),
        .out_bresp   (faulty_bresp)
    );
    checked_memory #(.MAX_BURST(64), .SEED(3)) u_far (
        .arvalid(faulty_arvalid), .araddr(faulty_araddr), .awvalid(faulty_awvalid), .awaddr(faulty_awaddr),
        .wdata(faulty_wdata), .wstrb(faulty_wstrb), .wlast(faulty_wlast), .bvalid(faulty_bvalid), .bresp(faulty_bresp),
        `MEMORY_SETTINGS(far)
    );

    `STREAM_CHECK(request_out)
    `STREAM_CHECK(frame_in)
    `STREAM_CHECK(frame_out)
    `STREAM_CHECK(page_in)

    axil_checker #(.ADDRESS_BITS(ADDRESS_BITS)) u_check_registers (
        .clk        (ap_clk),
        .rst_n      (ap_rst_n),
        .awvalid, .awready, .awaddr,
        .wvalid, .wready, .wdata, .wstrb(4'hF),
        .bvalid, .bready, .bresp,
        .arvalid, .arready, .araddr,
        .rvalid, .rready, .rdata, .rresp,
        .clear      (clear_violations),
        .violations (registers_violations)
    );

    // For batches of one descriptor: its completion is offered while a write of it still waits for its answer.
    assign completion = control_wvalid && control_wready;
    always_ff @(posedge ap_clk) begin
        if (!ap_rst_n || clear_violations) completed_early <= 1'b0;
        else if (control_wvalid && (near_writes_open != 0 || far_writes_open != 0)) completed_early <= 1'b1;
    end

endmodule

`default_nettype wire
