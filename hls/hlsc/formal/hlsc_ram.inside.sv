  // Properties of hlsc_ram: one word, at an address chosen by the solver, stands for all.
  (* anyconst *) logic [ADDRESS_BITS-1:0] f_address;
  logic [WIDTH-1:0] f_word, f_expected;  // what the word must be, and what `rd` must show
  logic f_known = INITIAL != 0, f_reading = 1'b0;
  logic [WIDTH*DEPTH-1:0] f_words;
  assign f_words = (WIDTH * DEPTH)'(WORDS) >> (WIDTH * f_address);
  initial assume (f_word == f_words[WIDTH-1:0]);
  always @(posedge clk) begin
    assume (f_address < DEPTH);
    assume (wa < DEPTH && ra < DEPTH);
    if (we && wa == f_address) begin
      f_word  <= wd;
      f_known <= 1'b1;
    end
    if (re) begin
      f_reading  <= ra == f_address && (f_known || (forward && we && wa == ra));
      f_expected <= (forward && we && wa == ra) ? wd : f_word;
    end
    if (f_known) assert (mem[f_address] == f_word);
    if (f_reading) assert (rd == f_expected);  // it holds while `re` is low
    cover (f_reading && was_forwarded && !re);
    cover (f_reading && !was_forwarded && rd != '0);
  end
