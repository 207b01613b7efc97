  // Properties of hlsc_rom
  logic f_reading = 1'b0;
  logic [ADDRESS_BITS-1:0] f_address;
  logic [WIDTH*DEPTH-1:0] f_words;
  assign f_words = WORDS >> (WIDTH * f_address);
  always @(posedge clk) begin
    assume (ra < DEPTH);
    if (re) {f_reading, f_address} <= {1'b1, ra};
    if (f_reading) assert (rd == f_words[WIDTH-1:0]);
    for (int i = 0; i < DEPTH; i++) assert (mem[i] == WORDS[WIDTH*i+:WIDTH]);
    cover (f_reading && !re && f_address == ADDRESS_BITS'(DEPTH - 1));
  end
