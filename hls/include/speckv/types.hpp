// Types and constants that every process shares.
#pragma once

#define AP_INT_MAX_W 2048  // rows of one group per lane are wider than ap_int.h's default limit of 1024 bits

#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

namespace speckv {

constexpr int kBeatBytes = 64;
constexpr int kLanes = kBeatBytes / 2;  // 16-bit values in a beat

using beat_t = ap_uint<8 * kBeatBytes>;
using axis_beat = hls::axis_data<beat_t, AXIS_ENABLE_KEEP | AXIS_ENABLE_LAST>;
using axis_stream = hls::stream<axis_beat>;
using beat_stream = hls::stream<beat_t>;

using flag_t = ap_uint<1>;
using value_t = ap_uint<16>;  // the bits of one bf16 value

// Bits that hold every number from 0 to `largest`.
constexpr int bits_for(unsigned largest) { return largest < 2 ? 1 : 1 + bits_for(largest / 2); }

constexpr unsigned ceil_div(unsigned value, unsigned by) { return (value + by - 1) / by; }

inline value_t lane(const beat_t& beat, int l) { return beat.range(16 * l + 15, 16 * l); }

inline void set_lane(beat_t& beat, int l, const value_t& value) { beat.range(16 * l + 15, 16 * l) = value; }

// A whole beat of an output packet: TKEEP is all ones, TLAST as given.
inline axis_beat whole_beat(const beat_t& data, bool last) {
  axis_beat beat;
  beat.data = data;
  beat.keep = ~ap_uint<kBeatBytes>(0);
  beat.last = last;
  return beat;
}

}  // namespace speckv
