// Stalls a stream between two kernels while `open` is 0. A beat that was offered stays offered until it is taken,
// as AXI4-Stream asks. No register: with `open` at 1 the two kernels are wired together.
`default_nettype none

module axis_gate (
    input  wire  clk,
    input  wire  rst_n,
    input  wire  open,
    input  wire  in_tvalid,
    output wire  in_tready,
    output wire  out_tvalid,
    input  wire  out_tready
);

    logic offered;
    wire  pass = open || offered;

    assign out_tvalid = in_tvalid && pass;
    assign in_tready  = out_tready && pass;

    always_ff @(posedge clk) begin
        if (!rst_n) offered <= 1'b0;
        else offered <= out_tvalid && !out_tready;
    end

endmodule

`default_nettype wire
