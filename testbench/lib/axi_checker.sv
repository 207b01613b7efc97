// AXI4 rules, watched on one port of a manager that uses one ID, whole beats and incrementing bursts. A broken rule
// sets its bit in `violations`, where it stays until `clear`, and prints one line; it does not stop the simulation.
//
//   bit 0  HOLD      a channel's VALID fell before READY                                        (IHI 0022E, A3.2.1)
//   bit 1  STABLE    a channel's payload changed while it waited                                (IHI 0022E, A3.2.1)
//   bit 2  RESET     a VALID high in reset, or in the first cycle after it                      (IHI 0022E, A3.1.2)
//   bit 3  BOUNDARY  a burst crosses 4 KB                                                       (IHI 0022E, A3.4.1)
//   bit 4  SHAPE     a burst is not INCR, not of whole aligned beats, exclusive, or above MAX_BURST (hlsc's promise)
//   bit 5  WLAST     WLAST is not at the end of its burst                                       (IHI 0022E, A3.4.1)
//   bit 6  B         a write is answered that was not asked for, or not yet sent to its end     (IHI 0022E, A3.3.1)
//   bit 7  R         a read is answered that was not asked for, or RLAST is not at its end      (IHI 0022E, A3.3.1)
//   bit 8  ID        an ID is not 0, which is the only one                                      (IHI 0022E, A5)
//   bit 9  STROBES   a beat whose WSTRB is not all ones, with FULL_STROBES
//   bit 10 UNKNOWN   VALID or READY is X after reset; four-state simulators only, see axis_checker.sv
//
// Bits 6 and 7 speak of the memory, HOLD, STABLE and RESET of both sides, all else of the manager.
// `reads_open` and `writes_open` count bursts that wait for their answer, so that a bench can ask for none at the end.
`default_nettype none

module axi_checker #(
    parameter int DATA_BITS    = 512,
    parameter int MAX_BURST    = 256,   // beats
    parameter bit FULL_STROBES = 1'b1,
    parameter int QUEUE        = 256    // bursts of a direction that may be open: more than any memory of a bench takes
) (
    input  wire                   clk,
    input  wire                   rst_n,

    input  wire                   arvalid,
    input  wire                   arready,
    input  wire [63:0]            araddr,
    input  wire [7:0]             arlen,
    input  wire [2:0]             arsize,
    input  wire [1:0]             arburst,
    input  wire                   arlock,
    input  wire                   arid,
    input  wire                   rvalid,
    input  wire                   rready,
    input  wire [DATA_BITS-1:0]   rdata,
    input  wire [1:0]             rresp,
    input  wire                   rlast,
    input  wire                   rid,

    input  wire                   awvalid,
    input  wire                   awready,
    input  wire [63:0]            awaddr,
    input  wire [7:0]             awlen,
    input  wire [2:0]             awsize,
    input  wire [1:0]             awburst,
    input  wire                   awlock,
    input  wire                   awid,
    input  wire                   wvalid,
    input  wire                   wready,
    input  wire [DATA_BITS-1:0]   wdata,
    input  wire [DATA_BITS/8-1:0] wstrb,
    input  wire                   wlast,
    input  wire                   bvalid,
    input  wire                   bready,
    input  wire [1:0]             bresp,
    input  wire                   bid,

    input  wire                   clear,
    output logic [10:0]           violations,
    output logic [15:0]           reads_open,
    output logic [15:0]           writes_open,
    output logic [15:0]           most_reads_open  // since reset
);

    localparam int Bytes = DATA_BITS / 8;
    localparam int Index = $clog2(QUEUE);

    if (1 << Index != QUEUE) begin : g_bad_queue
        $error("%m: QUEUE = %0d is not a power of two", QUEUE);
    end

    initial violations = '0;
    // no register of a design: assertions write it at the moment they fail
    // verilator lint_off BLKSEQ
    always @(posedge clear) violations = '0;
    // verilator lint_on BLKSEQ

    function automatic void broken(logic [3:0] index, string what);
        if (!violations[index]) $display("%0t %m: AXI rule broken: %s", $time, what);
        violations[index] = 1'b1;
    endfunction

    function automatic logic crosses_4k(logic [63:0] address, logic [7:0] length);
        return 32'(address[11:0] & ~12'(Bytes - 1)) + (32'(length) + 1) * Bytes > 4096;
    endfunction

    function automatic logic well_shaped(logic [63:0] address, logic [7:0] length, logic [2:0] size, logic [1:0] burst,
                                         logic lock);
        return burst == 2'b01 && size == 3'($clog2(Bytes)) && 32'(length) < MAX_BURST && !lock
            && (address & 64'(Bytes - 1)) == 0;
    endfunction

    // ------------------------------------------------------------------------------------- channels by themselves
    localparam int AR = 0, R = 1, AW = 2, W = 3, B = 4;
    localparam int Wide = DATA_BITS + Bytes + 80;  // any channel's payload
    wire [4:0] valid = {bvalid, wvalid, awvalid, rvalid, arvalid};
    wire [4:0] ready = {bready, wready, awready, rready, arready};
    wire [Wide-1:0] payload[5];
    assign payload[AR] = Wide'({araddr, arlen, arsize, arburst, arlock, arid});
    assign payload[R]  = Wide'({rdata, rresp, rlast, rid});
    assign payload[AW] = Wide'({awaddr, awlen, awsize, awburst, awlock, awid});
    assign payload[W]  = Wide'({wdata, wstrb, wlast});
    assign payload[B]  = Wide'({bresp, bid});

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
            else broken(10, $sformatf("VALID or READY of channel %0d is unknown", c));
    end

    a_read_boundary: assert property (@(posedge clk) disable iff (!rst_n)
        arvalid |-> !crosses_4k(araddr, arlen))
        else broken(3, "a read burst crosses 4 KB");
    a_write_boundary: assert property (@(posedge clk) disable iff (!rst_n)
        awvalid |-> !crosses_4k(awaddr, awlen))
        else broken(3, "a write burst crosses 4 KB");
    a_read_shape: assert property (@(posedge clk) disable iff (!rst_n)
        arvalid |-> well_shaped(araddr, arlen, arsize, arburst, arlock))
        else broken(4, "a read burst is not one of whole aligned beats");
    a_write_shape: assert property (@(posedge clk) disable iff (!rst_n)
        awvalid |-> well_shaped(awaddr, awlen, awsize, awburst, awlock))
        else broken(4, "a write burst is not one of whole aligned beats");
    a_id: assert property (@(posedge clk) disable iff (!rst_n)
        !(arvalid && arid) && !(rvalid && rid) && !(awvalid && awid) && !(bvalid && bid))
        else broken(8, "an ID is not 0");
    if (FULL_STROBES) begin : g_full_strobes
        a_strobes: assert property (@(posedge clk) disable iff (!rst_n)
            wvalid |-> &wstrb)
            else broken(9, "WSTRB is not all ones");
    end

    // -------------------------------------------------------------------------------------------- bursts, in order
    wire address = awvalid && awready;
    wire supply  = wvalid && wready && wlast;
    wire done    = bvalid && bready;
    wire ask     = arvalid && arready;
    wire answer  = rvalid && rready && rlast;

    // lengths by burst; data may come before its address, so each side may be ahead of the other
    logic [7:0] asked[QUEUE], sent[QUEUE], wanted[QUEUE];
    logic [15:0] addresses, supplies, dones, asks, answers;  // of bursts, since reset
    logic [7:0] write_beat, read_beat;  // of the burst that is being moved
    assign reads_open  = asks - answers;
    assign writes_open = (addresses - dones) > (supplies - dones) ? addresses - dones : supplies - dones;
    wire [7:0] ends_at = asked[Index'(supplies)];

    always_ff @(posedge clk) begin
        if (!rst_n) begin
            addresses       <= '0;
            supplies        <= '0;
            dones           <= '0;
            asks            <= '0;
            answers         <= '0;
            write_beat      <= '0;
            read_beat       <= '0;
            most_reads_open <= '0;
        end else begin
            if (address) asked[Index'(addresses)] <= awlen;
            if (supply) sent[Index'(supplies)] <= write_beat;
            if (ask) wanted[Index'(asks)] <= arlen;
            addresses <= addresses + 16'(address);
            supplies  <= supplies + 16'(supply);
            dones     <= dones + 16'(done);
            asks      <= asks + 16'(ask);
            answers   <= answers + 16'(answer);
            if (wvalid && wready) write_beat <= wlast ? '0 : write_beat + 1;
            if (rvalid && rready) read_beat <= rlast ? '0 : read_beat + 1;
            if (reads_open > most_reads_open) most_reads_open <= reads_open;
        end
    end

    a_wlast: assert property (@(posedge clk) disable iff (!rst_n)
        wvalid && addresses != supplies && 16'(addresses - supplies) <= 16'(QUEUE)
        |-> wlast == (write_beat == ends_at))
        else broken(5, "WLAST is not at the end of its burst");
    // of data that was ahead: its address tells another length
    a_late_address: assert property (@(posedge clk) disable iff (!rst_n)
        address && addresses != supplies && 16'(supplies - addresses) <= 16'(QUEUE)
        |-> awlen == sent[Index'(addresses)])
        else broken(5, "a burst's data ended elsewhere than its address says");
    a_data_ahead: assert property (@(posedge clk) disable iff (!rst_n)
        wvalid && addresses == supplies && awvalid |-> wlast ? write_beat == awlen : write_beat < awlen)
        else broken(5, "WLAST is not at the end of the burst whose address is offered");

    a_b: assert property (@(posedge clk) disable iff (!rst_n)
        bvalid |-> addresses != dones && supplies != dones)
        else broken(6, "a write is answered that was not asked for, or not sent to its end");
    a_r: assert property (@(posedge clk) disable iff (!rst_n)
        rvalid |-> asks != answers && rlast == (read_beat == wanted[Index'(answers)]))
        else broken(7, "a read is answered that was not asked for, or RLAST is not at its end");

endmodule

`default_nettype wire
