// Wide words become `COUNT` words of a narrow memory port each, the lowest first. Before a burst writer.
//
// A command passes to the writer when the data of all commands before it has passed, and lets as many words pass as
// its bytes need. A command may end inside a wide word: what is left of that is dropped, and the next command's data
// begins with a wide word of its own. It gives a word in every cycle but one for each command.
`default_nettype none

module hlsc_narrow #(
    parameter int WIDTH        = 64,  // bits of a narrow word: a power of two from 32
    parameter int COUNT        = 8,   // narrow words in a wide one, at least 2
    parameter int LENGTH_WIDTH = 32   // bits of a command's length in bytes
) (
    input  wire                     clk,
    input  wire                     rst,            // synchronous, active high
    input  wire                     command_valid,
    output logic                    command_ready,
    input  wire  [LENGTH_WIDTH-1:0] command_bytes,
    output logic                    writer_valid,   // the command, to the writer
    input  wire                     writer_ready,
    input  wire                     in_valid,
    output logic                    in_ready,
    input  wire  [ WIDTH*COUNT-1:0] in_data,
    output logic                    out_valid,
    input  wire                     out_ready,
    output logic [       WIDTH-1:0] out_data
);
  localparam int S = $clog2(WIDTH / 8);
  localparam int L = LENGTH_WIDTH - S + 1;  // bits of a number of words in a command
  localparam int I = $clog2(COUNT);  // bits of a word's place

  if (WIDTH < 32 || 2 ** $clog2(WIDTH) != WIDTH || COUNT < 2) begin : gen_parameters
    $error("%m: WIDTH (%0d) must be a power of two from 32, COUNT (%0d) at least 2", WIDTH, COUNT);
  end

  logic [L-1:0] left;  // words that the command under way still needs
  logic [I-1:0] place;  // of the next one
  logic idle, passes, ends;

  assign idle          = left == '0;
  assign writer_valid  = command_valid && idle;
  assign command_ready = writer_ready && idle;
  assign out_valid     = in_valid && !idle;
  assign out_data      = in_data[WIDTH*place+:WIDTH];
  assign passes        = out_valid && out_ready;
  assign ends          = left == L'(1) || place == I'(COUNT - 1);  // nothing of the wide word is left
  assign in_ready      = !idle && out_ready && ends;

  always_ff @(posedge clk) begin
    if (rst) begin
      left  <= '0;
      place <= '0;
    end else if (writer_valid && writer_ready) begin
      left <= L'(command_bytes[LENGTH_WIDTH-1:S]) + L'(|command_bytes[S-1:0]);
    end else if (passes) begin
      left  <= left - 1'b1;
      place <= ends ? '0 : place + 1'b1;
    end
  end
endmodule

`default_nettype wire
