// Breaks a stream on purpose, so that a test can show that the bench notices. Wires only while `fault` is 0.
// It sits between the kernel's output and everything that watches it; `testbench/lib/faults.py` has the names.
`default_nettype none

module axis_fault #(
    parameter int DATA_BITS = 512
) (
    input  wire                     clk,
    input  wire                     rst_n,
    input  wire [3:0]               fault,
    // which packet since reset, and which of its beats, is hit
    input  wire [15:0]              fault_packet,
    input  wire [15:0]              fault_beat,
    input  wire [DATA_BITS-1:0]     in_tdata,
    input  wire [(DATA_BITS/8)-1:0] in_tkeep,
    input  wire                     in_tlast,
    input  wire                     in_tvalid,
    output logic                    in_tready,
    output logic [DATA_BITS-1:0]     out_tdata,
    output logic [(DATA_BITS/8)-1:0] out_tkeep,
    output logic                     out_tlast,
    output logic                     out_tvalid,
    input  wire                      out_tready
);

    localparam logic [3:0] DropLast = 1, CorruptByte = 2, DropValid = 3, ChangeWaiting = 4, PartialKeep = 5,
                           LoseBeat = 6, RepeatBeat = 7, ValidInReset = 8, EarlyLast = 9;

    logic [15:0] packet, beat;
    logic        waited;    // the beat at the output was refused in the previous cycle
    logic        repeated;  // the beat at the output has gone out once already
    wire         here = packet == fault_packet && beat == fault_beat;

    always_comb begin
        in_tready  = out_tready;
        out_tdata  = in_tdata;
        out_tkeep  = in_tkeep;
        out_tlast  = in_tlast;
        out_tvalid = in_tvalid;
        unique case (fault)
            DropLast:      if (packet == fault_packet) out_tlast = 1'b0;
            CorruptByte:   if (here) out_tdata[47:40] = ~in_tdata[47:40];
            DropValid:     if (waited) begin
                               out_tvalid = 1'b0;
                               in_tready  = 1'b0;
                           end
            ChangeWaiting: if (waited && packet == fault_packet) out_tdata[0] = ~in_tdata[0];
            PartialKeep:   if (here) out_tkeep[DATA_BITS/8-1] = 1'b0;
            LoseBeat:      if (here) begin
                               out_tvalid = 1'b0;
                               in_tready  = 1'b1;
                           end
            RepeatBeat:    if (packet == fault_packet && in_tlast) in_tready = out_tready && repeated;
            ValidInReset:  if (!rst_n) out_tvalid = 1'b1;
            EarlyLast:     if (here) out_tlast = 1'b1;
            default: ;
        endcase
    end

    always_ff @(posedge clk) begin
        waited <= out_tvalid && !out_tready && !waited;
        if (out_tvalid && out_tready) repeated <= packet == fault_packet && in_tlast && !repeated;
        if (in_tvalid && in_tready) begin
            beat <= in_tlast ? '0 : beat + 1'b1;
            if (in_tlast) packet <= packet + 1'b1;
        end
        if (!rst_n) begin
            packet   <= '0;
            beat     <= '0;
            waited   <= 1'b0;
            repeated <= 1'b0;
        end
    end

endmodule

`default_nettype wire
