// First-word-fall-through FIFO: `dout` shows the oldest element while `empty_n` is high.
//
// All flags are registers, so there is no combinational path from one side to the other. It sustains one write
// and one read in every cycle, full or empty. A shallow FIFO reads its memory asynchronously (registers or
// LUTRAM, one cycle from write to `empty_n`). A deep one has a block RAM with a registered output that is
// filled ahead of the reader (two cycles from write to `empty_n`).
`default_nettype none

module hlsc_fifo #(
    parameter int WIDTH = 8,  // bits of one element
    parameter int DEPTH = 2,  // elements it holds, exactly; any number from 1 up
    parameter int BLOCK_ABOVE = 32,  // a FIFO deeper than this many elements uses block RAM
    /* verilator lint_off UNUSEDPARAM */  // read by the synthesis tool, not by a simulator
    parameter STYLE = "auto"  // ram_style of the synthesis tool: auto, block, distributed, ultra
    /* verilator lint_on UNUSEDPARAM */
) (
    input  wire              clk,
    input  wire              rst,     // synchronous, active high
    input  wire  [WIDTH-1:0] din,
    input  wire              write,   // only while full_n
    output logic             full_n,
    output logic [WIDTH-1:0] dout,    // the oldest element while empty_n
    input  wire              read,    // only while empty_n
    output logic             empty_n
);
  localparam int A = (DEPTH <= 2) ? 1 : $clog2(DEPTH);  // bits of a pointer
  localparam int C = $clog2(DEPTH + 1);  // bits of a count
  localparam bit [A-1:0] LAST = A'(DEPTH - 1);

  if (WIDTH < 1 || DEPTH < 1) begin : gen_parameters
    $error("%m: WIDTH (%0d) and DEPTH (%0d) must be at least 1", WIDTH, DEPTH);
  end

  (* ram_style = STYLE *) logic [WIDTH-1:0] mem[DEPTH];
  logic [A-1:0] wp, rp;
  logic [C-1:0] count, count_next;  // elements held, with the one in the output register
  logic advance;  // the memory's oldest element leaves it

  assign count_next = count + C'(write) - C'(read);

  always_ff @(posedge clk) begin
    if (write) mem[wp] <= din;
    if (rst) begin
      wp     <= '0;
      rp     <= '0;
      count  <= '0;
      full_n <= 1'b0;
    end else begin
      if (write) wp <= (wp == LAST) ? '0 : wp + 1'b1;
      if (advance) rp <= (rp == LAST) ? '0 : rp + 1'b1;
      count  <= count_next;
      full_n <= count_next != C'(DEPTH);
    end
  end

  if (DEPTH <= BLOCK_ABOVE) begin : gen_shallow
    assign advance = read;
    assign dout    = mem[rp];
    always_ff @(posedge clk) begin
      if (rst) empty_n <= 1'b0;
      else empty_n <= count_next != '0;
    end
  end else begin : gen_deep
    logic [C-1:0] stored;  // elements in the memory, without the one in the output register
    assign advance = stored != '0 && (!empty_n || read);
    always_ff @(posedge clk) begin
      if (advance) dout <= mem[rp];
      if (rst) begin
        stored  <= '0;
        empty_n <= 1'b0;
      end else begin
        stored  <= stored + C'(write) - C'(advance);
        empty_n <= advance || (empty_n && !read);
      end
    end
  end
endmodule

`default_nettype wire
