// array_partition by cyclic, block and single dimensions; indices that choose the bank by data and at compile time.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void banks(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  unsigned cyclic[26], block[30];
  unsigned grid[6][8], rows[5][4], cells[4][4];
#pragma HLS array_partition variable=cyclic cyclic factor=4
#pragma HLS array_partition variable=block type=block factor=4
#pragma HLS array_partition variable=grid type=cyclic factor=2 dim=2
#pragma HLS array_partition variable=rows complete dim=1
#pragma HLS array_partition variable=cells complete dim=2
  for (int i = 0; i < 30; i++) {
#pragma HLS pipeline II=1
    const unsigned x = in.read();
    if (i < 26) cyclic[i] = x;
    block[i] = x * 3;
    if (i < 20) rows[i >> 2][i & 3] = x ^ i;
    if (i < 16) cells[i >> 2][i & 3] = x + i;
  }
  for (int i = 0; i < 48; i++) grid[i >> 3][i & 7] = 77 * i;
  for (int i = 0; i < 24; i += 4) {
#pragma HLS pipeline II=1
    out.write(cyclic[i] + 2 * cyclic[i + 1] + 3 * cyclic[i + 2] + 4 * cyclic[i + 3]);
  }
  for (int k = 0; k < 20; k++) {
#pragma HLS pipeline II=1
    const ap_uint<32> x = in.read();
    const unsigned c = x.range(4, 0) % 26, b = x.range(9, 5) % 30, r = x.range(14, 10) % 20, g = x.range(19, 15) % 6;
    cyclic[c] += b;
    block[b] ^= cyclic[c];
    rows[r >> 2][r & 3] += x;
    grid[g][x.range(22, 20)] += rows[4 - (r >> 2)][r & 3];
    cells[x.range(24, 23)][x.range(26, 25)]++;
    out.write(block[29 - b] + grid[5 - g][x.range(22, 20)] + cells[x.range(28, 27)][x.range(30, 29)]);
  }
}
