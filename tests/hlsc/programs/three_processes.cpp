// A chain with a bypass: the middle process filters, the last one merges both paths.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void three_processes_filter(hls::stream<ap_uint<64>>& in, hls::stream<ap_uint<64>>& kept,
                            hls::stream<ap_uint<1>>& flags) {
  for (unsigned i = 0; i < 16; i++) {
#pragma HLS pipeline II=1 rewind
    const ap_uint<64> x = in.read();
    const bool keep = x[0] || i == 15;
    flags.write(keep);
    ap_uint<64> marked = x;
    marked[1] = i == 15;
    if (keep) kept.write(marked);
  }
}

void three_processes_work(hls::stream<ap_uint<64>>& kept, hls::stream<ap_uint<96>>& worked) {
  bool more = true;
  while (more) {
    const ap_uint<64> x = kept.read();
    ap_uint<96> y = x;
    for (unsigned i = 0; i < (unsigned)(x & 3); i++) {
#pragma HLS pipeline
      y = y * 13 + i;
    }
    worked.write(y);
    more = !x[1];
  }
}

void three_processes_merge(hls::stream<ap_uint<96>>& worked, hls::stream<ap_uint<1>>& flags,
                           hls::stream<ap_uint<64>>& out) {
  for (unsigned i = 0; i < 16; i++) {
#pragma HLS pipeline II=1 rewind
    if (flags.read() != 0) out.write(worked.read() >> i);
    else out.write(i);
  }
}

void three_processes(hls::stream<ap_uint<64>>& in, hls::stream<ap_uint<64>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
#pragma HLS dataflow
  hls::stream<ap_uint<64>> kept("kept");
#pragma HLS stream variable=kept depth=8
  hls::stream<ap_uint<1>> flags("flags");
#pragma HLS stream variable=flags depth=64
  hls::stream<ap_uint<96>> worked("worked");
#pragma HLS stream variable=worked depth=2
  three_processes_filter(in, kept, flags);
  three_processes_work(kept, worked);
  three_processes_merge(worked, flags, out);
}
