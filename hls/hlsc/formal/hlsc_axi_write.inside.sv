  // Properties of hlsc_axi_write that hold for ever: the bus rules, and that reserved room is there. The commands,
  // the producer and the consumer may do anything; the subordinate keeps the rules of axi4_write_rules.
  localparam int FP = S + 9;  // bits of a piece
  (* hierconn *) wire [F-1:0] \buffer.count ;
  (* hierconn *) wire [N-1:0] \tags.count ;
  (* hierconn *) wire [N-1:0] \pieces.count ;
  (* hierconn *) wire [N-1:0] \statuses.count ;
  (* hierconn *) wire [1:0] \requests.count ;
  (* hierconn *) wire [2*OUTSTANDING-1:0] \tags.f_items ;
  (* hierconn *) wire [2*(ADDR_WIDTH+8)-1:0] \requests.f_items ;
  (* hierconn *) wire [FP*OUTSTANDING-1:0] \pieces.f_items ;

  logic [15:0] f_addressed, f_supplied;
  axi4_write_rules #(.ADDR_WIDTH(ADDR_WIDTH), .DATA_WIDTH(DATA_WIDTH), .MAX_BURST(BURST)
`ifdef EXACT_BUS
      , .EXACT(1), .QUEUE(16)
`endif
  ) f_bus (
      .clk, .rst, .awvalid, .awready, .awaddr, .awlen, .awsize, .awburst,
      .wvalid, .wready, .wdata, .wstrb, .wlast, .bvalid, .bready, .bresp,
      .addressed(f_addressed), .supplied(f_supplied)
  );
  stream_rules #(.WIDTH(2)) f_status (
      .clk, .rst, .valid(status_valid), .ready(status_ready), .payload(status)
  );

  // sums over the queues
  logic [15:0] f_tagged, f_ends, f_writing, f_claimed;  // bursts and ends of commands in `tags`; bursts and beats in `pieces`
  always_comb begin
    f_tagged  = '0;
    f_ends    = '0;
    f_writing = '0;
    f_claimed = '0;
    for (int i = 0; i < OUTSTANDING; i++) begin
      if (i < \tags.count ) begin
        f_tagged = f_tagged + 16'(!\tags.f_items [2*i+1]);
        f_ends   = f_ends + 16'(\tags.f_items [2*i+1] || \tags.f_items [2*i]);
      end
      if (i < \pieces.count ) begin
        f_writing = f_writing + 16'(!\pieces.f_items [FP*i+8]);
        f_claimed = f_claimed + \pieces.f_items [FP*i+:8] + 1;
      end
    end
  end

  // what waits in `requests` keeps the bus rules
  for (genvar i = 0; i < 2; i++) begin : gen_f_request
    logic [ADDR_WIDTH+7:0] item;
    logic [12:0] first, beats;
    assign item  = \requests.f_items [i*(ADDR_WIDTH+8)+:ADDR_WIDTH+8];
    assign first = 13'(item[19:8]);
    assign beats = 13'(item[7:0]) + 13'd1;
    always @(posedge clk) begin
      if (!rst && i < \requests.count ) begin
        assert (beats <= 13'(BURST) && first % 13'(BYTES) == 0 && first + beats * 13'(BYTES) <= 13'd4096);
      end
    end
  end

  logic f_inside_burst = 1'b0;
  initial assume (rst);
  always @(posedge clk) begin
    f_inside_burst <= !rst && wvalid && !(wready && wlast);
    if (!rst) begin
      // a burst is in `tags` until its B, in `requests` until AW, in `pieces` until WLAST
      assert (f_addressed + 16'(\requests.count ) == f_tagged);
      assert (f_supplied + f_writing == f_tagged);
      assert (f_addressed <= f_tagged && f_supplied <= f_tagged);
      // a burst is announced only with all its data, and nothing but WREADY then delays it
      assert (16'(unclaimed) + f_claimed == 16'(\buffer.count ) + 16'(sent));
      assert (16'(unclaimed) <= 16'(BUFFER));
      assert (piece_valid ? sent <= piece_length : sent == 0);
      if (f_inside_burst) assert (wvalid);
      if (piece_valid) assert (buffered);
      // every command under way has a place for its status
      assert (16'(commands) == 16'(\statuses.count ) + f_ends + 16'(item_valid));
      assert (commands <= N'(OUTSTANDING));
      assert (!command_room || commands != N'(OUTSTANDING));
      assert (!item_valid || item_beats <= 9'(BURST));
      if (command_done) assert (status_free);
      // BREADY waits for nobody: a response is taken, or a skip that is before it leaves in this cycle
      if (f_addressed != 0 && f_supplied != 0) assert (bready || (tag_valid && tag_skip && tag_done));
      assert (f_tagged <= 16'(OUTSTANDING));
    end
    cover (!rst && f_tagged == 16'(OUTSTANDING) && f_addressed == f_tagged);
    cover (!rst && f_supplied > f_addressed);
    cover (!rst && status_valid && status_ready && status == 2'd1);
    cover (!rst && status_valid && status_ready && status == 2'd3);
    cover (!rst && piece_valid && piece_drop && sent != 0);
  end
