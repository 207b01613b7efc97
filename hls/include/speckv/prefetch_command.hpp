// Commands and results of hls/prefetch.md: where their fields are and what their values mean.
#pragma once

#include "crc32c.hpp"
#include "header.hpp"

namespace speckv {
namespace command {

using header::Field;
using op = Field<0, 1>;
using limit = Field<2, 2>;
using weight = Field<4, 4>;
using key = Field<8, 8>;
using page = Field<16, 4>;
using cookie = Field<24, 8>;

}  // namespace command

namespace prediction {

using header::Field;
using cookie = Field<0, 8>;
using status = Field<8, 1>;
using count = Field<9, 1>;
using filtered = Field<10, 1>;
using score = Field<12, 4>;

}  // namespace prediction

constexpr int kCommandBits = 256;
constexpr int kMaxWays = 16;  // pages of a result
constexpr int kPagesAt = 128, kPageBits = 24;

enum PrefetchOp : unsigned {
  kNop = 0,
  kTouch = 1,
  kDecay = 2,
  kPredict = 3,
  kResident = 4,
  kEvict = 5,
  kClear = 6,
  kClearAll = 7,
  kCorrupt = 8,
  kWipe = 9,  // inside the kernel: what CLEAR_ALL becomes for each row and bit
};
using prefetch_op_t = ap_uint<4>;

enum PredictStatus : unsigned { kPredicted = 0, kMiss = 1, kBadLimit = 2 };

using table_key_t = ap_uint<64>;

template <class D>
using table_row_t = ap_uint<bits_for(D::rows - 1)>;
template <class D>
using table_page_t = ap_uint<D::page_bits>;
template <class D>
using score_t = ap_uint<D::score_bits>;
using ways_t = ap_uint<bits_for(kMaxWays)>;

// So many rows may have been written that a row read from the table does not show yet: see `rank`.
constexpr int kRowsBehind = 5;

// One command, checked. The order that is `last` ends the run and does nothing.
template <class D>
struct Order {
  prefetch_op_t op;
  table_row_t<D> row;
  table_key_t key;
  table_page_t<D> page;
  ap_uint<D::score_bits + 1> weight;  // of a touch at most the greatest score, of a prediction one more
  ways_t limit;                       // 0: BAD_LIMIT
  offset_t cookie;
  flag_t same_key;               // as the order before
  ap_uint<kRowsBehind> same_row;  // bit i: as that of the order i + 1 before
  flag_t same_row_copy;          // bit 0 of it again, for half of the many multiplexers that it drives
  flag_t last;
  flag_t unreadable;  // of the last one: control memory failed
};

// The low bits of the CRC-32C of a key's 8 bytes: the last ones of a beat whose register, until then, is all ones.
template <class D>
table_row_t<D> row_of(const table_key_t& key) {
  const table_key_t message = key ^ table_key_t(kCrcStart);
  table_row_t<D> row;
row_bits:
  for (int bit = 0; bit < table_row_t<D>::width; ++bit) {
#pragma HLS unroll
    const table_key_t chosen = message & table_key_t(detail::kCrcSelection.select[bit][7]);
    row[bit] = !chosen.xor_reduce();
  }
  return row;
}

}  // namespace speckv
