// True dual-port RAM: two ports that each read or write one word per cycle; `rd` holds until the port's next read.
//
// A read of a word that is written in the same cycle, by either port, gives the old value. Two writes of one word
// in the same cycle: port B's value stays.
`default_nettype none

module hlsc_ram_dual #(
    parameter int WIDTH        = 8,   // bits of one word
    parameter int DEPTH        = 16,  // words
    parameter int ADDRESS_BITS = 4,   // bits of an address
    parameter int INITIAL      = 0,   // the words when the device is configured: 0 anything, 1 zero, 2 WORDS
    parameter bit [(INITIAL == 2 ? WIDTH*DEPTH : 1)-1:0] WORDS = '0,  // word 0 in the lowest bits
    /* verilator lint_off UNUSEDPARAM */  // read by the synthesis tool, not by a simulator
    parameter     STYLE        = "auto"  // ram_style of the synthesis tool: auto, block, ultra
    /* verilator lint_on UNUSEDPARAM */
) (
    input  wire                     clk,
    input  wire                     a_enable,
    input  wire                     a_write,   // with a_enable: 1 write, 0 read
    input  wire  [ADDRESS_BITS-1:0] a_address,
    input  wire  [       WIDTH-1:0] a_wd,
    output logic [       WIDTH-1:0] a_rd,
    input  wire                     b_enable,
    input  wire                     b_write,
    input  wire  [ADDRESS_BITS-1:0] b_address,
    input  wire  [       WIDTH-1:0] b_wd,
    output logic [       WIDTH-1:0] b_rd
);
  if (WIDTH < 1 || DEPTH < 1 || DEPTH > 2 ** ADDRESS_BITS) begin : gen_parameters
    $error("%m: %0d words of %0d bits do not fit %0d address bits", DEPTH, WIDTH, ADDRESS_BITS);
  end

  (* ram_style = STYLE *) logic [WIDTH-1:0] mem[DEPTH];

  if (INITIAL == 1) begin : gen_zero
    initial for (int i = 0; i < DEPTH; i++) mem[i] = '0;
  end else if (INITIAL == 2) begin : gen_words
    initial for (int i = 0; i < DEPTH; i++) mem[i] = WORDS[WIDTH*i+:WIDTH];
  end

  // no always_ff: nothing but that may write what it writes, and `initial` does
  always @(posedge clk) begin
    if (a_enable && a_write) mem[a_address] <= a_wd;
    if (b_enable && b_write) mem[b_address] <= b_wd;
    if (a_enable && !a_write) a_rd <= mem[a_address];
    if (b_enable && !b_write) b_rd <= mem[b_address];
  end
endmodule

`default_nettype wire
