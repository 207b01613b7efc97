// From a payload's words back to values.
#pragma once

#include "rotate.hpp"
#include "unpack.hpp"

namespace speckv {

// Beats on their way back: values already, or sums of levels with the scale of each lane.
struct Decoded {
  beat_t numbers;
  ap_uint<8 * kLanes> scales;
};

// Loads a page's rows, then turns words into values (raw, exponents) or levels (quantised).
template <class D>
void decode(hls::stream<Plan<D>>& plans, hls::stream<CheckedRow>& rows, beat_stream& pieces,
            hls::stream<Plan<D>>& scale_plans, hls::stream<Decoded>& decoded, hls::stream<flag_t>& valid) {
  beat_t table[D::max_rows];
  width_t widths[D::max_rows];
  Plan<D> plan = Plan<D>();
  row_count_t<D> rows_left = 0, widths_left = 0, index = 0;
  page_count_t<D> left = 0;
  Cursor<D> at;
  flag_t all_valid = 1;
  bool first = true;
decode_beats:  // II = 1: one beat of the page per cycle, after its few rows
  do {
#pragma HLS pipeline II=1 rewind
    if (first) {
      plan = plans.read();
      scale_plans.write(plan);
      rows_left = plan.rows;
      widths_left = plan.exponents() ? plan.rows : row_count_t<D>(0);
      left = plan.raw_beats;
      index = 0;
      all_valid = 1;
      at = Cursor<D>();
    } else if (rows_left != 0 || widths_left != 0) {
      const CheckedRow r = rows.read();
      all_valid = all_valid & r.valid;
      if (rows_left != 0) {
        table[index] = r.slots;
        rows_left -= 1;
        index = rows_left == 0 ? row_count_t<D>(0) : row_count_t<D>(index + 1);
      } else {
        widths[index] = r.width;
        widths_left -= 1;
        index += 1;
      }
    } else {
      const beat_t words = pieces.read();
      const beat_t numbers = numbers_of(words);
      const beat_t row = table[at.row(plan)];
      const ap_uint<16> shared = pick<kLanes, 16>(row, at.row_lane());  // along tokens: the group's
      const ap_uint<8> code_ones = ones_of(code_bits(plan.transform));
      const ap_uint<8> symbol_ones = ones_of(plan.exponents() ? widths[at.row(plan)] : width_t(0));
      Decoded d;
      ap_uint<kLanes> wrong = 0;
    decode_lanes:
      for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
        const value_t number = lane(numbers, l);
        const ap_uint<16> own = lane(row, l);
        const Parameter parameter(plan.by_token() ? shared : own);
        const ap_uint<8> code = number.range(7, 0) & code_ones;
        const ap_int<16> level = parameter.z + ap_int<9>(code);
        set_lane(d.numbers, l, ap_uint<16>(level));
        d.scales.range(8 * l + 7, 8 * l) = parameter.c;
        const FromNumber exact = exponent_value<D>(number, plan.half, own, symbol_ones);
        if (plan.exponents()) set_lane(d.numbers, l, exact.value);
        wrong[l] = !exact.valid;
      }
      if (plan.transform == kRaw) d.numbers = words;
      all_valid = all_valid & flag_t(!plan.exponents() || !wrong.or_reduce());
      decoded.write(d);
      left -= 1;
      at.advance(plan);
    }
    first = rows_left == 0 && widths_left == 0 && left == 0;
    if (first) valid.write(all_valid);
  } while (!first);
}

