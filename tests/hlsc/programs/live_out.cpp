// Values that leave a loop, cross others untouched and meet at the end.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void live_out(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  const ap_uint<32> head = in.read();
  const unsigned n = 1 + (head & 15);
  unsigned best = 0, where = 0, last = 0;
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline II=1
    const unsigned x = in.read();
    if (x >= best) {
      best = x;
      where = i;
    }
    last = x;
  }
  unsigned product = head;
  for (unsigned i = 0; i < where; i++) {
#pragma HLS pipeline
    product = product * last + best;
  }
  unsigned shifted = best;
  for (unsigned i = 0; i < (head >> 28); i++) {
#pragma HLS pipeline II=1
    shifted = (shifted >> 1) ^ (last + i);
  }
  out.write(product);
  out.write(shifted + where);
  out.write(head + n);
}
