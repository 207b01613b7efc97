  // Properties of hlsc_fifo, from the inside: `item(i)` is the i-th oldest element, and the FIFO is exactly a queue.
  // With FIFO_ALONE its user is assumed to respect the flags; inside another block the user is checked.
  logic f_was_reset = 1'b0;
  always @(posedge clk) begin
    f_was_reset <= rst;
    if (!rst) begin
`ifdef FIFO_ALONE
      assume (!write || full_n);
      assume (!read || empty_n);
`else
      assert (!write || full_n);
      assert (!read || empty_n);
`endif
    end
  end

  // where the i-th oldest element is: the deep FIFO has the oldest in its output register
  logic [C-1:0] f_stored;
  logic f_ahead;
  if (DEPTH <= BLOCK_ABOVE) begin : gen_f_shallow
    assign f_stored = count;
    assign f_ahead  = 1'b0;
  end else begin : gen_f_deep
    assign f_stored = gen_deep.stored;
    assign f_ahead  = empty_n;
  end
  logic [DEPTH*WIDTH-1:0] f_items;  // oldest in the lowest bits
  for (genvar i = 0; i < DEPTH; i++) begin : gen_f_items
    logic [C:0] at;
    assign at = (C + 1)'(rp) + (C + 1)'(i) - (C + 1)'(f_ahead);
    assign f_items[i*WIDTH+:WIDTH] = (i == 0 && f_ahead) ? dout :
        mem[A'((at >= (C + 1)'(DEPTH)) ? at - (C + 1)'(DEPTH) : at)];
  end

  // state that can be reached
  logic [C:0] f_end;  // where the next element goes
  assign f_end = (C + 1)'(rp) + (C + 1)'(f_stored);
  always @(posedge clk) begin
    if (!rst) begin
      assert (count <= C'(DEPTH));
      assert (count == f_stored + C'(f_ahead));
      assert (rp <= LAST && wp <= LAST);
      assert ((C + 1)'(wp) == ((f_end >= (C + 1)'(DEPTH)) ? f_end - (C + 1)'(DEPTH) : f_end));
      // flags
      assert (!full_n || count != C'(DEPTH));
      assert (!empty_n || count != '0);
      if (DEPTH <= BLOCK_ABOVE) assert (empty_n == (count != '0));
      if (empty_n || DEPTH <= BLOCK_ABOVE) assert (dout == f_items[WIDTH-1:0]);
    end
    if (!rst && !f_was_reset) assert (full_n == (count != C'(DEPTH)));  // a free place can be used at once
  end

  // one step of a queue: the element at place `f_place` was one place further, or is the one just written
  (* anyconst *) logic [C-1:0] f_place;
  logic [WIDTH-1:0] f_now, f_before, f_before_one_further;
  logic [C-1:0] f_count_before;
  logic f_read, f_write, f_step = 1'b0;
  logic [WIDTH-1:0] f_din;
  assign f_now = f_items[f_place*WIDTH+:WIDTH];
  always @(posedge clk) begin
    f_before             <= f_now;
    f_before_one_further <= WIDTH'(f_items >> ((f_place + 1) * WIDTH));
    f_count_before       <= count;
    f_read               <= read;
    f_write              <= write;
    f_din                <= din;
    f_step               <= !rst;
    assume (f_place < C'(DEPTH));
    if (f_step && !rst) begin
      assert (count == f_count_before + C'(f_write) - C'(f_read));
      if (f_place < count) begin
        if (f_place + C'(1) == count && f_write) assert (f_now == f_din);
        else assert (f_now == (f_read ? f_before_one_further : f_before));
      end
      // an element that was there a cycle ago is offered: with the flag above, one write and one read per cycle
      if (f_count_before > C'(f_read)) assert (empty_n);
    end
  end

`ifdef FIFO_ALONE
  initial assume (rst);
  // what the proofs speak of happens
  logic f_was_full = 1'b0;
  always @(posedge clk) begin
    f_was_full <= !rst && (f_was_full || count == C'(DEPTH));
    cover (f_was_full && !empty_n && !f_was_reset && !rst);
    if (DEPTH > 1) cover (f_was_full && read && write && !rst);
  end
`endif
