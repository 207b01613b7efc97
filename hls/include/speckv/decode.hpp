// From a payload's words back to values.
#pragma once

#include "rotate.hpp"
#include "unpack.hpp"

namespace speckv {

// z + q, and sums of q over a run but for their first.
template <class D>
constexpr int level_bits() { return fine_scales<D>() ? 17 : 10; }
// A number: a level, or a value.
template <class D>
constexpr int number_bits() { return fine_scales<D>() ? 17 : 16; }

// Beats on their way back: values already; or levels z + q and the scale of each lane; or, of a whole run of a rotated
// page, only q, and its z beside them.
template <class D>
struct Decoded {
  ap_uint<number_bits<D>() * kLanes> numbers;
  ap_uint<D::scale_bits * kLanes> scales;
  ap_int<D::scale_bits> zero;
};

// Values as numbers: wires only.
template <class D>
ap_uint<number_bits<D>() * kLanes> numbers_of_values(const beat_t& values) {
  if (!fine_scales<D>()) return values;
  ap_uint<number_bits<D>() * kLanes> numbers = 0;
value_lanes:
  for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
    numbers.range(number_bits<D>() * l + 15, number_bits<D>() * l) = lane(values, l);
  }
  return numbers;
}

inline SymbolBeat read_symbols() { return SymbolBeat(); }
inline SymbolBeat read_symbols(symbol_stream& symbols) { return symbols.read(); }

// Loads a page's rows, then turns words and symbols into values (raw, exponents) or levels (quantised).
template <class D, class... Symbols>
void decode(hls::stream<Plan<D>>& plans, hls::stream<CheckedRow>& rows, beat_stream& pieces,
            hls::stream<Plan<D>>& scale_plans, hls::stream<Decoded<D>>& decoded, hls::stream<flag_t>& valid,
            Symbols&... symbols_in) {
  beat_t table[D::max_rows], upper_table[D::max_rows];  // a slot per lane; upper halves with scales of 16 bits only
  tile_word_t tiles[D::max_rows];
  Plan<D> plan = Plan<D>();
  row_count_t<D> rows_left = 0, tiles_left = 0, index = 0;
  page_count_t<D> left = 0;
  Cursor<D> at;
  bool upper = false;  // the next beat of parameters is a row's upper half
  flag_t all_valid = 1;
  bool first = true;
decode_beats:  // II = 1: one beat of the page per cycle, after its few rows
  do {
#pragma HLS pipeline II=1 rewind
    if (first) {
      plan = plans.read();
      scale_plans.write(plan);
      rows_left = plan.rows;
      tiles_left = plan.exponents() ? plan.rows : row_count_t<D>(0);
      left = plan.raw_beats;
      index = 0;
      upper = false;
      all_valid = 1;
      at = Cursor<D>();
      first = plan.raw_beats == 0;  // no page has rows and no beats
    } else if (rows_left != 0 || tiles_left != 0) {
      const CheckedRow r = rows.read();
      all_valid = all_valid & r.valid;
      if (rows_left != 0) {
        if (upper)
          upper_table[index] = r.slots;
        else
          table[index] = r.slots;
        upper = fine_scales<D>() && !upper && !plan.exponents();
        rows_left -= 1;
        index = rows_left == 0 ? row_count_t<D>(0) : row_count_t<D>(index + !upper);
      } else {
        tiles[index] = r.tile;
        tiles_left -= 1;
        index += 1;
      }
    } else {
      beat_t words = 0;
      if (plan.words() != 0) words = pieces.read();
      SymbolBeat symbols;
      if (plan.coded()) symbols = read_symbols(symbols_in...);
      const beat_t numbers = numbers_of(words);
      const auto row = joined<D>(table[at.row(plan)], upper_table[at.row(plan)]);
      const parameter_t<D> shared = pick<kLanes, 2 * D::scale_bits>(row, at.row_lane());  // along tokens: the group's
      const ap_uint<8> code_ones = plan.coded() ? ap_uint<8>(kCodedSymbols - 1) : ones_of(code_bits(plan.transform));
      const tile_word_t tile = plan.exponents() ? tiles[at.row(plan)] : tile_word_t(0);
      const bool run = has_rotated<D>() && plan.rotated && at.in_whole_group(plan);
      Decoded<D> d;
      d.zero = Parameter<D>(shared).z;
      ap_uint<kLanes> wrong = 0;
    decode_lanes:
      for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
        const value_t number = lane(numbers, l);
        const parameter_t<D> own = row.range(2 * D::scale_bits * (l + 1) - 1, 2 * D::scale_bits * l);
        const Parameter<D> parameter(plan.by_token() ? shared : own);
        const ap_uint<8> base = row.range(16 * l + 7, 16 * l);
        const ap_uint<8> coded = symbols.values.range(8 * l + 7, 8 * l);
        const ap_uint<8> code = (plan.coded() ? coded : ap_uint<8>(number)) & code_ones;
        const ap_int<level_bits<D>()> level = (run ? ap_int<D::scale_bits>(0) : parameter.z) + ap_int<9>(code);
        d.scales.range(D::scale_bits * (l + 1) - 1, D::scale_bits * l) = parameter.c;
        const ap_uint<8> symbol = plan.coded() ? coded : symbol_of<D>(number, plan.half);
        const FromNumber exact =
            exponent_value<D>(number, symbol, plan.half, base, ones_of(tile, plan.coded(), l));
        ap_uint<number_bits<D>()> result = exact.value;  // levels have no more than their own bits of it
        if (!plan.exponents()) result.range(level_bits<D>() - 1, 0) = ap_uint<level_bits<D>()>(level);
        d.numbers.range(number_bits<D>() * (l + 1) - 1, number_bits<D>() * l) = result;
        wrong[l] = !exact.valid;
      }
      if (plan.transform == kRaw) d.numbers = numbers_of_values<D>(words);
      all_valid = all_valid & flag_t(!plan.exponents() || !wrong.or_reduce());
      decoded.write(d);
      first = left == 1;
      left -= 1;
      at.advance(plan);
    }
    if (first) valid.write(all_valid);
  } while (!first);
}

