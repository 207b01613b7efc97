// AXI4-Lite subordinate: it is checked; the manager is assumed to keep the rules.
`default_nettype none

module axil_rules #(
    parameter int ADDR_WIDTH = 6
) (
    input wire                  clk,
    input wire                  rst,
    input wire                  awvalid,
    input wire                  awready,
    input wire [ADDR_WIDTH-1:0] awaddr,
    input wire                  wvalid,
    input wire                  wready,
    input wire [          31:0] wdata,
    input wire [           3:0] wstrb,
    input wire                  bvalid,
    input wire                  bready,
    input wire [           1:0] bresp,
    input wire                  arvalid,
    input wire                  arready,
    input wire [ADDR_WIDTH-1:0] araddr,
    input wire                  rvalid,
    input wire                  rready,
    input wire [          31:0] rdata,
    input wire [           1:0] rresp,
    output logic [7:0] addresses,  // write addresses taken, B not yet transferred
    output logic [7:0] datas,      // write data taken, B not yet transferred
    output logic [7:0] reads       // read addresses taken, R not yet transferred
);
  stream_rules #(.WIDTH(ADDR_WIDTH), .CHECK(0)) aw (.clk, .rst, .valid(awvalid), .ready(awready), .payload(awaddr));
  stream_rules #(.WIDTH(36), .CHECK(0)) w (.clk, .rst, .valid(wvalid), .ready(wready), .payload({wdata, wstrb}));
  stream_rules #(.WIDTH(ADDR_WIDTH), .CHECK(0)) ar (.clk, .rst, .valid(arvalid), .ready(arready), .payload(araddr));
  stream_rules #(.WIDTH(2)) b (.clk, .rst, .valid(bvalid), .ready(bready), .payload(bresp));
  stream_rules #(.WIDTH(34)) r (.clk, .rst, .valid(rvalid), .ready(rready), .payload({rdata, rresp}));

  always @(posedge clk) begin
    if (rst) begin
      addresses <= '0;
      datas     <= '0;
      reads     <= '0;
    end else begin
      addresses <= addresses + 8'(awvalid && awready) - 8'(bvalid && bready);
      datas     <= datas + 8'(wvalid && wready) - 8'(bvalid && bready);
      reads     <= reads + 8'(arvalid && arready) - 8'(rvalid && rready);
      // a response answers a request, and a request is not taken again before there is room to answer it
      if (bvalid) assert (addresses != 0 && datas != 0);
      if (rvalid) assert (reads != 0);
      assert (addresses <= 2 && datas <= 2 && reads <= 1);
      assert (!bvalid || bresp == 0);
      assert (!rvalid || rresp == 0);
    end
  end
endmodule

`default_nettype wire
