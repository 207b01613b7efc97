// `kv_prefetch` with control memory behind a link and stalls on both of its ports to it, and rules on all ports.
// The kernel's ports are those that Vitis HLS gives it, so an exported module takes this place unchanged.
`default_nettype none

module kv_prefetch_tb #(
    parameter int ADDRESS_BITS = 9  // of the registers
) (
    input  wire                    ap_clk,
    input  wire                    ap_rst_n,
    input  wire                    clear_violations,

    `MEMORY_PORTS(control),
    `MEMORY_PORTS(descriptors),

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

    `MEMORY_WIRES(control)
    `MEMORY_WIRES(descriptors)
    wire [1:0] bresp, rresp;

    kv_prefetch dut (
        .ap_clk,
        .ap_rst_n,
        `KERNEL_PORT(m_axi_control_memory, control),
        `KERNEL_PORT(m_axi_descriptor_memory, descriptors),
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

    // the template asks for bursts of at most 64 beats of reads, 16 of writes, and for descriptors one by one
    checked_memory #(.MAX_BURST(64), .SEED(1)) u_control (`MEMORY(control));
    checked_memory #(.MAX_BURST(16), .SEED(2)) u_descriptors (`MEMORY(descriptors));

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
