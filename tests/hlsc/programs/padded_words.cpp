// Words of odd widths: memories hold them without the bits that C++ pads, also where words move between arrays.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void padded_words(hls::stream<ap_uint<64>>& in, hls::stream<ap_uint<64>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  ap_uint<37> first[16], second[16];
  ap_int<21> signs[16];
  ap_uint<70> wide[16];
  for (int i = 0; i < 16; i++) {
#pragma HLS pipeline II=1
    const ap_uint<64> x = in.read();
    first[i] = x;
    signs[i] = x >> 37;
    wide[i] = (x, ap_uint<6>(i));
  }
  for (int i = 0; i < 16; i++) second[i] = first[15 - i];
  for (int i = 0; i < 16; i++) {
#pragma HLS pipeline II=1
    const ap_uint<64> x = in.read();
    const unsigned at = x & 15, to = (x >> 4) & 15;
    second[at] += x;
    signs[to] -= signs[at];
    wide[to] ^= wide[at] << 3;
    out.write((second[to], ap_uint<27>(signs[to])));
    out.write(wide[to] >> 6);
  }
}
