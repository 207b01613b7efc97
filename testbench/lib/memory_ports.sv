// Macros for benches of kernels with AXI4 ports: each memory `m` is a `checked_memory` with what a test may set and see of it.
// A source file of its own, before those that use it.

// A memory's settings and what is seen at its port.
`define MEMORY_PORTS(m) \
    input  wire [31:0] m``_handle, \
    input  wire [15:0] m``_latency, \
    input  wire [10:0] m``_rate, \
    input  wire [59:0] m``_stalls, \
    output wire [10:0] m``_violations, \
    output wire [15:0] m``_reads_open, \
    output wire [15:0] m``_writes_open, \
    output wire [15:0] m``_most_reads_open, \
    output wire [63:0] m``_beats_read, \
    output wire [63:0] m``_beats_written

// Wires of an AXI4 port, the kernel's end of them, and the memory behind.
`define MEMORY_WIRES(m) \
    wire m``_arvalid, m``_arready, m``_rvalid, m``_rready, m``_rlast, m``_awvalid, m``_awready, m``_wvalid; \
    wire m``_wready, m``_wlast, m``_bvalid, m``_bready, m``_arid, m``_awid; \
    wire [63:0] m``_araddr, m``_awaddr, m``_wstrb; \
    wire [7:0] m``_arlen, m``_awlen; \
    wire [2:0] m``_arsize, m``_awsize; \
    wire [1:0] m``_arlock, m``_awlock, m``_arburst, m``_awburst, m``_rresp, m``_bresp; \
    wire [511:0] m``_rdata, m``_wdata;

`define KERNEL_PORT(p, m) \
    .p``_ARVALID(m``_arvalid), .p``_ARREADY(m``_arready), .p``_ARADDR(m``_araddr), .p``_ARLEN(m``_arlen), \
    .p``_ARSIZE(m``_arsize), .p``_ARBURST(m``_arburst), .p``_ARLOCK(m``_arlock), .p``_ARID(m``_arid), \
    .p``_RVALID(m``_rvalid), .p``_RREADY(m``_rready), .p``_RDATA(m``_rdata), .p``_RRESP(m``_rresp), \
    .p``_RLAST(m``_rlast), .p``_RID('0), .p``_RUSER('0), \
    .p``_AWVALID(m``_awvalid), .p``_AWREADY(m``_awready), .p``_AWADDR(m``_awaddr), .p``_AWLEN(m``_awlen), \
    .p``_AWSIZE(m``_awsize), .p``_AWBURST(m``_awburst), .p``_AWLOCK(m``_awlock), .p``_AWID(m``_awid), \
    .p``_WVALID(m``_wvalid), .p``_WREADY(m``_wready), .p``_WDATA(m``_wdata), .p``_WSTRB(m``_wstrb), \
    .p``_WLAST(m``_wlast), .p``_BVALID(m``_bvalid), .p``_BREADY(m``_bready), .p``_BRESP(m``_bresp), \
    .p``_BID('0), .p``_BUSER('0)

// what the fault injector leaves alone
`define MEMORY_SETTINGS(m) \
    .clk(ap_clk), .rst_n(ap_rst_n), .handle(m``_handle), .latency(m``_latency), .rate(m``_rate), .stalls(m``_stalls), \
    .arready(m``_arready), .arlen(m``_arlen), .arsize(m``_arsize), .arburst(m``_arburst), \
    .arlock(|m``_arlock), .arid(m``_arid), .rvalid(m``_rvalid), .rready(m``_rready), \
    .rdata(m``_rdata), .rresp(m``_rresp), .rlast(m``_rlast), .awready(m``_awready), .awlen(m``_awlen), \
    .awsize(m``_awsize), .awburst(m``_awburst), .awlock(|m``_awlock), .awid(m``_awid), .wvalid(m``_wvalid), \
    .wready(m``_wready), .bready(m``_bready), .clear(clear_violations), .violations(m``_violations), \
    .reads_open(m``_reads_open), .writes_open(m``_writes_open), .most_reads_open(m``_most_reads_open), \
    .beats_read(m``_beats_read), .beats_written(m``_beats_written)

`define MEMORY(m) \
    .arvalid(m``_arvalid), .araddr(m``_araddr), .awvalid(m``_awvalid), .awaddr(m``_awaddr), .wdata(m``_wdata), \
    .wstrb(m``_wstrb), .wlast(m``_wlast), .bvalid(m``_bvalid), .bresp(m``_bresp), `MEMORY_SETTINGS(m)
