// From a payload's words back to values.
#pragma once

#include "admit.hpp"
#include "exponents.hpp"
#include "rotate.hpp"

namespace speckv {

// A row of one group per lane, out of a payload's first section: only what is valid is left of it.
struct CheckedRow {
  beat_t slots;  // a parameter or a base of 16 bits for each lane
  width_t width;
  flag_t valid;
};

// A beat of the words' section.
struct Words {
  beat_t words;
  flag_t last;
};

// Reads the first section: rows of parameters, a beat each; or bases, half a beat a tile, and then widths, a word a tile.
// The words behind it pass through.
template <class D>
void sections(hls::stream<Plan<D>>& plans, beat_stream& payload, hls::stream<Plan<D>>& find_plans,
              hls::stream<Plan<D>>& decode_plans, hls::stream<CheckedRow>& rows, hls::stream<width_t>& widths,
              hls::stream<Words>& words) {
  Plan<D> plan = Plan<D>();
  row_count_t<D> rows_left = 0, widths_left = 0;
  ap_uint<bits_for(D::max_groups)> groups_left = 0;
  payload_count_t<D> words_left = 0;
  ap_uint<4> place = 0;  // words taken from `kept`
  beat_t kept = 0;
  bool first = true;
sections_beats:  // II = 1: one beat of payload per cycle, but for widths, of which it is one per cycle
  do {
#pragma HLS pipeline II=1 rewind
    if (first) {
      plan = plans.read();
      find_plans.write(plan);
      decode_plans.write(plan);
      rows_left = plan.rows;
      widths_left = plan.exponents() ? plan.rows : row_count_t<D>(0);
      groups_left = plan.groups;
      words_left = plan.word_beats;
      place = 0;
    } else {
      const bool row = rows_left != 0, width = !row && widths_left != 0;
      beat_t beat = kept;
      if (place == 0) beat = payload.read();
      kept = beat;
      CheckedRow r;
      r.slots = 0;
      r.width = 0;
      r.valid = 1;
      if (plan.exponents()) {
        const ap_uint<8 * kLanes> bases = place == 0 ? beat.range(255, 0) : beat.range(511, 256);
      base_lanes:
        for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
          const ap_uint<8> base = bases.range(8 * l + 7, 8 * l);
          set_lane(r.slots, l, base);
        }
      } else {
        ap_uint<kLanes> wrong = 0;
      parameter_lanes:
        for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
          const Parameter parameter(lane(beat, l));
          if (parameter.valid()) set_lane(r.slots, l, parameter.packed());
          wrong[l] = !parameter.valid() && groups_left > l;
        }
        r.valid = !wrong.or_reduce();
      }
      const ap_uint<32> word = pick<kWordsPerBeat, 32>(beat, place);
      const ap_uint<4> widest = D::has_fp16 && plan.half ? 5 : 8;
      if (width) {
        r.valid = word <= widest;
        r.width = r.valid ? ap_uint<4>(word) : widest;
        widths.write(r.width);
      }
      Words w;
      w.words = beat;
      w.last = words_left == 1;
      if (row || width)
        rows.write(r);
      else
        words.write(w);

      groups_left -= kLanes;
      place = !plan.exponents() ? ap_uint<4>(0) : row ? ap_uint<4>(place + 8) : ap_uint<4>(place + 1);
      if (!row && widths_left <= 1) place = 0;
      if (row)
        rows_left -= 1;
      else if (width)
        widths_left -= 1;
      else
        words_left -= 1;
    }
    first = rows_left == 0 && widths_left == 0 && words_left == 0;
  } while (!first);
}

// How the words of a raw beat are taken out of the payload's beats.
struct Taking {
  ap_uint<4> count;  // words left of the beat before
  flag_t renews;     // they are too few: another beat is needed
  flag_t last;       // of the page
  flag_t nothing;    // a page without beats
};

// Says for every raw beat where its words are: in a process of its own, so that `unpack` decides nothing by a comparison.
template <class D>
void find_words(hls::stream<Plan<D>>& plans, hls::stream<width_t>& widths_in, hls::stream<Taking>& takings) {
  width_t widths[D::max_rows];
  Plan<D> plan = Plan<D>();
  row_count_t<D> widths_left = 0, index = 0;
  page_count_t<D> left = 0;
  Cursor<D> at;
  ap_uint<4> count = 0;
  bool first = true;
find_words_beats:  // II = 1: one raw beat per cycle. Round goes a sum of four bits
  do {
#pragma HLS pipeline II=1 rewind
    Taking taking;
    taking.last = 1;
    taking.nothing = 1;
    taking.renews = 0;
    taking.count = 0;
    if (first) {
      plan = plans.read();
      widths_left = plan.exponents() ? plan.rows : row_count_t<D>(0);
      left = plan.raw_beats;
      index = 0;
      at = Cursor<D>();
      count = 0;
      if (plan.raw_beats == 0) takings.write(taking);
    } else if (widths_left != 0) {
      widths[index] = widths_in.read();
      index += 1;
      widths_left -= 1;
    } else {
      const width_t width = plan.exponents() ? widths[at.row(plan)] : width_t(0);
      const word_count_t wanted = plan.words() + width;
      taking.count = count;
      taking.renews = count < wanted;
      count -= wanted;
      left -= 1;
      taking.last = left == 0;
      taking.nothing = 0;
      takings.write(taking);
      at.advance(plan);
    }
    first = (widths_left == 0) & (left == 0);
  } while (!first);
}

// Takes the words of every raw beat. A payload whose widths ask for more is continued with zeros, and what is left of one
// is dropped; either is a wrong layout.
inline void unpack(hls::stream<Taking>& takings, hls::stream<Words>& words, beat_stream& pieces,
                   hls::stream<flag_t>& layouts) {
  beat_t kept = 0;
  bool taken = false;  // the page's last words are
  bool ended = false;  // no beats of words are left
  flag_t layout_right = 1;
  bool first = true;
unpack_beats:  // II = 1: the words of one raw beat per cycle. Round goes whether there are more beats
  do {
#pragma HLS pipeline II=1 rewind
    if (first) {
      taken = ended = false;
      layout_right = 1;
    }
    Taking t;
    t.count = 0;
    t.renews = 1;
    t.last = 1;
    t.nothing = 1;
    if (!taken) t = takings.read();
    Words fresh;
    fresh.words = 0;
    fresh.last = 1;
    if (t.renews && !ended) fresh = words.read();
    if (t.renews && (taken || ended)) layout_right = 0;
    if (!t.nothing) pieces.write(next_words(kept, fresh.words, t.count));
    if (t.renews) kept = fresh.words;
    ended = ended | (t.renews & fresh.last) | (t.nothing & !taken);
    taken = taken | t.last;
    first = taken & ended;
    if (first) layouts.write(layout_right);
  } while (!first);
}

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
        set_lane(values, l, plan.quantised() ? scaled<D, kSumBits>(sum, c, plan.scale_exponent, plan.half, eighth) : number);
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
