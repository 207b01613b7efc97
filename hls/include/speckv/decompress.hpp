// kv_decompress: frame in, raw page and answer out.
//
//   inspect ─> admit ─ payload ─> decode ─ page ─> deliver
//                 └─ header, verdict ─────────────────┘
#pragma once

#include "admit.hpp"
#include "cursor.hpp"
#include "int8.hpp"

namespace speckv {

constexpr int kWordsPerRow = 2;  // parameter beats that make a row of one group per lane

// Loads a page's parameters, then turns payload beats into page beats: one each (raw), or two each (int8).
template <class D>
void decode(hls::stream<Plan<D>>& plans, beat_stream& payload, hls::stream<ap_uint<bits_for(D::max_page_beats)>>& counts,
            beat_stream& page, hls::stream<flag_t>& valid) {
  beat_t low_half[D::max_rows], high_half[D::max_rows];  // groups 32 r ... + 15, and + 16 ... + 31
  Plan<D> plan;
  plan.int8 = 0;
  plan.values = 0;
  plan.blocks = 0;
  ap_uint<bits_for(D::max_groups)> unloaded = 0;  // groups still to load
  ap_uint<bits_for(D::max_param_beats)> loaded = 0;
  ap_uint<bits_for(D::max_page_beats)> left = 0;
  Cursor<D> at;
  ap_uint<8 * kLanes> half = 0;  // codes of the next beat
  bool odd = false;              // `half` is to be used
  bool all_valid = true;
  bool first = true;
decode_beats:  // II = 1: one beat of the page per cycle, after its parameters
  do {
#pragma HLS pipeline II=1 rewind
    const bool load = !first && unloaded != 0;
    const bool step = !first && unloaded == 0;
    beat_t beat = 0;
    if (load || (step && !odd)) beat = payload.read();

    if (first) {
      plan = plans.read();
      unloaded = plan.groups;
      left = plan.raw_beats;
      counts.write(plan.raw_beats);
    }
    if (load) {
      beat_t words = beat;
    check_groups:
      for (int i = 0; i < kBeatBytes / 4; ++i) {
#pragma HLS unroll
        const value_t lo = beat.range(32 * i + 15, 32 * i), scale = beat.range(32 * i + 31, 32 * i + 16);
        const bool bad = !valid_parameters(lo, scale);
        if (bad) words.range(32 * i + 31, 32 * i) = 0;
        if (bad && unloaded > i) all_valid = false;
      }
      if (loaded[0])
        high_half[loaded / kWordsPerRow] = words;
      else
        low_half[loaded / kWordsPerRow] = words;
      loaded += 1;
      unloaded = unloaded > kGroupsPerBeat ? ap_uint<bits_for(D::max_groups)>(unloaded - kGroupsPerBeat)
                                           : ap_uint<bits_for(D::max_groups)>(0);
    }
    if (step) {
      const beat_t low = low_half[at.row(plan)], high = high_half[at.row(plan)];
      ap_uint<32> shared = 0;  // V: the group's parameters
    select_group:
      for (int i = 0; i < kLanes; ++i) {
#pragma HLS unroll
        const beat_t& from = i < kLanes / 2 ? low : high;
        if (at.row_lane() == i) shared = from.range(32 * (i % 16) + 31, 32 * (i % 16));
      }
      const ap_uint<8 * kLanes> codes = odd ? half : ap_uint<8 * kLanes>(beat.range(255, 0));
      beat_t values = 0;
    decode_lanes:
      for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
        const beat_t& from = l < kLanes / 2 ? low : high;
        const ap_uint<32> own = from.range(32 * (l % 16) + 31, 32 * (l % 16));
        const ap_uint<32> parameters = plan.values ? shared : own;
        const value_t lo = parameters.range(15, 0), scale = parameters.range(31, 16);
        set_lane(values, l, dequantize_value(codes.range(8 * l + 7, 8 * l), lo, scale));
      }
      page.write(plan.int8 ? values : beat);
      left -= 1;
      if (!odd) half = beat.range(511, 256);
      odd = plan.int8 && !odd;
      at.advance(plan);
    }
    first = false;
    if (unloaded == 0 && left == 0) valid.write(all_valid);
  } while (unloaded != 0 || left != 0);
}

// Sends the page, then the header again with the status that is only known at the end.
template <class D>
void deliver(hls::stream<ap_uint<bits_for(D::max_page_beats)>>& counts, beat_stream& page, beat_stream& headers,
             hls::stream<flag_t>& valid, hls::stream<status_t>& verdicts, axis_stream& out) {
  bool first = true;
  bool answer;
  ap_uint<bits_for(D::max_page_beats)> left = 0;
deliver_beats:  // II = 1: one beat leaves in every cycle
  do {
#pragma HLS pipeline II=1 rewind
    answer = !first && left == 0;
    if (first) {
      left = counts.read();
    } else {
      beat_t beat;
      if (answer) {
        beat = headers.read();
        const flag_t all_valid = valid.read();
        status_t status = verdicts.read();
        if (status == kOk && !all_valid) status = kBadParameter;
        header::set<header::status>(beat, status);
      } else {
        beat = page.read();
        left -= 1;
      }
      out.write(whole_beat(beat, answer));
    }
    first = false;
  } while (!answer);
}

}  // namespace speckv
