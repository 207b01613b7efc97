// Constant tables, one looked up by data, one by a counter, one of ap_int.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

static const unsigned short SQUARES[32] = {0,   1,   4,   9,   16,  25,  36,  49,  64,  81,  100,
                                           121, 144, 169, 196, 225, 256, 289, 324, 361, 400, 441,
                                           484, 529, 576, 625, 676, 729, 784, 841, 900, 961};
static const unsigned char STEP[4] = {7, 11, 13, 200};
static const int SIGNED[8] = {-1, 5, -100000, 0, 3, -7, 99, 2147483};

void rom(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  const unsigned n = in.read() & 63;
  int sum = 0;
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline II=1
    const ap_uint<32> x = in.read();
    sum += SIGNED[(x >> 5) & 7];
    out.write((unsigned)SQUARES[x & 31] * 3 + STEP[i & 3] + (unsigned)sum);
  }
}
