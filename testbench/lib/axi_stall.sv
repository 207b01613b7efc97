// When a channel rests: an opening for axis_gate. `setting` 0 is always open.
//
// `setting` is {run[3:0], share[7:0]}: every 2^run cycles it is drawn anew whether the channel rests, with a chance of
// share in 256. Short runs make single bubbles, long ones fill or empty every buffer behind.
`default_nettype none

module axi_stall (
    input  wire         clk,
    input  wire         rst_n,
    input  wire [11:0]  setting,
    input  wire [31:0]  seed,     // channels with equal seeds rest together
    output wire         open
);

    logic [31:0] state;
    logic [14:0] cycle;
    logic        resting;

    // xorshift of Marsaglia (2003), triple 13, 17, 5
    function automatic logic [31:0] next(logic [31:0] x);
        logic [31:0] y;
        y = x ^ (x << 13);
        y = y ^ (y >> 17);
        return y ^ (y << 5);
    endfunction

    wire draws = (cycle & 15'((1 << setting[11:8]) - 1)) == 0;
    assign open = setting[7:0] == 0 || !resting;

    always_ff @(posedge clk) begin
        if (!rst_n) begin
            state   <= seed == 0 ? 32'h1 : seed;
            cycle   <= '0;
            resting <= 1'b0;
        end else begin
            state <= next(state);
            cycle <= cycle + 1;
            if (draws) resting <= state[15:8] < setting[7:0];
        end
    end

endmodule

`default_nettype wire
