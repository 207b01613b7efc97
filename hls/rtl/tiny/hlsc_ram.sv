// Simple dual-port RAM: one write port, one read port with a registered output that holds until the next read.
`default_nettype none

module hlsc_ram #(
    parameter int WIDTH        = 8,   // bits of one word
    parameter int DEPTH        = 16,  // words
    parameter int ADDRESS_BITS = 4,   // bits of an address
    parameter int INITIAL      = 0,   // the words when the device is configured: 0 anything, 1 zero, 2 WORDS
    parameter bit [(INITIAL == 2 ? WIDTH*DEPTH : 1)-1:0] WORDS = '0,  // word 0 in the lowest bits
    /* verilator lint_off UNUSEDPARAM */  // read by the synthesis tool, not by a simulator
    parameter     STYLE        = "auto"  // ram_style of the synthesis tool: auto, block, distributed, ultra
    /* verilator lint_on UNUSEDPARAM */
) (
    input  wire                     clk,
    input  wire                     we,
    input  wire  [ADDRESS_BITS-1:0] wa,
    input  wire  [       WIDTH-1:0] wd,
    input  wire                     re,
    input  wire  [ADDRESS_BITS-1:0] ra,
    input  wire                     forward,  // a read of the word written in this cycle sees the new value
    output logic [       WIDTH-1:0] rd
);
  if (WIDTH < 1 || DEPTH < 1 || DEPTH > 2 ** ADDRESS_BITS) begin : gen_parameters
    $error("%m: %0d words of %0d bits do not fit %0d address bits", DEPTH, WIDTH, ADDRESS_BITS);
  end

  (* ram_style = STYLE *) logic [WIDTH-1:0] mem[DEPTH];
  logic [WIDTH-1:0] from_memory, from_write;
  logic was_forwarded;

  if (INITIAL == 1) begin : gen_zero
    initial for (int i = 0; i < DEPTH; i++) mem[i] = '0;
  end else if (INITIAL == 2) begin : gen_words
    initial for (int i = 0; i < DEPTH; i++) mem[i] = WORDS[WIDTH*i+:WIDTH];
  end

  // The memory itself is read-first; a forwarded word travels beside it. No always_ff: nothing but that may write what it
  // writes, and `initial` does.
  always @(posedge clk) begin
    if (we) mem[wa] <= wd;
    if (re) from_memory <= mem[ra];
  end
  always_ff @(posedge clk) begin
    if (re) begin
      from_write    <= wd;
      was_forwarded <= forward && we && wa == ra;
    end
  end
  assign rd = was_forwarded ? from_write : from_memory;
endmodule

`default_nettype wire
