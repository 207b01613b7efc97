// Up to three streams are read in one iteration, each under its own condition.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void conditional_reads(hls::stream<ap_uint<8>>& select, hls::stream<ap_uint<32>>& a,
                       hls::stream<ap_uint<32>>& b, hls::stream<ap_uint<64>>& c,
                       hls::stream<ap_uint<64>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=select
#pragma HLS interface mode=axis port=a
#pragma HLS interface mode=axis port=b
#pragma HLS interface mode=axis port=c
#pragma HLS interface mode=axis port=out
  const unsigned n = 1 + (select.read() & 31);
  ap_uint<64> state = 1;
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline
    const ap_uint<8> s = select.read();
    ap_uint<64> x = s;
    if (s[0]) x += a.read();
    if (s[1]) x ^= ap_uint<64>(b.read()) << 17;
    if (s[2]) x -= c.read();
    state = (state << 1) ^ x;
    if (s[3]) out.write(state);
  }
}
