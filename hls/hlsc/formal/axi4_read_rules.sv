// AXI4 read channels of a manager with one ID: the manager is checked; the subordinate is checked too with
// CHECK_SUBORDINATE, else assumed to keep the rules. For proofs and for simulation.
//
// Without EXACT the place of RLAST is only bounded by counts (every burst has a beat, all beats come, the last
// beat of the last burst has RLAST). As an assumption this allows more than AXI4 does, and needs no queue.
`default_nettype none

module axi4_read_rules #(
    parameter int ADDR_WIDTH        = 64,
    parameter int DATA_WIDTH        = 32,
    parameter int MAX_BURST         = 256,  // beats of the largest burst
    parameter int CHECK_SUBORDINATE = 0,
    parameter int EXACT             = 0,    // 1: RLAST at the beat that ARLEN says
    parameter int QUEUE             = 64    // bursts that may be under way; a power of two
) (
    input  wire                   clk,
    input  wire                   rst,
    input  wire                   arvalid,
    input  wire                   arready,
    input  wire  [ADDR_WIDTH-1:0] araddr,
    input  wire  [           7:0] arlen,
    input  wire  [           2:0] arsize,
    input  wire  [           1:0] arburst,
    input  wire                   rvalid,
    input  wire                   rready,
    input  wire  [DATA_WIDTH-1:0] rdata,
    input  wire                   rlast,
    input  wire  [           1:0] rresp,
    output logic [          15:0] bursts,  // accepted on AR, RLAST not yet transferred
    output logic [          15:0] beats    // their beats not yet transferred
);
  localparam int BYTES = DATA_WIDTH / 8;

  stream_rules #(.WIDTH(ADDR_WIDTH + 13)) ar (
      .clk, .rst, .valid(arvalid), .ready(arready), .payload({araddr, arlen, arsize, arburst})
  );
  stream_rules #(.WIDTH(DATA_WIDTH + 3), .CHECK(CHECK_SUBORDINATE)) r (
      .clk, .rst, .valid(rvalid), .ready(rready), .payload({rdata, rlast, rresp})
  );

  logic [12:0] end_in_page;
  assign end_in_page = 13'(araddr[11:0]) + 13'((13'(arlen) + 13'd1) * 13'(BYTES));

  always @(posedge clk) begin
    if (!rst && arvalid) begin
      assert (int'(arlen) < MAX_BURST);
      assert (arburst == 2'b01);
      assert (arsize == 3'($clog2(BYTES)));
      assert ((araddr[11:0] & 12'(BYTES - 1)) == 0);
      assert (end_in_page <= 13'd4096);
    end
  end

  logic legal;
  assign legal = bursts != 0 && beats >= bursts
      && (rlast ? (beats > 1 || bursts == 1) && (bursts > 1 || beats == 1) && beats - 1 >= bursts - 1
                : beats > bursts);

  always @(posedge clk) begin
    if (rst) begin
      bursts <= '0;
      beats  <= '0;
    end else begin
      bursts <= bursts + 16'(arvalid && arready) - 16'(rvalid && rready && rlast);
      beats  <= beats + ((arvalid && arready) ? 16'(arlen) + 16'd1 : '0) - 16'(rvalid && rready);
    end
    if (!rst && rvalid) begin
      if (CHECK_SUBORDINATE != 0) assert (legal);
      else assume (legal);
    end
  end

  if (EXACT != 0) begin : gen_exact
    localparam int Q = $clog2(QUEUE);
    logic [7:0] length[QUEUE], beat;
    logic [Q-1:0] asked, answered;
    always @(posedge clk) begin
      if (arvalid && arready) length[asked] <= arlen;
      if (rst) begin
        asked    <= '0;
        answered <= '0;
        beat     <= '0;
      end else begin
        if (arvalid && arready) asked <= asked + 1'b1;
        if (rvalid && rready) beat <= rlast ? '0 : beat + 1'b1;
        if (rvalid && rready && rlast) answered <= answered + 1'b1;
        assert (bursts < 16'(QUEUE));
        if (rvalid) begin
          if (CHECK_SUBORDINATE != 0) assert (rlast == (beat == length[answered]));
          else assume (rlast == (beat == length[answered]));
        end
      end
    end
  end
endmodule

`default_nettype wire
