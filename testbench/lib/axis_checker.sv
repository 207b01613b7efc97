// AXI4-Stream rules, watched on one stream. A broken rule sets its bit in `violations`, where it stays until
// `clear`, and prints one line; it does not stop the simulation, so that the bench can say what it was doing.
//
//   bit 0  HOLD     TVALID fell before TREADY took the beat                     (IHI 0051B, 2.2.1)
//   bit 1  STABLE   TDATA, TKEEP or TLAST changed while the beat waited         (IHI 0051B, 2.2.1)
//   bit 2  RESET    TVALID high in reset, or in the first cycle after it        (IHI 0051B, 2.8.2)
//   bit 3  UNKNOWN  TVALID or TREADY is X after reset, or a valid beat's TKEEP or TLAST is
//   bit 4  KEEP     a valid beat's TKEEP is not all ones                        (hls/format.md, Streams)
//
// Bit 3 speaks only on four-state simulators. Verilator has two states; there the benches start every register at a
// random value instead, and the golden model catches what depends on one.
`default_nettype none

module axis_checker #(
    parameter int DATA_BITS    = 512,
    // cycles that a synchronous reset may take before TVALID has to be low
    parameter int RESET_CYCLES = 1,
    // 1: TKEEP must be all ones
    parameter bit FULL_KEEP    = 1'b1
) (
    input  wire                     clk,
    input  wire                     rst_n,
    input  wire [DATA_BITS-1:0]     tdata,
    input  wire [(DATA_BITS/8)-1:0] tkeep,
    input  wire                     tlast,
    input  wire                     tvalid,
    input  wire                     tready,
    input  wire                     clear,
    output logic [4:0]              violations
);

    if (DATA_BITS % 8 != 0) begin : g_bad_data_bits
        $error("%m: DATA_BITS = %0d is not a multiple of 8", DATA_BITS);
    end
    if (RESET_CYCLES < 1) begin : g_bad_reset_cycles
        $error("%m: RESET_CYCLES = %0d, a synchronous reset needs at least 1", RESET_CYCLES);
    end

    initial violations = '0;
    // no register of a design: assertions write it at the moment they fail
    // verilator lint_off BLKSEQ
    always @(posedge clear) violations = '0;
    // verilator lint_on BLKSEQ

    function automatic void broken(logic [2:0] index, string what);
        if (!violations[index]) $display("%0t %m: AXI-Stream rule broken: %s", $time, what);
        violations[index] = 1'b1;
    endfunction

    // clock edges seen with reset low in a row, saturating
    int unsigned reset_edges;
    // the first edge after power-up has no "before"
    initial reset_edges = 0;
    always_ff @(posedge clk) begin
        if (rst_n) reset_edges <= 0;
        else if (reset_edges < RESET_CYCLES) reset_edges <= reset_edges + 1;
    end

    a_hold: assert property (@(posedge clk) disable iff (!rst_n)
        tvalid && !tready |=> tvalid)
        else broken(0, "TVALID fell before TREADY");

    a_stable: assert property (@(posedge clk) disable iff (!rst_n)
        tvalid && !tready |=> $stable(tdata) && $stable(tkeep) && $stable(tlast))
        else broken(1, "payload changed while TREADY was low");

    // reset_edges still counts the reset in the first cycle after it
    a_reset: assert property (@(posedge clk)
        reset_edges >= RESET_CYCLES |-> !tvalid)
        else broken(2, "TVALID high in reset or directly after it");

    a_known: assert property (@(posedge clk) disable iff (!rst_n)
        !$isunknown(tvalid) && !$isunknown(tready) && !(tvalid === 1'b1 && $isunknown({tkeep, tlast})))
        else broken(3, "unknown control signal");

    if (FULL_KEEP) begin : g_full_keep
        a_keep: assert property (@(posedge clk) disable iff (!rst_n)
            tvalid |-> &tkeep)
            else broken(4, "TKEEP is not all ones");
    end

endmodule

`default_nettype wire
