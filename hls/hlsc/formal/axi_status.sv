  // Statuses, for ever; for hlsc_axi_read and hlsc_axi_write. One command, chosen by the solver, is followed from its
  // acceptance to its status. The n-th burst that ends on the bus is the n-th that was requested; the command's
  // bursts are those requested for it. Its status comes in its turn, after all of them, and is the worst of their
  // responses; 0 for zero beats; 1 for an unaligned address.
  localparam bit [1:0] G_IDLE = 0, G_COMMAND = 1, G_TAGS = 2, G_STATUS = 3;
  (* hierconn *) wire [2*OUTSTANDING-1:0] \statuses.f_items ;
  (* anyseq *) logic g_choose;

  logic [1:0] g_stage, g_worst, g_expected;
  logic g_zero, g_unaligned, g_midway;  // midway: the splitter's command has requested bursts and will request more
  logic [7:0] g_bursts_ahead, g_own;  // unanswered bursts before its own; its own
  logic [7:0] g_statuses_ahead;  // statuses before its own, to come or waiting
  logic [7:0] g_tags_ahead;
  logic g_accept;
  assign g_accept = g_stage == G_IDLE && g_choose && command_valid && command_ready;
  assign g_expected = g_zero ? 2'd0 : g_unaligned ? 2'd1 : g_worst;

  always @(posedge clk) begin
    if (rst) begin
      g_stage  <= G_IDLE;
      g_midway <= 1'b0;
    end else begin
      if (taken) g_midway <= !item_last && !item_unaligned;
      if (g_accept) begin
        g_stage          <= G_COMMAND;
        g_zero           <= command_bytes == 0;
        g_unaligned      <= command_bytes != 0 && (command_address % BYTES) != 0;
        g_bursts_ahead   <= 8'(f_tagged) + 8'(g_issue) - 8'(g_end);
        g_own            <= '0;
        g_worst          <= '0;
        g_statuses_ahead <= 8'(commands) - 8'(status_valid && status_ready);
        g_tags_ahead     <= 8'(\tags.count ) + 8'(g_tag) - 8'(tag_done);
      end else if (g_stage != G_IDLE) begin
        if (g_bursts_ahead != 0) g_bursts_ahead <= g_bursts_ahead - 8'(g_end);
        if (g_tags_ahead != 0) g_tags_ahead <= g_tags_ahead - 8'(tag_done);
        g_own <= g_own + 8'(g_stage == G_COMMAND && g_issue) - 8'(g_bursts_ahead == 0 && g_own != 0 && g_end);
        if (g_bursts_ahead == 0 && g_own != 0 && g_answer && g_code[1] && g_code > g_worst) g_worst <= g_code;
        g_statuses_ahead <= g_statuses_ahead - 8'(status_valid && status_ready);
        if (g_stage == G_COMMAND && taken && item_last) g_stage <= G_TAGS;
        if (g_stage == G_TAGS && g_tags_ahead == 0 && command_done) g_stage <= G_STATUS;
        if (g_statuses_ahead == 0 && status_valid && status_ready) g_stage <= G_IDLE;
      end
    end
  end

  // what is claimed
  always @(posedge clk) begin
    if (!rst && g_stage != G_IDLE && status_valid && g_statuses_ahead == 0) begin
      assert (g_stage == G_STATUS && g_own == 0 && status == g_expected);
    end
    cover (!rst && g_stage == G_STATUS && g_statuses_ahead == 0 && g_expected == 2'd2);
    cover (!rst && g_stage == G_TAGS && g_own == 2 && g_bursts_ahead == 1);
  end

  // what is in `tags`
  logic [7:0] g_bursts_before, g_ends_before, g_end_index;
  logic g_found, g_last_ends, g_order;
  logic [1:0] g_tag_now, g_before_own;
  always_comb begin
    g_bursts_before = '0;
    g_ends_before   = '0;
    g_end_index     = '0;
    g_found         = 1'b0;
    g_last_ends     = 1'b1;  // the newest tag ends its command
    g_order         = 1'b1;  // a skip follows the end of a command
    g_before_own    = 2'b11;
    for (int i = 0; i < OUTSTANDING; i++) begin
      g_tag_now = \tags.f_items [2*i+:2];
      if (i < \tags.count ) begin
        if (g_tag_now[1] && !g_last_ends) g_order = 1'b0;
        g_last_ends = g_tag_now != 0;
        if (i < g_tags_ahead) begin
          g_bursts_before = g_bursts_before + 8'(!g_tag_now[1]);
          g_ends_before   = g_ends_before + 8'(g_tag_now != 0);
          g_before_own    = g_tag_now;
        end else if (!g_found && g_tag_now != 0) begin
          g_found     = 1'b1;
          g_end_index = i;
        end
      end
    end
  end
  always @(posedge clk) begin
    if (!rst) begin
      assert (!g_midway || (item_valid && !item_skip && !item_unaligned));
      assert (g_last_ends || g_midway);
      assert (g_order);
      if (\tags.count == 0) assert (worst == 0 || g_midway);
      else if (\tags.f_items [1]) assert (worst == 0);
      assert (worst != 2'd1);
      if (g_stage == G_COMMAND || g_stage == G_TAGS) begin
        assert (g_tags_ahead <= 8'(\tags.count ));
        assert (g_bursts_ahead == g_bursts_before);
        assert (g_statuses_ahead == 8'(\statuses.count ) + g_ends_before);
        assert (g_before_own != 0);
        assert (g_worst == (g_tags_ahead == 0 ? worst : 2'd0));
        assert (!g_zero || !g_unaligned);
      end
      if (g_stage == G_COMMAND) begin
        assert (item_valid && !g_found && g_own == 8'(\tags.count ) - g_tags_ahead);
        assert (item_unaligned == g_unaligned && (item_skip || !g_zero) && (!item_skip || g_zero || g_unaligned));
        assert (!g_zero && !g_unaligned || g_own == 0);
      end
      if (g_stage == G_TAGS) begin
        assert (g_found);
        if (g_zero || g_unaligned) begin
          assert (g_end_index == g_tags_ahead && g_own == 0);
          assert (2'(\tags.f_items >> (2 * g_end_index)) == {1'b1, g_unaligned});
        end else begin
          assert (g_own == g_end_index - g_tags_ahead + 8'd1);
          assert (2'(\tags.f_items >> (2 * g_end_index)) == 2'b01);
        end
      end
      if (g_stage == G_STATUS) begin
        assert (g_own == 0 && g_statuses_ahead < 8'(\statuses.count ));
        assert (2'(\statuses.f_items >> (2 * g_statuses_ahead)) == g_expected);
      end
    end
  end
