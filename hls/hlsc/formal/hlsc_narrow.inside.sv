  // Properties of hlsc_narrow: a command's words are those of its wide words in order, as many as its bytes need.
  stream_rules #(.WIDTH(LENGTH_WIDTH), .CHECK(0)) f_command (
      .clk, .rst, .valid(command_valid), .ready(command_ready), .payload(command_bytes)
  );
  stream_rules #(.WIDTH(WIDTH * COUNT), .CHECK(0)) f_in (
      .clk, .rst, .valid(in_valid), .ready(in_ready), .payload(in_data)
  );
  stream_rules #(.WIDTH(LENGTH_WIDTH)) f_writer (
      .clk, .rst, .valid(writer_valid), .ready(writer_ready), .payload(command_bytes)
  );
  stream_rules #(.WIDTH(WIDTH)) f_out (.clk, .rst, .valid(out_valid), .ready(out_ready), .payload(out_data));

  localparam int F_BYTES = WIDTH / 8;
  logic [LENGTH_WIDTH:0] f_words, f_sent;  // of the command under way; how many of them have passed
  logic f_passes, f_frees;  // a word passes, and with it the last that is wanted of a wide word
  assign f_passes = out_valid && out_ready;
  assign f_frees  = f_passes && (f_sent + 1'b1 == f_words || f_sent % COUNT == COUNT - 1);

  initial assume (rst);
  always @(posedge clk) begin
    if (rst) begin
      f_words <= '0;
      f_sent  <= '0;
    end else if (command_valid && command_ready) begin
      f_words <= ((LENGTH_WIDTH + 1)'(command_bytes) + F_BYTES - 1) / F_BYTES;
      f_sent  <= '0;
    end else if (f_passes) begin
      f_sent <= f_sent + 1'b1;
    end
    if (!rst) begin
      assert ((LENGTH_WIDTH + 1)'(left) == f_words - f_sent && f_sent <= f_words);
      assert ((LENGTH_WIDTH + 1)'(place) == (f_sent == f_words ? '0 : f_sent % COUNT));
      // the writer gets every command, once, and no word before it
      assert ((command_valid && command_ready) == (writer_valid && writer_ready));
      assert (writer_valid == (command_valid && f_sent == f_words));
      assert (out_valid == (in_valid && f_sent != f_words));
      if (out_valid) assert (out_data == WIDTH'(in_data >> (WIDTH * (f_sent % COUNT))));
      assert ((in_valid && in_ready) == f_frees);
    end
    cover (!rst && f_frees && f_sent % COUNT == 1 && f_sent > COUNT);
    cover (!rst && command_valid && command_ready && command_bytes == '0);
  end
