  // Properties of hlsc_ram_dual: one word, at an address chosen by the solver, stands for all.
  (* anyconst *) logic [ADDRESS_BITS-1:0] f_address;
  logic [WIDTH-1:0] f_word, f_a_expected, f_b_expected;
  logic f_known = INITIAL != 0, f_a_reading = 1'b0, f_b_reading = 1'b0;
  logic [WIDTH*DEPTH-1:0] f_words;
  assign f_words = (WIDTH * DEPTH)'(WORDS) >> (WIDTH * f_address);
  initial assume (f_word == f_words[WIDTH-1:0]);
  always @(posedge clk) begin
    assume (f_address < DEPTH && a_address < DEPTH && b_address < DEPTH);
    if (a_enable && a_write && a_address == f_address) {f_known, f_word} <= {1'b1, a_wd};
    if (b_enable && b_write && b_address == f_address) {f_known, f_word} <= {1'b1, b_wd};
    if (a_enable && !a_write) {f_a_reading, f_a_expected} <= {f_known && a_address == f_address, f_word};
    if (b_enable && !b_write) {f_b_reading, f_b_expected} <= {f_known && b_address == f_address, f_word};
    if (f_known) assert (mem[f_address] == f_word);
    if (f_a_reading) assert (a_rd == f_a_expected);
    if (f_b_reading) assert (b_rd == f_b_expected);
    cover (f_a_reading && f_b_reading && a_rd != b_rd);
  end