// Turns levels of rotated pages into sums of levels; all else passes. What leaves is one beat behind what comes.
template <class D>
void unrotate(hls::stream<Plan<D>>& plans_in, hls::stream<Decoded>& decoded, hls::stream<Plan<D>>& plans,
              hls::stream<Decoded>& sums) {
  constexpr int kLevelBits = 9;   // z + q of 4 bits
  constexpr int kSumBits = kLevelBits + 6;
  Plan<D> plan = Plan<D>();
  page_count_t<D> left = 0, out_left = 0;
  Cursor<D> at;
  flag_t waiting = 0;             // a beat is under way
  bool second_before = false;
  ap_uint<8 * kLanes> kept_scales = 0;
  AcrossBeats<kLevelBits> across;
  across.kept = 0;
  bool first = true;
unrotate_beats:  // II = 1: one beat per cycle, and one more. Round go the sums across beats
  do {
#pragma HLS pipeline II=1 rewind
    if (first) {
      plan = plans_in.read();
      plans.write(plan);
      left = out_left = plan.raw_beats;
      waiting = 0;
      at = Cursor<D>();
    } else {
      Decoded in;
      in.numbers = 0;
      in.scales = 0;
      if (left != 0) {
        in = decoded.read();
        left -= 1;
      }
      const bool second = at.group_block == kRunBlocks - 1;
      ap_uint<kLanes * kLevelBits> levels;
    level_lanes:
      for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
        levels.range(kLevelBits * l + kLevelBits - 1, kLevelBits * l) = ap_uint<kLevelBits>(lane(in.numbers, l));
      }
      const auto halves = across.step(levels, second);
      const auto turned_halves = hadamard_of_beat<kLevelBits + 1>(halves);
      const bool whole = second || second_before;  // a run of two beats
      Decoded out;
      out.numbers = 0;
      out.scales = plan.rotated ? kept_scales : in.scales;
    sum_lanes:
      for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
        const ap_int<kLevelBits + 1> alone = ap_uint<kLevelBits + 1>(
            halves.range((kLevelBits + 1) * l + kLevelBits, (kLevelBits + 1) * l));
        const ap_int<kSumBits> sum = ap_uint<kSumBits>(turned_halves.range(kSumBits * l + kSumBits - 1, kSumBits * l));
        const ap_int<16> turned_number = whole ? ap_int<16>(sum) : ap_int<16>(alone);
        set_lane(out.numbers, l, plan.rotated ? value_t(ap_uint<16>(turned_number)) : lane(in.numbers, l));
      }
      if (!plan.rotated || waiting) {
        sums.write(out);
        out_left -= 1;
      }
      waiting = 1;
      kept_scales = in.scales;
      second_before = second;
      at.advance(plan);
    }
    first = out_left == 0;
  } while (!first);
}

// Multiplies levels by their scales; values pass.
template <class D>
void scale(hls::stream<Plan<D>>& plans, hls::stream<Decoded>& decoded, hls::stream<page_count_t<D>>& counts,
           beat_stream& page) {
  constexpr int kSumBits = has_rotated<D>() ? 15 : 10;
  Plan<D> plan = Plan<D>();
  page_count_t<D> left = 0;
  Cursor<D> at;
  bool first = true;
scale_beats:  // II = 1: one beat of the page per cycle; nothing but counters goes round
  do {
#pragma HLS pipeline II=1 rewind
    if (first) {
      plan = plans.read();
      counts.write(plan.raw_beats);
      left = plan.raw_beats;
      at = Cursor<D>();
    } else {
      const Decoded d = decoded.read();
      beat_t values = 0;
      const flag_t eighth = plan.rotated && at.in_whole_group(plan);
    scale_lanes:
      for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
        const value_t number = lane(d.numbers, l);
        const ap_int<kSumBits> sum = number;
        const ap_uint<8> c = d.scales.range(8 * l + 7, 8 * l);
        const value_t value = scaled<D, kSumBits>(sum, c, plan.scale_exponent, plan.half, eighth);
        set_lane(values, l, plan.quantised() ? value : number);
      }
      page.write(values);
      left -= 1;
      at.advance(plan);
    }
    first = left == 0;
  } while (!first);
}

// Sends the page, then the header again with the status that is only known at the end.
template <class D>
void deliver(hls::stream<page_count_t<D>>& counts, beat_stream& page, beat_stream& headers, hls::stream<flag_t>& valid,
             hls::stream<flag_t>& layouts, hls::stream<status_t>& verdicts, axis_stream& out) {
  bool first = true;
  page_count_t<D> left = 0;
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
        const flag_t all_valid = valid.read(), layout_right = layouts.read();
        status_t status = verdicts.read();
        if (status == kOk) status = !all_valid ? kBadParameter : !layout_right ? kBadLayout : kOk;
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
