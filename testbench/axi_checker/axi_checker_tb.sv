// The AXI4 and AXI4-Lite checkers alone, on wires that a test drives as it likes; beats are narrow, 4 KB is 4 KB.
`default_nettype none

module axi_checker_tb (
    input  wire        clk,
    input  wire        rst_n,
    input  wire        clear,

    input  wire        arvalid,
    input  wire        arready,
    input  wire [63:0] araddr,
    input  wire [7:0]  arlen,
    input  wire [2:0]  arsize,
    input  wire [1:0]  arburst,
    input  wire        arlock,
    input  wire        arid,
    input  wire        rvalid,
    input  wire        rready,
    input  wire [31:0] rdata,
    input  wire [1:0]  rresp,
    input  wire        rlast,
    input  wire        rid,
    input  wire        awvalid,
    input  wire        awready,
    input  wire [63:0] awaddr,
    input  wire [7:0]  awlen,
    input  wire [2:0]  awsize,
    input  wire [1:0]  awburst,
    input  wire        awlock,
    input  wire        awid,
    input  wire        wvalid,
    input  wire        wready,
    input  wire [31:0] wdata,
    input  wire [3:0]  wstrb,
    input  wire        wlast,
    input  wire        bvalid,
    input  wire        bready,
    input  wire [1:0]  bresp,
    input  wire        bid,

    output wire [10:0] violations,
    output wire [6:0]  lite_violations,
    output wire [15:0] reads_open,
    output wire [15:0] writes_open,
    output wire [15:0] most_reads_open
);

    axi_checker #(.DATA_BITS(32), .MAX_BURST(16), .QUEUE(8)) u_axi (.*);

    axil_checker #(.ADDRESS_BITS(8)) u_lite (
        .awaddr     (awaddr[7:0]),
        .araddr     (araddr[7:0]),
        .violations (lite_violations),
        .*
    );

endmodule

`default_nettype wire
