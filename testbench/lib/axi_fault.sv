// Breaks a manager's channels on purpose, so that a test can show that the bench notices. Wires only while `fault` is
// 0. It sits between the kernel and everything that watches it; `testbench/lib/faults.py` has the names.
`default_nettype none

module axi_fault #(
    parameter int DATA_BITS = 512
) (
    input  wire                   clk,
    input  wire                   rst_n,
    input  wire [3:0]             fault,
    // of the channel, since reset; a VALID falls from then on, each time that READY lets it wait
    input  wire [15:0]            fault_burst,

    // the kernel's side
    input  wire                   in_arvalid,
    input  wire [63:0]            in_araddr,
    input  wire                   in_awvalid,
    input  wire [63:0]            in_awaddr,
    input  wire [DATA_BITS-1:0]   in_wdata,
    input  wire [DATA_BITS/8-1:0] in_wstrb,
    input  wire                   in_wlast,
    input  wire                   in_wvalid,
    output wire                   in_bvalid,
    output wire [1:0]             in_bresp,
    // the memory's side
    output wire                   out_arvalid,
    output wire [63:0]            out_araddr,
    input  wire                   out_arready,
    output wire                   out_awvalid,
    output wire [63:0]            out_awaddr,
    input  wire                   out_awready,
    output wire [DATA_BITS-1:0]   out_wdata,
    output wire [DATA_BITS/8-1:0] out_wstrb,
    output wire                   out_wlast,
    input  wire                   out_wready,
    input  wire                   out_bvalid,
    input  wire [1:0]             out_bresp,
    input  wire                   in_bready
);

    localparam logic [3:0] DropArvalid = 1, WrongRead = 2, DropAwvalid = 3, WrongWrite = 4, CorruptData = 5,
                           LoseStrobe = 6, EarlyLast = 7, LateLast = 8, HideError = 9, CrossPage = 10, EarlyB = 11;

    logic [15:0] reads, writes, bursts, answers;
    logic        ar_waited, aw_waited;
    logic        early;  // the kernel has been given an answer that nobody gave
    wire         now_read = reads == fault_burst, now_write = writes == fault_burst, now_burst = bursts == fault_burst;

    assign out_arvalid = in_arvalid && !(fault == DropArvalid && reads >= fault_burst && ar_waited);
    assign out_awvalid = in_awvalid && !(fault == DropAwvalid && writes >= fault_burst && aw_waited);
    assign out_araddr = fault == WrongRead && now_read ? in_araddr ^ 64'h1000 : in_araddr;
    assign out_awaddr = fault == WrongWrite && now_write ? in_awaddr ^ 64'h1000 :
                        fault == CrossPage && now_write ? {in_awaddr[63:12], 12'hFC0} : in_awaddr;
    assign out_wdata = fault == CorruptData && now_burst ? in_wdata ^ (DATA_BITS'(1) << 77) : in_wdata;
    assign out_wstrb = fault == LoseStrobe && now_burst ? in_wstrb & ~(DATA_BITS / 8)'(4) : in_wstrb;
    assign out_wlast = fault == EarlyLast && now_burst ? 1'b1 : fault == LateLast && now_burst ? 1'b0 : in_wlast;
    assign in_bresp = fault == HideError ? 2'b00 : out_bresp;
    assign in_bvalid = out_bvalid || (fault == EarlyB && !early && bursts > fault_burst);

    always_ff @(posedge clk) begin
        if (!rst_n) begin
            reads     <= '0;
            writes    <= '0;
            bursts    <= '0;
            ar_waited <= 1'b0;
            aw_waited <= 1'b0;
            early     <= 1'b0;
        end else begin
            reads     <= reads + 16'(out_arvalid && out_arready);
            writes    <= writes + 16'(out_awvalid && out_awready);
            bursts    <= bursts + 16'(in_wvalid && out_wready && in_wlast);
            ar_waited <= out_arvalid && !out_arready;
            aw_waited <= out_awvalid && !out_awready;
            if (in_bvalid && in_bready) early <= 1'b1;
        end
    end

endmodule

`default_nettype wire
