// Local arrays with initial values, constant and computed, indexed by data: LLVM writes several elements at once.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

struct pair {
  unsigned short low, high;
};

void initialised_arrays(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  const unsigned x = in.read(), y = in.read();
  unsigned two[2] = {5, 7};
  unsigned four[4] = {5, x, 9, y};
  unsigned char bytes[3] = {1, 200, 3};
  short signs[5] = {-1, 2, -300, 4};
  ap_uint<37> wide[2] = {1, x};
  ap_int<5> narrow[4] = {-1, -16, 15, 3};
  pair pairs[2] = {{1, 2}, {3, (unsigned short)y}};
  bool flags[4] = {true, false, true, true};
  two[x & 1] += y;
  four[(x >> 1) & 3] ^= 0xff;
  bytes[(x >> 3) & 1] += x;
  signs[(x >> 4) & 3] -= 7;
  wide[(x >> 6) & 1] <<= 7;
  narrow[(x >> 7) & 3] += 2;
  pairs[(x >> 9) & 1].high += 5;
  flags[(x >> 10) & 3] = y & 1;
  out.write(two[y & 1]);
  out.write(four[(y >> 1) & 3]);
  out.write(bytes[(y >> 3) & 1] + 256 * bytes[(y >> 4) & 1]);
  out.write(signs[(y >> 5) & 3]);
  out.write((unsigned)(wide[(y >> 7) & 1] >> 5));
  out.write((int)narrow[(y >> 8) & 3]);
  out.write(pairs[(y >> 10) & 1].high + 65536u * pairs[(y >> 11) & 1].low);
  out.write(flags[(y >> 12) & 3]);
}
