// A load of the address that the same iteration has just stored, whose address and data are late.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void store_then_load(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  unsigned table[4];
  for (unsigned i = 0; i < 4; i++) {
#pragma HLS pipeline II=1
    table[i] = 77 * i;
  }
  const unsigned n = in.read() & 63;
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline
    const ap_uint<32> x = in.read();
    const unsigned product = (unsigned)x * 0x9e3779b1u;
    const unsigned slow = ((product ^ (product >> 16)) * ((unsigned)x | 1)) >> 30;
    table[slow] = product;
    out.write(table[x & 3]);
  }
}
