// The first pass over a page: the range of every group, then what follows from it.
#pragma once

#include "exponents.hpp"
#include "gearbox.hpp"
#include "quantise.hpp"

namespace speckv {

using range_row_t = ap_uint<32 * kLanes>;

inline ap_uint<32> packed(const KeyRange& range) {
  ap_uint<32> bits;
  bits.range(15, 0) = range.lo;
  bits.range(31, 16) = range.hi;
  return bits;
}

inline KeyRange unpacked(const ap_uint<32>& bits) {
  KeyRange range;
  range.lo = bits.range(15, 0);
  range.hi = bits.range(31, 16);
  return range;
}

// A group along the token: its range, and the exponent of its run if it is rotated.
template <class D>
struct TokenRange {
  ap_uint<32> range;
  ap_uint<has_rotated<D>() ? 8 : 1> exponent;
};

// Whether a > b, as the carry of a sum: its LUTs take in the multiplexers in front of b; those of a comparator do not.
inline bool exceeds(const value_t& a, const value_t& b) {
  const ap_uint<17> difference = ap_uint<17>(a) + value_t(~b);
  return difference[16];
}

// Least and greatest of all lanes' keys, as a tree; its leaves compare two lanes once for both.
inline KeyRange range_of_lanes(const value_t keys[kLanes]) {
  constexpr int kPairs = kLanes / 2;
  value_t lo[kPairs], hi[kPairs];
#pragma HLS array_partition variable=lo complete
#pragma HLS array_partition variable=hi complete
range_leaves:
  for (int l = 0; l < kPairs; ++l) {
#pragma HLS unroll
    const bool swapped = keys[l + kPairs] < keys[l];
    lo[l] = swapped ? keys[l + kPairs] : keys[l];
    hi[l] = swapped ? keys[l] : keys[l + kPairs];
  }
range_levels:
  for (int width = kPairs / 2; width > 0; width /= 2) {
#pragma HLS unroll
  range_nodes:
    for (int l = 0; l < width; ++l) {
#pragma HLS unroll
      if (lo[l + width] < lo[l]) lo[l] = lo[l + width];
      if (hi[l + width] > hi[l]) hi[l] = hi[l + width];
    }
  }
  KeyRange range;
  range.lo = lo[0];
  range.hi = hi[0];
  return range;
}

// What is known of a page when its last beat was measured.
struct Measured {
  ap_uint<8> greatest_exponent;  // E, or E - 3 if it is rotated
};

// Finds the range of every group while the page passes on into its FIFO.
//
// Down tiles: a row of 32 ranges leaves at the last token of a tile; for codec `planes` they are ranges of exponents.
// Along tokens: a range leaves after every `group_blocks` beats.
template <class D, class Values>
void measure(hls::stream<Plan<D>>& plans, hls::stream<Values>& beats, hls::stream<Plan<D>>& fit_plans,
             hls::stream<Plan<D>>& encode_plans, hls::stream<Values>& page, hls::stream<range_row_t>& tile_ranges,
             hls::stream<TokenRange<D>>& token_ranges, hls::stream<Measured>& measured) {
  beat_t lows[D::max_blocks], highs[D::max_blocks];  // the tile's ranges so far, one row a block
  ap_uint<kLanes> zeros[D::max_blocks];              // exponents: lanes that had a zero
  Plan<D> plan = Plan<D>();
  page_count_t<D> left = 0;
  Cursor<D> at;
  value_t group_lo = 0, group_hi = 0;  // the range of the group along the token so far
  Measured page_measure = Measured();
  bool first = true;
measure_beats:  // II = 1: one beat arrives in every cycle. Round goes a 16-bit comparison of one row's ranges
  do {
#pragma HLS pipeline II=1 rewind
    if (first) {
      plan = plans.read();
      fit_plans.write(plan);
      encode_plans.write(plan);
      left = plan.raw_beats;
      at = Cursor<D>();
      page_measure.greatest_exponent = 1;
    } else {
      const Values values = beats.read();
      page.write(values);
      const beat_t beat = values_of(values);
      const ap_uint<8> run_exponent = run_exponent_of(values);
      left -= 1;

      const bool tile_begins = at.tile_token == 0;
      beat_t low = lows[at.block], high = highs[at.block];
      const ap_uint<kLanes> zeros_before = tile_begins ? ap_uint<kLanes>(0) : zeros[at.block];
      ap_uint<kLanes> zeros_now = 0;
      range_row_t row = 0;
      value_t keys[kLanes];
#pragma HLS array_partition variable=keys complete
    measure_lanes:
      for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
        const value_t x = lane(beat, l);
        keys[l] = order_key(x, plan.rotated || plan.exponents());
        KeyRange key;
        key.lo = key.hi = keys[l];
        if (plan.exponents()) key = exponent_keys(keys[l], Number<D>::field(x, plan.half) == 0);
        KeyRange range;
        range.lo = (tile_begins || !exceeds(key.lo, lane(low, l))) ? key.lo : lane(low, l);
        range.hi = (tile_begins || exceeds(key.hi, lane(high, l))) ? key.hi : lane(high, l);
        set_lane(low, l, range.lo);
        set_lane(high, l, range.hi);
        zeros_now[l] = zeros_before[l] | flag_t(Number<D>::field(x, plan.half) == 0);
        if (plan.exponents()) range.hi[15] = zeros_now[l];
        row.range(32 * l + 31, 32 * l) = packed(range);
      }
      if (has_exponents<D>()) zeros[at.block] = zeros_now;
      lows[at.block] = low;
      highs[at.block] = high;
      if (plan.transform != kRaw && !plan.by_token() && at.tile_ends(plan)) tile_ranges.write(row);

      const KeyRange range = range_of_lanes(keys);
      const bool group_begins = at.group_block == 0;
      if (group_begins || range.lo < group_lo) group_lo = range.lo;
      if (group_begins || range.hi > group_hi) group_hi = range.hi;
      if (plan.by_token() && at.group_ends(plan)) {
        KeyRange group;
        group.lo = group_lo;
        group.hi = group_hi;
        TokenRange<D> of_group;
        of_group.range = packed(group);
        of_group.exponent = run_exponent;
        token_ranges.write(of_group);
      }

      const ap_uint<8> e_lo = Number<D>::exponent(from_order_key(range.lo, 0), plan.half);
      const ap_uint<8> e_hi = Number<D>::exponent(from_order_key(range.hi, 0), plan.half);
      const ap_uint<8> e_beat = e_lo > e_hi ? e_lo : e_hi;
      const ap_uint<8> e = plan.rotated ? run_exponent : e_beat;
      if (e > page_measure.greatest_exponent) page_measure.greatest_exponent = e;
      at.advance(plan);
    }
    first = left == 0;
    if (first) measured.write(page_measure);
  } while (!first);
}

