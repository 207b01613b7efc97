// Arrays of which only every third or hundredth element is used, the last one too.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

static const unsigned char STEPS[16] = {3, 0, 0, 14, 0, 0, 15, 0, 0, 92, 0, 0, 65, 0, 0, 35};
static const unsigned char ENDS[128] = {9,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17,
                                        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35,
                                        36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53,
                                        54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71,
                                        72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89,
                                        90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 177};

void strided(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  ap_uint<17> kept[20];
  for (unsigned i = 0; i < 7; i++) kept[3 * i] = i;
  unsigned long last = 100;
  const unsigned n = in.read() & 7;
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline II=1
    const ap_uint<32> x = in.read();
    const unsigned long at = (unsigned)x % 6u;
    kept[3 * (at + 1)] = kept[3 * ((unsigned)(x >> 8) % 7u)] + x;
    last = 0;
    out.write(ap_uint<32>(kept[3 * at]) ^ (STEPS[3 * at] << 20));
  }
  out.write(ENDS[last]);
}
