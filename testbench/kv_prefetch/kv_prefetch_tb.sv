// `kv_prefetch` with control memory behind a link and stalls, and rules on both of its ports.
// The kernel's ports are those that Vitis HLS gives it, so an exported module takes this place unchanged.
`default_nettype none

module kv_prefetch_tb #(
    parameter int ADDRESS_BITS = 8  // of the registers
) (
    input  wire                    ap_clk,
    input  wire                    ap_rst_n,
    input  wire                    clear_violations,

    input  wire [31:0]             control_handle,
    input  wire [15:0]             control_latency,
    input  wire [10:0]             control_rate,
    input  wire [59:0]             control_stalls,
    output wire [10:0]             control_violations,
    output wire [15:0]             control_reads_open,
    output wire [15:0]             control_writes_open,

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
    output wire                    irq
);

    wire m_arvalid, m_arready, m_rvalid, m_rready, m_rlast, m_awvalid, m_awready, m_wvalid, m_wready, m_wlast;
    wire m_bvalid, m_bready, m_arid, m_awid;
    wire [63:0] m_araddr, m_awaddr, m_wstrb;
    wire [7:0] m_arlen, m_awlen;
    wire [2:0] m_arsize, m_awsize;
    wire [1:0] m_arlock, m_awlock, m_arburst, m_awburst, m_rresp, m_bresp;
    wire [511:0] m_rdata, m_wdata;
    wire [1:0] bresp, rresp;

    kv_prefetch dut (
        .ap_clk,
        .ap_rst_n,
        .m_axi_control_memory_ARVALID (m_arvalid),
        .m_axi_control_memory_ARREADY (m_arready),
        .m_axi_control_memory_ARADDR  (m_araddr),
        .m_axi_control_memory_ARLEN   (m_arlen),
        .m_axi_control_memory_ARSIZE  (m_arsize),
        .m_axi_control_memory_ARBURST (m_arburst),
        .m_axi_control_memory_ARLOCK  (m_arlock),
        .m_axi_control_memory_ARID    (m_arid),
        .m_axi_control_memory_RVALID  (m_rvalid),
        .m_axi_control_memory_RREADY  (m_rready),
        .m_axi_control_memory_RDATA   (m_rdata),
        .m_axi_control_memory_RRESP   (m_rresp),
        .m_axi_control_memory_RLAST   (m_rlast),
        .m_axi_control_memory_RID     ('0),
        .m_axi_control_memory_RUSER   ('0),
        .m_axi_control_memory_AWVALID (m_awvalid),
        .m_axi_control_memory_AWREADY (m_awready),
        .m_axi_control_memory_AWADDR  (m_awaddr),
        .m_axi_control_memory_AWLEN   (m_awlen),
        .m_axi_control_memory_AWSIZE  (m_awsize),
        .m_axi_control_memory_AWBURST (m_awburst),
        .m_axi_control_memory_AWLOCK  (m_awlock),
        .m_axi_control_memory_AWID    (m_awid),
        .m_axi_control_memory_WVALID  (m_wvalid),
        .m_axi_control_memory_WREADY  (m_wready),
        .m_axi_control_memory_WDATA   (m_wdata),
        .m_axi_control_memory_WSTRB   (m_wstrb),
        .m_axi_control_memory_WLAST   (m_wlast),
        .m_axi_control_memory_BVALID  (m_bvalid),
        .m_axi_control_memory_BREADY  (m_bready),
        .m_axi_control_memory_BRESP   (m_bresp),
        .m_axi_control_memory_BID     ('0),
        .m_axi_control_memory_BUSER   ('0),
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

    // the template asks for bursts of at most 64 beats of reads, 16 of writes
    checked_memory #(.MAX_BURST(64), .SEED(1)) u_control (
        .clk             (ap_clk),
        .rst_n           (ap_rst_n),
        .handle          (control_handle),
        .latency         (control_latency),
        .rate            (control_rate),
        .stalls          (control_stalls),
        .arvalid         (m_arvalid),
        .arready         (m_arready),
        .araddr          (m_araddr),
        .arlen           (m_arlen),
        .arsize          (m_arsize),
        .arburst         (m_arburst),
        .arlock          (|m_arlock),
        .arid            (m_arid),
        .rvalid          (m_rvalid),
        .rready          (m_rready),
        .rdata           (m_rdata),
        .rresp           (m_rresp),
        .rlast           (m_rlast),
        .awvalid         (m_awvalid),
        .awready         (m_awready),
        .awaddr          (m_awaddr),
        .awlen           (m_awlen),
        .awsize          (m_awsize),
        .awburst         (m_awburst),
        .awlock          (|m_awlock),
        .awid            (m_awid),
        .wvalid          (m_wvalid),
        .wready          (m_wready),
        .wdata           (m_wdata),
        .wstrb           (m_wstrb),
        .wlast           (m_wlast),
        .bvalid          (m_bvalid),
        .bready          (m_bready),
        .bresp           (m_bresp),
        .clear           (clear_violations),
        .violations      (control_violations),
        .reads_open      (control_reads_open),
        .writes_open     (control_writes_open),
        .most_reads_open (),
        .beats_read      (),
        .beats_written   ()
    );

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

endmodule

`default_nettype wire
