  // Properties of hlsc_widen: the word at every place of a wide word is the one that came at that place, or zeros.
  (* anyconst *) logic [I-1:0] f_place;  // followed; any of the COUNT
  initial assume (32'(f_place) < COUNT);

  logic [15:0] f_count;  // words of the wide word that is being made, or that waits
  logic f_ended, f_seen, f_accepted, f_left, f_begins;  // it is complete; its word at f_place came
  logic [15:0] f_before;  // words of it before the one that comes
  logic [WIDTH-1:0] f_value, f_shown;
  assign f_accepted = in_valid && in_ready;
  assign f_left     = out_valid && out_ready;
  assign f_begins   = f_ended || f_count == 0;
  assign f_before   = f_begins ? '0 : f_count;
  assign f_shown    = out_data[WIDTH*f_place+:WIDTH];

  stream_rules #(.WIDTH(WIDTH * COUNT)) f_out (
      .clk, .rst, .valid(out_valid), .ready(out_ready), .payload(out_data)
  );

  initial assume (rst);
  always @(posedge clk) begin
    if (rst) begin
      f_count <= '0;
      f_ended <= 1'b0;
    end else if (f_accepted) begin
      f_count <= f_before + 1'b1;
      f_ended <= in_last || f_before == 16'(COUNT - 1);
      f_seen  <= (f_seen && !f_begins) || f_before == 16'(f_place);
      if (f_before == 16'(f_place)) f_value <= in_data;
    end else if (f_left) begin
      f_count <= '0;
      f_ended <= 1'b0;
    end
    if (!rst) begin
      assert (f_count <= COUNT && (f_ended || f_count < COUNT));
      assert (f_ended ? place == '0 : 16'(place) == f_count);
      assert (out_valid == f_ended);
      // a word is refused only while a wide one waits
      assert (in_ready == (!out_valid || out_ready));
      if (f_count != 0) begin
        assert (f_seen == (16'(f_place) < f_count));
        assert (f_shown == (f_seen ? f_value : '0));
      end
    end
    cover (!rst && f_left && f_count == COUNT && f_accepted);
    cover (!rst && f_left && f_count == 1 && f_value == '1);
  end
