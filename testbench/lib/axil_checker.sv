// AXI4-Lite rules, watched on one port. A broken rule sets its bit in `violations`, where it stays until `clear`, and
// prints one line; it does not stop the simulation.
//
//   bit 0  HOLD      a channel's VALID fell before READY                              (IHI 0022E, A3.2.1)
//   bit 1  STABLE    a channel's payload changed while it waited                      (IHI 0022E, A3.2.1)
//   bit 2  RESET     a VALID high in reset, or in the first cycle after it            (IHI 0022E, A3.1.2)
//   bit 3  B         a write is answered before its address and its data were taken   (IHI 0022E, A3.3.1)
//   bit 4  R         a read is answered that was not asked for                        (IHI 0022E, A3.3.1)
//   bit 5  RESPONSE  a response is not OKAY: the registers know every address         (what kernels promise)
//   bit 6  UNKNOWN   VALID or READY is X after reset; four-state simulators only, see axis_checker.sv
`default_nettype none

module axil_checker #(
    parameter int ADDRESS_BITS = 8
) (
    input  wire                    clk,
    input  wire                    rst_n,
    input  wire                    awvalid,
    input  wire                    awready,
    input  wire [ADDRESS_BITS-1:0] awaddr,
    input  wire                    wvalid,
    input  wire                    wready,
    input  wire [31:0]             wdata,
    input  wire [3:0]              wstrb,
    input  wire                    bvalid,
    input  wire                    bready,
    input  wire [1:0]              bresp,
    input  wire                    arvalid,
    input  wire                    arready,
    input  wire [ADDRESS_BITS-1:0] araddr,
    input  wire                    rvalid,
    input  wire                    rready,
    input  wire [31:0]             rdata,
    input  wire [1:0]              rresp,
    input  wire                    clear,
    output logic [6:0]             violations
);

    initial violations = '0;
    // no register of a design: assertions write it at the moment they fail
    // verilator lint_off BLKSEQ
    always @(posedge clear) violations = '0;
    // verilator lint_on BLKSEQ

    function automatic void broken(logic [2:0] index, string what);
        if (!violations[index]) $display("%0t %m: AXI4-Lite rule broken: %s", $time, what);
        violations[index] = 1'b1;
    endfunction

    localparam int Wide = ADDRESS_BITS + 40;  // any channel's payload
    wire [4:0] valid = {bvalid, wvalid, awvalid, rvalid, arvalid};
    wire [4:0] ready = {bready, wready, awready, rready, arready};
    wire [Wide-1:0] payload[5];
    assign payload[0] = Wide'(araddr);
    assign payload[1] = Wide'({rdata, rresp});
    assign payload[2] = Wide'(awaddr);
    assign payload[3] = Wide'({wdata, wstrb});
    assign payload[4] = Wide'(bresp);

    // the first edge with reset low has no "before"; the count still says reset in the first cycle after it
    int unsigned reset_edges;
    initial reset_edges = 0;
    always_ff @(posedge clk) begin
        if (rst_n) reset_edges <= 0;
        else if (reset_edges < 1) reset_edges <= reset_edges + 1;
    end

    for (genvar c = 0; c < 5; c++) begin : g_channel
        a_hold: assert property (@(posedge clk) disable iff (!rst_n)
            valid[c] && !ready[c] |=> valid[c])
            else broken(0, $sformatf("VALID of channel %0d fell before READY", c));

        a_stable: assert property (@(posedge clk) disable iff (!rst_n)
            valid[c] && !ready[c] |=> $stable(payload[c]))
            else broken(1, $sformatf("payload of channel %0d changed while READY was low", c));

        a_reset: assert property (@(posedge clk)
            reset_edges >= 1 |-> !valid[c])
            else broken(2, $sformatf("VALID of channel %0d high in reset or directly after it", c));

        a_known: assert property (@(posedge clk) disable iff (!rst_n)
            !$isunknown(valid[c]) && !$isunknown(ready[c]))
            else broken(6, $sformatf("VALID or READY of channel %0d is unknown", c));
    end

    logic [7:0] addresses, datas, reads;  // taken, and not yet answered
    always_ff @(posedge clk) begin
        if (!rst_n) begin
            addresses <= '0;
            datas     <= '0;
            reads     <= '0;
        end else begin
            addresses <= addresses + 8'(awvalid && awready) - 8'(bvalid && bready);
            datas     <= datas + 8'(wvalid && wready) - 8'(bvalid && bready);
            reads     <= reads + 8'(arvalid && arready) - 8'(rvalid && rready);
        end
    end

    a_b: assert property (@(posedge clk) disable iff (!rst_n)
        bvalid |-> addresses != 0 && datas != 0)
        else broken(3, "a write is answered before its address and its data were taken");
    a_r: assert property (@(posedge clk) disable iff (!rst_n)
        rvalid |-> reads != 0)
        else broken(4, "a read is answered that was not asked for");
    a_response: assert property (@(posedge clk) disable iff (!rst_n)
        !(bvalid && bresp != 0) && !(rvalid && rresp != 0))
        else broken(5, "a response is not OKAY");

endmodule

`default_nettype wire