// Slots of groups whose parameters are a beat; or 16 bits for each of a tile's bases, and its word.
template <class D>
struct Row {
  ap_uint<slot_bits<D>() * groups_per_beat<D>()> slots;
  tile_word_t tile;
};

// How a page will be encoded, and the facts for its header.
template <class D>
struct Fitted {
  ap_uint<8> greatest_exponent;
  ap_uint<2> flags;  // why it will be raw, although a codec was asked for
};

// Turns ranges into parameters, one group per cycle: a page has far fewer groups than beats unless it is short, and one
// fitter is 32 times smaller than one for each lane. It works on one page while `measure` takes the next one.
template <class D>
void fit(hls::stream<Plan<D>>& plans, hls::stream<Measured>& measured, hls::stream<range_row_t>& tile_ranges,
         hls::stream<TokenRange<D>>& token_ranges, hls::stream<Row<D>>& rows, hls::stream<tile_word_t>& tiles,
         hls::stream<Fitted<D>>& fitted) {
  Plan<D> plan = Plan<D>();
  Measured page = Measured();
  bool first = true;
  ap_uint<bits_for(D::max_groups)> left = 0;
  row_count_t<D> rows_left = 0;
  ap_uint<5> slot = 0;  // which lane the group is for, in turn
  range_row_t ranges = 0;
  Row<D> row;
  row.slots = 0, row.tile = 0;
  gaps_t gaps = 0;  // exponents: of the row so far
  tile_word_t wide = 0;
  ap_uint<6> wide_lanes = 0;
  ap_uint<bits_for(D::max_page_beats) + 5> sum = 0;  // of words; or, if symbols are coded, of wide values
fit_groups:  // II = 1: one group per cycle. Nothing that a group's arithmetic yields is needed for the next group
  do {
#pragma HLS pipeline II=1 rewind
    if (first) {
      plan = plans.read();
      page = measured.read();
      left = plan.groups;
      rows_left = plan.rows;
      slot = 0;
      sum = 0;
    } else {
      if (!plan.by_token() && slot == 0) ranges = tile_ranges.read();
      ap_uint<32> bits = ranges.range(31, 0);
      ranges >>= 32;
      ap_uint<8> run_exponent = 0;
      if (plan.by_token()) {
        const TokenRange<D> along = token_ranges.read();
        bits = along.range;
        run_exponent = along.exponent;
      }
      const KeyRange range = unpacked(bits);
      const Reading<D> reading(plan, page.greatest_exponent);
      slot_t<D> item =
          fit_group<D>(range, reading, run_exponent, page.greatest_exponent, code_bits(plan.transform)).packed();
      if (plan.exponents()) item = base_of<D>(range, plan.half);

      left -= 1;
      const ap_uint<bits_for(groups_per_beat<D>() - 1)> place = slot;
      const bool beat_ends = plan.exponents() ? slot == kLanes - 1 : place == groups_per_beat<D>() - 1;
      const bool row_ends = beat_ends || left == 0;
      if (fine_scales<D>() && plan.exponents())
        row.slots = placed<kLanes, 16>(beat_t(row.slots), slot, ap_uint<16>(item), slot == 0);
      else
        row.slots = placed<groups_per_beat<D>(), slot_bits<D>()>(row.slots, place, item, place == 0);
      const gaps_t gap = gap_of<D>(range, plan.half, range.hi[15]);
      gaps = (slot == 0 ? gaps_t(0) : gaps) | gap;
      wide >>= 1;
      wide[kLanes - 1] = is_wide(gap);
      wide_lanes = (slot == 0 ? ap_uint<6>(0) : wide_lanes) + is_wide(gap);
      row.tile = plan.coded() ? wide : tile_word_t(width_of(gaps));
      if (row_ends) {
        rows.write(row);
        if (plan.exponents()) tiles.write(row.tile);
        // what this tile's beats have: all tiles but the last ones along the tokens are full
        using tile_count_t = ap_uint<bits_for(D::tile_tokens)>;
        const tile_count_t last_tile = ap_uint<bits_for(D::tile_tokens - 1)>(plan.last_token) + 1;
        const tile_count_t tokens = rows_left <= plan.blocks ? last_tile : tile_count_t(D::tile_tokens);
        sum += tokens * (plan.coded() ? wide_lanes : ap_uint<6>(plan.words() + width_of(gaps)));
        rows_left -= 1;
      }
      slot += 1;
    }
    first = left == 0;
    if (first) {
      Fitted<D> f;
      f.greatest_exponent = page.greatest_exponent;
      payload_count_t<D> bound = plan.payload_beats;
      if (plan.exponents())
        bound = plan.coded() ? payload_count_t<D>(plan.payload_beats + lanes_bound<D>(plan.raw_beats, sum))
                             : payload_count_t<D>(bases_beats<D>(plan.rows) + (sum + (kWordsPerBeat - 1)) / kWordsPerBeat);
      const bool finite = page.greatest_exponent < Number<D>::beyond(plan.half);
      f.flags = plan.no_shrink || (plan.exponents() && bound >= plan.raw_beats) ? kNoShrink
                : plan.quantised() && !finite                                  ? kNonFinite
                                                                               : Flags(0);
      fitted.write(f);
    }
  } while (!first);
}

}  // namespace speckv
