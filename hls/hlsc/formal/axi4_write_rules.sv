// AXI4 write channels of a manager with one ID: the manager is checked; the subordinate is checked too with
// CHECK_SUBORDINATE, else assumed to keep the rules. For proofs and for simulation.
`default_nettype none

module axi4_write_rules #(
    parameter int ADDR_WIDTH        = 64,
    parameter int DATA_WIDTH        = 32,
    parameter int MAX_BURST         = 256,  // beats of the largest burst
    parameter int CHECK_SUBORDINATE = 0,
    parameter int EXACT             = 0,    // 1: WLAST is compared with AWLEN, burst by burst
    parameter int QUEUE             = 64    // bursts that may be under way; a power of two
) (
    input  wire                     clk,
    input  wire                     rst,
    input  wire                     awvalid,
    input  wire                     awready,
    input  wire  [  ADDR_WIDTH-1:0] awaddr,
    input  wire  [             7:0] awlen,
    input  wire  [             2:0] awsize,
    input  wire  [             1:0] awburst,
    input  wire                     wvalid,
    input  wire                     wready,
    input  wire  [  DATA_WIDTH-1:0] wdata,
    input  wire  [DATA_WIDTH/8-1:0] wstrb,
    input  wire                     wlast,
    input  wire                     bvalid,
    input  wire                     bready,
    input  wire  [             1:0] bresp,
    output logic [            15:0] addressed,  // bursts accepted on AW whose B was not yet transferred
    output logic [            15:0] supplied    // bursts with WLAST transferred whose B was not yet transferred
);
  localparam int BYTES = DATA_WIDTH / 8;

  stream_rules #(.WIDTH(ADDR_WIDTH + 13)) aw (
      .clk, .rst, .valid(awvalid), .ready(awready), .payload({awaddr, awlen, awsize, awburst})
  );
  stream_rules #(.WIDTH(DATA_WIDTH + BYTES + 1)) w (
      .clk, .rst, .valid(wvalid), .ready(wready), .payload({wdata, wstrb, wlast})
  );
  stream_rules #(.WIDTH(2), .CHECK(CHECK_SUBORDINATE)) b (
      .clk, .rst, .valid(bvalid), .ready(bready), .payload(bresp)
  );

  logic [12:0] end_in_page;
  assign end_in_page = 13'(awaddr[11:0]) + 13'((13'(awlen) + 13'd1) * 13'(BYTES));

  always @(posedge clk) begin
    if (!rst && awvalid) begin
      assert (int'(awlen) < MAX_BURST);
      assert (awburst == 2'b01);
      assert (awsize == 3'($clog2(BYTES)));
      assert ((awaddr[11:0] & 12'(BYTES - 1)) == 0);
      assert (end_in_page <= 13'd4096);
    end
  end

  logic done, address, supply;
  assign done    = bvalid && bready;
  assign address = awvalid && awready;
  assign supply  = wvalid && wready && wlast;

  always @(posedge clk) begin
    if (rst) begin
      addressed <= '0;
      supplied  <= '0;
    end else begin
      addressed <= addressed + 16'(address) - 16'(done);
      supplied  <= supplied + 16'(supply) - 16'(done);
    end
    if (!rst && bvalid) begin
      if (CHECK_SUBORDINATE != 0) assert (addressed != 0 && supplied != 0);
      else assume (addressed != 0 && supplied != 0);
    end
  end

  if (EXACT != 0) begin : gen_exact
    // burst k's beats may come before its address: whichever is later is compared with the other
    localparam int Q = $clog2(QUEUE);
    logic [7:0] asked_length[QUEUE], sent_length[QUEUE], beat;
    logic [Q-1:0] asked, sent;
    always @(posedge clk) begin
      if (address) asked_length[asked] <= awlen;
      if (supply) sent_length[sent] <= beat;
      if (rst) begin
        asked <= '0;
        sent  <= '0;
        beat  <= '0;
      end else begin
        if (address) asked <= asked + 1'b1;
        if (wvalid && wready) beat <= wlast ? '0 : beat + 1'b1;
        if (supply) sent <= sent + 1'b1;
        assert (addressed < 16'(QUEUE / 2) && supplied < 16'(QUEUE / 2));
        if (address && supplied > addressed) assert (awlen == sent_length[asked]);
        if (wvalid && addressed > supplied) assert (wlast == (beat == asked_length[sent]));
        if (wvalid && addressed == supplied && awvalid) assert (wlast == (beat == awlen));
      end
    end
  end
endmodule

`default_nettype wire
