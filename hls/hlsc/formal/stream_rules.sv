// Valid/ready stream (AXI4-Stream rules): after reset nothing is valid; valid and payload hold until ready.
// For proofs and for simulation.
`default_nettype none

module stream_rules #(
    parameter int WIDTH = 8,  // bits of the payload
    parameter int CHECK = 1  // 1: the sender is checked, 0: the sender is assumed to keep the rules
) (
    input wire             clk,
    input wire             rst,
    input wire             valid,
    input wire             ready,
    input wire [WIDTH-1:0] payload
);
  logic held = 1'b0, was_reset = 1'b0;
  logic [WIDTH-1:0] offered;

  always @(posedge clk) begin
    was_reset <= rst;
    held      <= valid && !ready && !rst;
    offered   <= payload;
  end

  always @(posedge clk) begin
    if (CHECK != 0) begin
      if (was_reset) assert (!valid);
      if (held) assert (valid && payload == offered);
    end else begin
      if (was_reset) assume (!valid);
      if (held) assume (valid && payload == offered);
    end
  end
endmodule

`default_nettype wire
