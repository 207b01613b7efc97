// What every header begins with.
`timescale 1 ns / 1 ps

module kv_compress_magic_ROM_AUTO_1R
#(parameter DataWidth = 32, AddressWidth = 1, AddressRange = 1)
(
    input                          clk,
    input                          reset,
    input      [AddressWidth-1:0]  address0,
    input                          ce0,
    output reg [DataWidth-1:0]     q0
);

reg [DataWidth-1:0] rom0[0:AddressRange-1];

initial begin
    $readmemh("./kv_compress_magic_ROM_AUTO_1R.dat", rom0);
end

wire unused = reset;

always @(posedge clk) begin
    if (ce0) q0 <= rom0[address0];
end

endmodule
