// A load whose address comes from an earlier load of the same memory: it is late, and younger stores must wait.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void chase(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  unsigned table[8];
  for (unsigned i = 0; i < 8; i++) {
#pragma HLS pipeline II=1
    table[i] = 77 * i;
  }
  const unsigned n = in.read() & 63;
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline
    const ap_uint<32> x = in.read();
    const unsigned old = table[x & 7];
    table[x & 7] = old ^ (unsigned)x;
    const unsigned product = old * (old >> 7 | 1);
    out.write(table[(product * ((unsigned)x | 1)) >> 29]);
  }
}
