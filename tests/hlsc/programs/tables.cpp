// Arrays of two dimensions, of structures of which a condition chooses the element, in several kinds of RAM; a ROM.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

struct tables_cell {
  unsigned total;
  ap_uint<5> seen;
  ap_int<53> last;
};

static const unsigned short PRIMES[100] = {
    2,   3,   5,   7,   11,  13,  17,  19,  23,  29,  31,  37,  41,  43,  47,  53,  59,  61,  67,  71,
    73,  79,  83,  89,  97,  101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173,
    179, 181, 191, 193, 197, 199, 211, 223, 227, 229, 233, 239, 241, 251, 257, 263, 269, 271, 277, 281,
    283, 293, 307, 311, 313, 317, 331, 337, 347, 349, 353, 359, 367, 373, 379, 383, 389, 397, 401, 409,
    419, 421, 431, 433, 439, 443, 449, 457, 461, 463, 467, 479, 487, 491, 499, 503, 509, 521, 523, 541};

void tables(hls::stream<ap_uint<64>>& in, hls::stream<ap_uint<64>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  tables_cell cells[4];
  ap_uint<18> grid[4][8];
#pragma HLS bind_storage variable=grid type=ram_s2p impl=lutram
  ap_uint<33> line[16];
#pragma HLS bind_storage variable=line type=ram_2p impl=bram
  for (unsigned i = 0; i < 4; i++) {
    cells[i].total = i;
    cells[i].seen = 3 * i;
    cells[i].last = -1;
    for (unsigned j = 0; j < 8; j++) grid[i][j] = 8 * i + j;
  }
  for (unsigned i = 0; i < 16; i++) line[i] = i;
  const unsigned n = in.read() & 31;
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline
    const ap_uint<64> x = in.read();
    const unsigned row = x & 3, column = (x >> 2) & 7;
    grid[row][column] = grid[(x >> 5) & 3][column ^ 1] + 1;
    cells[row].total += (unsigned)(x >> 32);
    cells[x[40] ? 1 : 0].seen = cells[row].seen + 1;
    cells[x[41] ? 3 : 0].last = ap_int<53>(x);
    line[column] = line[column + 8] + line[(x >> 8) & 15];
    line[column + 8] = ap_uint<33>(x >> 7);
    const ap_uint<53> last = cells[(x >> 12) & 3].last;
    const ap_uint<32> sums = cells[(x >> 14) & 3].total + PRIMES[(unsigned)(x >> 20) % 100u];
    out.write(ap_uint<64>(last ^ sums) ^ (ap_uint<64>(cells[row ^ 1].seen) << 59) ^ (ap_uint<64>(grid[row][column]) << 30));
  }
  for (unsigned i = 0; i < 16; i++) out.write(line[i]);
}
