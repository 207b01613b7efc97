// Words of a narrow memory port, `COUNT` of them, become one wide word: the first one lowest. Behind a burst reader.
//
// A wide word ends with its last narrow word, or with one that is marked `last`; then zeros stand for those that are
// missing. It takes a word in every cycle.
`default_nettype none

module hlsc_widen #(
    parameter int WIDTH = 64,  // bits of a narrow word
    parameter int COUNT = 8    // narrow words in a wide one, at least 2
) (
    input  wire                     clk,
    input  wire                     rst,        // synchronous, active high
    input  wire                     in_valid,
    output logic                    in_ready,
    input  wire  [       WIDTH-1:0] in_data,
    input  wire                     in_last,    // no other word goes into this wide one
    output logic                    out_valid,
    input  wire                     out_ready,
    output logic [WIDTH*COUNT-1:0]  out_data
);
  localparam int I = $clog2(COUNT);  // bits of a word's place

  if (WIDTH < 1 || COUNT < 2) begin : gen_parameters
    $error("%m: WIDTH (%0d) must be at least 1, COUNT (%0d) at least 2", WIDTH, COUNT);
  end

  logic [I-1:0] place;  // of the next word
  logic ends;

  assign in_ready = !out_valid || out_ready;
  assign ends     = in_last || place == I'(COUNT - 1);

  always_ff @(posedge clk) begin
    if (rst) begin
      out_valid <= 1'b0;
      place     <= '0;
    end else if (in_ready) begin
      out_valid <= in_valid && ends;
      if (in_valid) place <= ends ? '0 : place + 1'b1;
    end
    if (in_valid && in_ready) begin
      for (int i = 0; i < COUNT; i++) begin
        if (place == I'(i)) out_data[WIDTH*i+:WIDTH] <= in_data;
        else if (place == '0) out_data[WIDTH*i+:WIDTH] <= '0;
      end
    end
  end
endmodule

`default_nettype wire
