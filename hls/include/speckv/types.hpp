// Types and constants that every process shares.
#pragma once

#define AP_INT_MAX_W 2048  // rows of one group per lane are wider than ap_int.h's default limit of 1024 bits

#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

namespace speckv {

constexpr int kBeatBytes = 64;
constexpr int kLanes = kBeatBytes / 2;  // 16-bit values in a beat
constexpr int kWordBytes = 4;

using beat_t = ap_uint<8 * kBeatBytes>;
using axis_beat = hls::axis_data<beat_t, AXIS_ENABLE_KEEP | AXIS_ENABLE_LAST>;
using axis_stream = hls::stream<axis_beat>;
using beat_stream = hls::stream<beat_t>;

using flag_t = ap_uint<1>;
using value_t = ap_uint<16>;  // the bits of one bf16 value

// Bits that hold every number from 0 to `largest`.
constexpr int bits_for(unsigned largest) { return largest < 2 ? 1 : 1 + bits_for(largest / 2); }

// Beats of a page of design D.
template <class D>
using page_count_t = ap_uint<bits_for(D::max_page_beats)>;

constexpr unsigned ceil_div(unsigned value, unsigned by) { return (value + by - 1) / by; }

inline value_t lane(const beat_t& beat, int l) { return beat.range(16 * l + 15, 16 * l); }

inline void set_lane(beat_t& beat, int l, const value_t& value) { beat.range(16 * l + 15, 16 * l) = value; }

// The low bytes of all lanes, side by side.
inline ap_uint<8 * kLanes> low_bytes(const beat_t& beat) {
  ap_uint<8 * kLanes> bytes;
byte_lanes:
  for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
    bytes.range(8 * l + 7, 8 * l) = beat.range(16 * l + 7, 16 * l);
  }
  return bytes;
}

// Item number `index` of a row of items, as a tree of multiplexers. `Count` is a power of two.
template <int Count, int ItemBits>
ap_uint<ItemBits> pick(const ap_uint<Count * ItemBits>& row, const ap_uint<bits_for(Count - 1)>& index) {
  ap_uint<Count * ItemBits> left = row;
pick_halves:
  for (int half = Count / 2; half > 0; half /= 2) {
#pragma HLS unroll
    const ap_uint<Count * ItemBits> upper = left >> (half * ItemBits);
    left = (index & half) != 0 ? upper : left;
  }
  return left;
}

// `row` with `item` as item number `index`, and zeros for all others if it is the `first`: a multiplexer for each place,
// and no place waits for another.
template <int Count, int ItemBits>
ap_uint<Count * ItemBits> placed(const ap_uint<Count * ItemBits>& row, const ap_uint<bits_for(Count - 1)>& index,
                                 const ap_uint<ItemBits>& item, bool first) {
  ap_uint<Count * ItemBits> result = 0;
places:
  for (int i = 0; i < Count; ++i) {
#pragma HLS unroll
    const int low = ItemBits * i, high = ItemBits * (i + 1) - 1;
    const ap_uint<ItemBits> before = row.range(high, low);
    result.range(high, low) = index == i ? item : first ? ap_uint<ItemBits>(0) : before;
  }
  return result;
}

// A whole beat of an output packet: TKEEP is all ones, TLAST as given.
inline axis_beat whole_beat(const beat_t& data, bool last) {
  axis_beat beat;
  beat.data = data;
  beat.keep = ~ap_uint<kBeatBytes>(0);
  beat.last = last;
  return beat;
}

}  // namespace speckv
