// A register slice: data, valid and ready all leave it from registers.
`timescale 1 ns / 1 ps

module kv_compress_regslice_both
#(parameter DataWidth = 32)
(
    input                    ap_clk,
    input                    ap_rst,
    input  [DataWidth-1:0]   data_in,
    input                    vld_in,
    output                   ack_in,
    output [DataWidth-1:0]   data_out,
    output                   vld_out,
    input                    ack_out
);

reg  [DataWidth-1:0] front, spare;
reg                  front_vld, ack;   // `spare` holds a word while front_vld and not ack

assign ack_in   = ack;
assign data_out = front;
assign vld_out  = front_vld;

always @(posedge ap_clk) begin
    if (ap_rst) begin
        front_vld <= 1'b0;
        ack       <= 1'b0;
    end else if (!front_vld || ack_out) begin
        front     <= (ack || !front_vld) ? data_in : spare;
        front_vld <= (ack || !front_vld) ? (vld_in & ack) : 1'b1;
        ack       <= 1'b1;
    end else if (ack) begin
        spare     <= data_in;
        ack       <= ~vld_in;
    end
end

endmodule
