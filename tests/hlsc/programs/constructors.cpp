// Variables whose initial values constructors and functions compute: constant tables and state.
#include "ap_int.h"
#include "hls_stream.h"

struct powers {
  ap_uint<70> v[8];
  powers() {
    v[0] = 3;
    for (int i = 1; i < 8; i++) v[i] = v[i - 1] * 219;
  }
};
struct counter {
  unsigned n;
  unsigned char step;
  counter() : n(7), step(9) {
    for (int i = 0; i < 5; i++)
      for (int j = 0; j < 3; j++) n += i * j;
  }
};
template <int N> struct triangle {
  static unsigned n;
  static unsigned sum() {
    unsigned s = 0;
    for (int i = 0; i < N; i++) s += i;
    return s;
  }
};
template <int N> unsigned triangle<N>::n = triangle<N>::sum();

static const powers table;
inline const powers shared;
static counter counters[5];

static unsigned mix(unsigned x) {
  counters[x % 5].n += counters[x % 5].step;
  return counters[x % 5].n ^ (unsigned)table.v[x & 7].range(50, 19) ^ (unsigned)(shared.v[(x >> 3) & 7] & 0xffff);
}

void constructors(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
#pragma HLS interface mode=ap_ctrl_none port=return
  const unsigned x = in.read();
  out.write(mix(x) + triangle<12>::n);
  triangle<12>::n++;
}
