// kv_decompress: frame in, raw page and answer out.
//
//   inspect ─> admit ─ payload ─> decode ─ page ─> deliver
//                 └─ header, verdict ─────────────────┘
#pragma once

#include "admit.hpp"
#include "cursor.hpp"
#include "int8.hpp"

namespace speckv {

constexpr int kBeatsPerRow = 2;  // parameter beats that make a row of one group per lane
using parameter_row_t = ap_uint<32 * kLanes>;

// Loads a page's parameters, then turns payload beats into page beats: one each (raw), or two each (int8).
template <class D>
void decode(hls::stream<Plan<D>>& plans, beat_stream& payload, hls::stream<ap_uint<bits_for(D::max_page_beats)>>& counts,
            beat_stream& page, hls::stream<flag_t>& valid) {
  parameter_row_t table[D::max_rows];
  beat_t row_begin = 0;  // the first beat of a row that is being loaded
  Plan<D> plan = Plan<D>();
  ap_uint<bits_for(D::max_parameter_beats)> words_left = 0, words_loaded = 0;  // beats of parameters
  ap_uint<bits_for(D::max_groups)> groups_left = 0;                            // groups in those that are left
  ap_uint<bits_for(D::max_page_beats)> left = 0;
  Cursor<D> at;
  ap_uint<8 * kLanes> half = 0;  // codes of the next beat
  bool odd = false;              // `half` is to be used
  bool all_valid = true;
  bool first = true;
decode_beats:  // II = 1: one beat of the page per cycle, after its parameters
  do {
#pragma HLS pipeline II=1 rewind
    if (first) {
      plan = plans.read();
      counts.write(plan.raw_beats);
      words_left = plan.parameter_beats;
      groups_left = plan.groups;
      left = plan.raw_beats;
      words_loaded = 0;
      odd = false;
      all_valid = true;
      at = Cursor<D>();
    } else if (words_left != 0) {
      const beat_t beat = payload.read();
      beat_t words = 0;
      ap_uint<kGroupsPerBeat> invalid = 0;
    check_groups:
      for (int i = 0; i < kGroupsPerBeat; ++i) {
#pragma HLS unroll
        const ap_uint<32> word = beat.range(32 * i + 31, 32 * i);
        const bool good = valid_parameters(word.range(15, 0), word.range(31, 16));
        words.range(32 * i + 31, 32 * i) = good ? word : ap_uint<32>(0);
        invalid[i] = !good && groups_left > i;
      }
      all_valid = all_valid && !invalid.or_reduce();

      const bool completes = words_loaded % kBeatsPerRow != 0;
      parameter_row_t row = 0;
      row.range(511, 0) = completes ? row_begin : words;
      if (completes) row.range(1023, 512) = words;
      table[words_loaded / kBeatsPerRow] = row;  // the last row may have no second beat
      row_begin = words;
      words_loaded += 1;
      words_left -= 1;
      groups_left -= kGroupsPerBeat;
    } else {
      beat_t beat = 0;
      if (!odd) beat = payload.read();
      const parameter_row_t row = table[at.row(plan)];
      const ap_uint<32> shared = pick<kLanes, 32>(row, at.row_lane());  // V: the group's parameters
      const ap_uint<8 * kLanes> codes = odd ? half : ap_uint<8 * kLanes>(beat.range(255, 0));
      beat_t values = 0;
    decode_lanes:
      for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
        const ap_uint<32> own = row.range(32 * l + 31, 32 * l);
        const ap_uint<32> parameters = plan.values ? shared : own;
        const value_t lo = parameters.range(15, 0), scale = parameters.range(31, 16);
        set_lane(values, l, dequantize_value(codes.range(8 * l + 7, 8 * l), lo, scale));
      }
      page.write(plan.int8 ? values : beat);
      half = beat.range(511, 256);
      odd = plan.int8 && !odd;
      left -= 1;
      at.advance(plan);
    }
    first = words_left == 0 && left == 0;
    if (first) valid.write(all_valid);
  } while (!first);
}

// Sends the page, then the header again with the status that is only known at the end.
template <class D>
void deliver(hls::stream<ap_uint<bits_for(D::max_page_beats)>>& counts, beat_stream& page, beat_stream& headers,
             hls::stream<flag_t>& valid, hls::stream<status_t>& verdicts, axis_stream& out) {
  bool first = true;
  ap_uint<bits_for(D::max_page_beats)> left = 0;
deliver_beats:  // II = 1: one beat leaves in every cycle
  do {
#pragma HLS pipeline II=1 rewind
    const bool answer = !first && left == 0;
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
    first = answer;
  } while (!first);
}

}  // namespace speckv
