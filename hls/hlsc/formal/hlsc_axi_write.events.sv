  // The writer's names for axi_status.sv: a burst is requested, a tag is made, a response comes, a burst ends
  logic g_issue, g_tag, g_answer, g_end;
  logic [1:0] g_code;
  assign g_issue  = taken && !item_skip && !item_unaligned;
  assign g_tag    = taken && (item_last || !item_unaligned);
  assign g_answer = bvalid && bready;
  assign g_end    = g_answer;
  assign g_code   = bresp;
