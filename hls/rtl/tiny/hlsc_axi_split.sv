// Splits a transfer into AXI4 bursts that never cross 4 KB.
//
// A transfer is a byte address and a number of beats. Bursts end at multiples of the largest burst's bytes, so a
// transfer that starts between two such multiples has a shorter first burst. One burst leaves per cycle.
// Zero beats give one item of zero beats. An unaligned transfer gives one item of zero beats, or, with
// CHUNK_UNALIGNED, items that cover its beats so that the owner can drop the data; both are marked.
`default_nettype none

module hlsc_axi_split #(
    parameter int ADDR_WIDTH      = 64,   // bits of a byte address
    parameter int BYTES           = 64,   // bytes of one beat; a power of two from 4 to 128
    parameter int LENGTH_WIDTH    = 32,   // bits of a transfer's length in beats
    parameter int BURST           = 64,   // beats of the largest burst; a power of two, at most 4096 bytes
    parameter int CHUNK_UNALIGNED = 0     // 1: an unaligned transfer is cut into items too
) (
    input  wire                     clk,
    input  wire                     rst,              // synchronous, active high
    input  wire                     command_valid,
    output logic                    command_ready,
    input  wire  [  ADDR_WIDTH-1:0] command_address,  // bytes
    input  wire  [LENGTH_WIDTH-1:0] command_beats,
    output logic                    burst_valid,
    input  wire                     burst_ready,
    output logic [  ADDR_WIDTH-1:0] burst_address,    // bytes, a multiple of BYTES
    output logic [             8:0] burst_beats,      // 0 to BURST
    output logic                    burst_last,       // the last item of its transfer
    output logic                    burst_unaligned   // the transfer's address was no multiple of BYTES
);
  localparam int S = $clog2(BYTES);

  if (BYTES < 4 || BYTES > 128 || 2 ** S != BYTES) begin : gen_bytes
    $error("%m: BYTES (%0d) must be a power of two from 4 to 128", BYTES);
  end
  if (BURST < 1 || BURST > 256 || 2 ** $clog2(BURST) != BURST || BURST * BYTES > 4096) begin : gen_burst
    $error("%m: BURST (%0d) must be a power of two up to 256 beats and 4096 bytes", BURST);
  end
  if (ADDR_WIDTH < 12 || ADDR_WIDTH > 64 || LENGTH_WIDTH < 9 || LENGTH_WIDTH > 64) begin : gen_widths
    $error("%m: ADDR_WIDTH (%0d) must be 12 to 64, LENGTH_WIDTH (%0d) 9 to 64", ADDR_WIDTH, LENGTH_WIDTH);
  end

  logic [ADDR_WIDTH-S-1:0] beat;  // address in beats
  logic [LENGTH_WIDTH-1:0] remaining;  // beats not yet issued
  logic skip;  // nothing to transfer: one item of zero beats
  logic [8:0] to_boundary;

  assign to_boundary = 9'(BURST) - (9'(beat) & 9'(BURST - 1));
  assign burst_last = skip || remaining <= LENGTH_WIDTH'(to_boundary);
  assign burst_beats = skip ? '0 : burst_last ? 9'(remaining) : to_boundary;
  assign burst_address = {beat, S'(0)};
  assign command_ready = !burst_valid || (burst_ready && burst_last);

  always_ff @(posedge clk) begin
    if (rst) begin
      burst_valid <= 1'b0;
    end else if (command_ready) begin
      burst_valid <= command_valid;
    end
    if (command_ready) begin
      beat            <= command_address[ADDR_WIDTH-1:S];
      remaining       <= command_beats;
      burst_unaligned <= command_beats != '0 && command_address[S-1:0] != '0;
      skip            <= command_beats == '0 || (CHUNK_UNALIGNED == 0 && command_address[S-1:0] != '0);
    end else if (burst_valid && burst_ready) begin
      beat      <= beat + (ADDR_WIDTH - S)'(burst_beats);
      remaining <= remaining - LENGTH_WIDTH'(burst_beats);
    end
  end
endmodule

`default_nettype wire
