// What is behind one AXI4 port of a kernel in a bench: rules, stalls of each channel, and a memory behind a link.
//
//   kernel ── axi_checker ── axis_gate on each channel ── axi_memory: latency, bandwidth, errors; data in the host
`default_nettype none

module checked_memory #(
    parameter int DATA_BITS = 512,
    parameter int MAX_BURST = 256,  // beats
    parameter int SEED      = 1     // of the stalls: each memory its own
) (
    input  wire                   clk,
    input  wire                   rst_n,

    // of axi_memory
    input  wire [31:0]            handle,
    input  wire [15:0]            latency,
    input  wire [10:0]            rate,
    // of axi_stall, 12 bits each: AR, R, AW, W, B from the lowest
    input  wire [59:0]            stalls,

    input  wire                   arvalid,
    output wire                   arready,
    input  wire [63:0]            araddr,
    input  wire [7:0]             arlen,
    input  wire [2:0]             arsize,
    input  wire [1:0]             arburst,
    input  wire                   arlock,
    input  wire                   arid,
    output wire                   rvalid,
    input  wire                   rready,
    output wire [DATA_BITS-1:0]   rdata,
    output wire [1:0]             rresp,
    output wire                   rlast,
    input  wire                   awvalid,
    output wire                   awready,
    input  wire [63:0]            awaddr,
    input  wire [7:0]             awlen,
    input  wire [2:0]             awsize,
    input  wire [1:0]             awburst,
    input  wire                   awlock,
    input  wire                   awid,
    input  wire                   wvalid,
    output wire                   wready,
    input  wire [DATA_BITS-1:0]   wdata,
    input  wire [DATA_BITS/8-1:0] wstrb,
    input  wire                   wlast,
    output wire                   bvalid,
    input  wire                   bready,
    output wire [1:0]             bresp,

    // of axi_checker
    input  wire                   clear,
    output wire [10:0]            violations,
    output wire [15:0]            reads_open,
    output wire [15:0]            writes_open,
    output wire [15:0]            most_reads_open,
    // of axi_memory
    output wire [63:0]            beats_read,
    output wire [63:0]            beats_written
);

    axi_checker #(.DATA_BITS(DATA_BITS), .MAX_BURST(MAX_BURST)) u_check (
        .rid (1'b0),
        .bid (1'b0),
        .*
    );

    // ---------------------------------------------------------------------- stalls: AR, R, AW, W, B from the lowest
    wire [4:0] open;
    // a gate's input is whoever offers: the kernel on AR, AW and W, the memory on R and B
    wire memory_arvalid, memory_arready, memory_rvalid, memory_rready, memory_awvalid, memory_awready;
    wire memory_wvalid, memory_wready, memory_bvalid, memory_bready;
    wire [4:0] from_valid = {memory_bvalid, wvalid, awvalid, memory_rvalid, arvalid};
    wire [4:0] to_ready = {bready, memory_wready, memory_awready, rready, memory_arready};
    wire [4:0] from_ready, to_valid;
    assign {memory_bready, wready, awready, memory_rready, arready} = from_ready;
    assign {bvalid, memory_wvalid, memory_awvalid, rvalid, memory_arvalid} = to_valid;

    for (genvar c = 0; c < 5; c++) begin : g_channel
        axi_stall u_stall (
            .clk,
            .rst_n,
            .setting (stalls[12*c+:12]),
            .seed    (32'(SEED * 8 + c) * 32'h9E3779B9),
            .open    (open[c])
        );
        axis_gate u_gate (
            .clk,
            .rst_n,
            .open       (open[c]),
            .in_tvalid  (from_valid[c]),
            .in_tready  (from_ready[c]),
            .out_tvalid (to_valid[c]),
            .out_tready (to_ready[c])
        );
    end

    axi_memory #(.DATA_BITS(DATA_BITS)) u_memory (
        .clk,
        .rst_n,
        .handle,
        .latency,
        .rate,
        .shared  (1'b0),
        .ARVALID (memory_arvalid),
        .ARREADY (memory_arready),
        .ARADDR  (araddr),
        .ARLEN   (arlen),
        .RVALID  (memory_rvalid),
        .RREADY  (memory_rready),
        .RDATA   (rdata),
        .RRESP   (rresp),
        .RLAST   (rlast),
        .AWVALID (memory_awvalid),
        .AWREADY (memory_awready),
        .AWADDR  (awaddr),
        .AWLEN   (awlen),
        .WVALID  (memory_wvalid),
        .WREADY  (memory_wready),
        .WDATA   (wdata),
        .WSTRB   (wstrb),
        .WLAST   (wlast),
        .BVALID  (memory_bvalid),
        .BREADY  (memory_bready),
        .BRESP   (bresp),
        .beats_read,
        .beats_written
    );

endmodule

`default_nettype wire
