  // The reader's names for axi_status.sv: a burst is requested, a tag is made, a response comes, a burst ends
  logic g_issue, g_tag, g_answer, g_end;
  logic [1:0] g_code;
  assign {g_issue, g_tag, g_answer, g_end, g_code} = {request, taken, beat, beat && rlast, rresp};
