  // Properties of hlsc_axi_read that hold for ever: the bus rules, and that reserved room is there. The commands and
  // the consumers may do anything; the subordinate keeps the rules of axi4_read_rules.
  (* hierconn *) wire [F-1:0] \buffer.count ;
  (* hierconn *) wire [N-1:0] \tags.count ;
  (* hierconn *) wire [N-1:0] \statuses.count ;
  (* hierconn *) wire [1:0] \requests.count ;
  (* hierconn *) wire [2*OUTSTANDING-1:0] \tags.f_items ;
  (* hierconn *) wire [2*(ADDR_WIDTH+8)-1:0] \requests.f_items ;

  logic [15:0] f_bursts, f_beats;
  axi4_read_rules #(.ADDR_WIDTH(ADDR_WIDTH), .DATA_WIDTH(DATA_WIDTH), .MAX_BURST(BURST)
`ifdef EXACT_BUS
      , .EXACT(1), .QUEUE(8)
`endif
  ) f_bus (
      .clk, .rst, .arvalid, .arready, .araddr, .arlen, .arsize, .arburst,
      .rvalid, .rready, .rdata, .rlast, .rresp, .bursts(f_bursts), .beats(f_beats)
  );
  stream_rules #(.WIDTH(DATA_WIDTH + 1)) f_data (
      .clk, .rst, .valid(data_valid), .ready(data_ready), .payload({data, data_last})
  );
  stream_rules #(.WIDTH(2)) f_status (
      .clk, .rst, .valid(status_valid), .ready(status_ready), .payload(status)
  );

  // sums over the queues
  logic [15:0] f_requested, f_tagged, f_ends;  // beats in `requests`; bursts and ends of commands in `tags`
  always_comb begin
    f_requested = '0;
    f_tagged    = '0;
    f_ends      = '0;
    for (int i = 0; i < 2; i++) begin
      if (i < \requests.count ) f_requested = f_requested + \requests.f_items [i*(ADDR_WIDTH+8)+:8] + 1;
    end
    for (int i = 0; i < OUTSTANDING; i++) begin
      if (i < \tags.count ) begin
        f_tagged = f_tagged + 16'(!\tags.f_items [2*i+1]);
        f_ends   = f_ends + 16'(\tags.f_items [2*i+1] || \tags.f_items [2*i]);
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

  logic f_was_reset = 1'b0;
  initial assume (rst);
  always @(posedge clk) begin
    f_was_reset <= rst;
    if (!rst) begin
      // every burst has a tag until its end; every requested beat has a place until it leaves
      assert (f_bursts + 16'(\requests.count ) == f_tagged);
      assert (f_bursts <= f_beats && f_beats <= 16'(BUFFER) && free <= F'(BUFFER));
      assert ((f_bursts == 0) == (f_beats == 0));
      assert (16'(free) + 16'(\buffer.count ) + f_beats + f_requested == 16'(BUFFER));
      assert (f_was_reset || room == (free >= F'(BURST)));
      assert (!room || free >= F'(BURST));
      // every command under way has a place for its status
      assert (16'(commands) == 16'(\statuses.count ) + f_ends + 16'(item_valid));
      assert (commands <= N'(OUTSTANDING));
      assert (!command_room || commands != N'(OUTSTANDING));
      assert (!item_valid || (item_beats <= 9'(BURST) && (!item_unaligned || item_skip)));
      // RREADY waits for nobody: a burst's beats are taken, or a skip that is before it leaves in this cycle
      if (f_beats != 0) assert (rready || (tag_valid && tag_skip && tag_done));
      if (beat) assert (buffer_free);
      if (command_done) assert (status_free);
      assert (f_tagged <= 16'(OUTSTANDING));
    end
    cover (!rst && f_bursts == 16'(OUTSTANDING));
    cover (!rst && \buffer.count == F'(BUFFER));
    cover (!rst && status_valid && status_ready && status == 2'd1);
    cover (!rst && status_valid && status_ready && status == 2'd3);
    cover (!rst && data_valid && data_ready && data_last && \tags.count == N'(OUTSTANDING));
  end
