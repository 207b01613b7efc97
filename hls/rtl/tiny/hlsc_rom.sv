// ROM with a registered output that holds until the next read. WORDS packs the contents, word 0 in the lowest bits.
`default_nettype none

module hlsc_rom #(
    parameter int WIDTH = 8,  // bits of one word
    parameter int DEPTH = 16,  // words
    parameter int ADDRESS_BITS = 4,  // bits of an address
    parameter bit [WIDTH*DEPTH-1:0] WORDS = '0,  // contents
    /* verilator lint_off UNUSEDPARAM */  // read by the synthesis tool, not by a simulator
    parameter STYLE = "auto"  // rom_style of the synthesis tool: auto, block, distributed
    /* verilator lint_on UNUSEDPARAM */
) (
    input  wire                     clk,
    input  wire                     re,
    input  wire  [ADDRESS_BITS-1:0] ra,
    output logic [       WIDTH-1:0] rd
);
  if (WIDTH < 1 || DEPTH < 1 || DEPTH > 2 ** ADDRESS_BITS) begin : gen_parameters
    $error("%m: %0d words of %0d bits do not fit %0d address bits", DEPTH, WIDTH, ADDRESS_BITS);
  end

  (* rom_style = STYLE *) logic [WIDTH-1:0] mem[DEPTH];

  initial for (int i = 0; i < DEPTH; i++) mem[i] = WORDS[WIDTH*i+:WIDTH];

  always_ff @(posedge clk) if (re) rd <= mem[ra];
endmodule

`default_nettype wire