constexpr int kCodeBits = 5;                   // q of a rotated page, and a sign
// 64 z and the sum of all q.
template <class D>
constexpr int first_sum_bits() { return D::scale_bits + 7; }

// Multiplies levels by their scales, those of runs after the transform back; values pass. In designs that rotate, what
// leaves is one beat behind what comes, of all pages alike: a choice between the two would be wide.
//
// The zeros of a run are all the same, so that nothing but its first sum has them.
template <class D>
void scale(hls::stream<Plan<D>>& plans, hls::stream<Decoded<D>>& decoded, hls::stream<page_count_t<D>>& counts,
           beat_stream& page) {
  constexpr int kLevelBits = level_bits<D>(), kFirstSumBits = first_sum_bits<D>(), kNumberBits = number_bits<D>();
  Plan<D> plan = Plan<D>();
  page_count_t<D> left = 0, out_left = 0;
  Cursor<D> at;
  flag_t waiting = 0;  // a beat is under way
  bool second_before = false;
  Decoded<D> kept;
  kept.numbers = 0, kept.scales = 0, kept.zero = 0;
  AcrossBeats<kCodeBits> across;
  across.start();
  bool first = true;
scale_beats:  // II = 1: one beat of the page per cycle, and one more; nothing but counters goes round
  do {
#pragma HLS pipeline II=1 rewind
    if (first) {
      plan = plans.read();
      counts.write(plan.raw_beats);
      left = out_left = plan.raw_beats;
      waiting = 0;
      at = Cursor<D>();
    } else {
      Decoded<D> in;
      in.numbers = 0, in.scales = 0, in.zero = 0;
      if (left != 0) {
        in = decoded.read();
        left -= 1;
      }
      const bool rotated = has_rotated<D>() && plan.rotated;
      const bool second = at.group_block == kRunBlocks - 1;
      ap_uint<kLanes * kCodeBits> codes = 0;
    code_lanes:
      for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
        codes.range(kCodeBits * l + 3, kCodeBits * l) = in.numbers.range(kNumberBits * l + 3, kNumberBits * l);
      }
      const auto sums = hadamard_of_beat<kCodeBits + 1>(across.step(codes, second, second_before), 0);
      const bool whole = second || second_before;  // a run of two beats
      const Decoded<D> out = has_rotated<D>() ? kept : in;
      const ap_int<10> reference = scale_reference<D, kLevelBits>(plan, rotated && !whole);
      const ap_int<10> first_reference = scale_reference<D, kFirstSumBits>(plan, rotated && !whole);
      beat_t values = 0;
    scale_lanes:
      for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
        constexpr int kBits = kCodeBits + 6;
        const ap_int<kBits> sum = ap_uint<kBits>(sums.range(kBits * l + kBits - 1, kBits * l));
        const scale_t<D> c = out.scales.range(D::scale_bits * (l + 1) - 1, D::scale_bits * l);
        const ap_uint<kNumberBits> number = out.numbers.range(kNumberBits * (l + 1) - 1, kNumberBits * l);
        value_t value;
        if (has_rotated<D>() && l == 0) {
          const ap_int<kFirstSumBits> zeros = second ? ap_int<kFirstSumBits>(out.zero) << 6 : ap_int<kFirstSumBits>(0);
          const ap_int<kFirstSumBits> level =
              rotated && whole ? ap_int<kFirstSumBits>(zeros + sum) : ap_int<kFirstSumBits>(ap_int<kLevelBits>(number));
          value = scaled<D, kFirstSumBits>(level, c, first_reference, plan.half);
        } else {
          const ap_int<kLevelBits> level = rotated && whole ? ap_int<kLevelBits>(sum) : ap_int<kLevelBits>(number);
          value = scaled<D, kLevelBits>(level, c, reference, plan.half);
        }
        set_lane(values, l, plan.quantised() ? value : value_t(number));
      }
      if (!has_rotated<D>() || waiting) {
        page.write(values);
        out_left -= 1;
      }
      waiting = 1;
      kept = in;
      second_before = second;
      at.advance(plan);
    }
    first = out_left == 0;
  } while (!first);
}

inline flag_t read_misfit() { return 0; }
inline flag_t read_misfit(hls::stream<flag_t>& misfits) { return misfits.read(); }

// Sends the page, then the header again with the status that is only known at the end.
template <class D, class... Misfits>
void deliver(hls::stream<page_count_t<D>>& counts, beat_stream& page, beat_stream& headers, hls::stream<flag_t>& valid,
             hls::stream<flag_t>& layouts, hls::stream<status_t>& verdicts, bus_stream<D>& out, Misfits&... misfits) {
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
        const flag_t all_valid = valid.read(), words_fit = layouts.read(), lanes_misfit = read_misfit(misfits...);
        status_t status = verdicts.read();
        if (status == kOk) status = !all_valid ? kBadParameter : !words_fit || lanes_misfit ? kBadLayout : kOk;
        header::set<header::status>(beat, status);
      } else {
        beat = page.read();
        left -= 1;
      }
      write_beat(out, beat, answer);
    }
    first = answer;
  } while (!first);
}

}  // namespace speckv
