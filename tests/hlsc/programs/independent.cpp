// dependence dependent=false: the iteration's two accesses touch different halves, which only the author knows.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void independent(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  static unsigned ring[16];
  static bool upper;
  for (int i = 0; i < 8; i++) {
#pragma HLS pipeline II=1
#pragma HLS dependence variable=ring type=inter dependent=false
    const unsigned x = in.read();
    const unsigned old = ring[(upper ? 0 : 8) + i];
    ring[(upper ? 8 : 0) + ((x * x * old >> 7) & 7)] = x ^ old;
    out.write(old);
  }
  upper = !upper;
}
