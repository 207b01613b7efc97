// A payload taken apart: rows of parameters or bases, words of tiles, the words of each raw beat, and lanes.
#pragma once

#include "admit.hpp"
#include "exponents.hpp"
#include "gearbox.hpp"
#include "prefix_decode.hpp"
#include "quantise.hpp"

namespace speckv {

// A row out of a payload's first section: only what is valid is left of it.
struct CheckedRow {
  beat_t slots;  // parameters as they are stored; or 16 bits for each of a tile's bases
  tile_word_t tile;
  flag_t valid;
};

// A beat of the words' section.
struct Words {
  beat_t words;
  flag_t last;
};

// What decodes the lanes of a page; designs without prefix codes have nothing of it.
template <class D>
void begin_lanes(const Plan<D>&) {}
template <class D>
void begin_lanes(const Plan<D>& plan, hls::stream<section_beats_t<D>>& sections, hls::stream<LanePage<D>>& pages,
                 beat_stream&, beat_stream&) {
  LanePage<D> page;
  page.beats = plan.coded() ? plan.raw_beats : page_count_t<D>(0);
  page.table = plan.lanes.table;
  page.wide = plan.exponents();
  pages.write(page);
  sections.write(plan.lanes.beats);
}

template <class D, class... Lanes>
void begin_lanes(const Plan<D>& plan, hls::stream<way_t>& ways, hls::stream<Plan<D>>& delta_plans, Lanes&... lanes) {
  ways.write(plan.way());
  delta_plans.write(plan);
  begin_lanes(plan, lanes...);
}

inline void send_lanes(const beat_t&, bool) {}
template <class Sections, class Pages>
void send_lanes(const beat_t& beat, bool of_lengths, Sections&, Pages&, beat_stream& lengths, beat_stream& lanes) {
  if (of_lengths)
    lengths.write(beat);
  else
    lanes.write(beat);
}

template <class D, class... Lanes>
void send_lanes(const beat_t& beat, bool of_lengths, hls::stream<way_t>&, hls::stream<Plan<D>>&, Lanes&... lanes) {
  send_lanes(beat, of_lengths, lanes...);
}

// Reads the first section: rows of parameters, a beat each; or bases, half a beat a tile, and then a word a tile. Words
// and lanes behind it pass through.
template <class D, class... Lanes>
void sections(hls::stream<Plan<D>>& plans, beat_stream& payload, hls::stream<Plan<D>>& find_plans,
              hls::stream<Plan<D>>& decode_plans, hls::stream<CheckedRow>& rows, hls::stream<tile_word_t>& tiles,
              hls::stream<Words>& words, Lanes&... lanes) {
  Plan<D> plan = Plan<D>();
  row_count_t<D> rows_left = 0, tiles_left = 0;
  ap_uint<bits_for(D::max_groups)> groups_left = 0;
  payload_count_t<D> words_left = 0, lanes_left = 0, steps_left = 0;
  bool at_lengths = false;  // the first beat of lanes
  ap_uint<4> place = 0;  // words taken from `kept`
  beat_t kept = 0;
  bool first = true;
sections_beats:  // II = 1: one beat of payload per cycle, but for words of tiles, of which it is one per cycle
  do {
#pragma HLS pipeline II=1 rewind
    if (first) {
      plan = plans.read();
      find_plans.write(plan);
      decode_plans.write(plan);
      rows_left = plan.rows;
      tiles_left = plan.exponents() ? plan.rows : row_count_t<D>(0);
      groups_left = plan.groups;
      words_left = plan.sections.word_beats;
      lanes_left = plan.lanes.beats;
      steps_left = plan.sections.steps;
      at_lengths = true;
      begin_lanes(plan, lanes...);
      place = 0;
    } else {
      const bool row = rows_left != 0, tile = !row && tiles_left != 0;
      beat_t beat = kept;
      if (place == 0) beat = payload.read();
      kept = beat;
      CheckedRow r;
      r.slots = 0;
      r.tile = 0;
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
        ap_uint<groups_per_beat<D>()> wrong = 0;
      parameter_groups:
        for (int g = 0; g < groups_per_beat<D>(); ++g) {
#pragma HLS unroll
          const int low = 2 * D::scale_bits * g, high = low + 2 * D::scale_bits - 1;
          const Parameter<D> parameter(beat.range(high, low));
          if (parameter.valid()) r.slots.range(high, low) = parameter.packed();
          wrong[g] = !parameter.valid() && groups_left > g;
        }
        r.valid = !wrong.or_reduce();
      }
      const ap_uint<32> word = pick<kWordsPerBeat, 32>(beat, place);
      const ap_uint<4> widest = D::has_fp16 && plan.half ? 5 : 8;
      if (tile) {
        r.valid = plan.coded() || word <= widest;
        r.tile = r.valid ? word : ap_uint<32>(widest);
        tiles.write(r.tile);
      }
      Words w;
      w.words = beat;
      w.last = words_left == 1;
      if (row || tile) {
        rows.write(r);
      } else if (words_left != 0) {
        words.write(w);
      } else {
        send_lanes(beat, at_lengths, lanes...);
        at_lengths = false;
      }

      groups_left -= groups_per_beat<D>();
      place = !plan.exponents() ? ap_uint<4>(0) : row ? ap_uint<4>(place + 8) : ap_uint<4>(place + 1);
      if (!row && tiles_left <= 1) place = 0;
      if (row)
        rows_left -= 1;
      else if (tile)
        tiles_left -= 1;
      else if (words_left != 0)
        words_left -= 1;
      else
        lanes_left -= 1;
      steps_left -= 1;
    }
    first = steps_left == 0;
  } while (!first);
}

// How the words of a raw beat are taken out of the payload's beats.
struct Taking {
  ap_uint<4> count;  // words left of the beat before
  flag_t renews;     // they are too few: another beat is needed
  flag_t last;       // of the page
  flag_t nothing;    // a page without beats
};

inline void send_mask(const lane_mask_t&) {}
inline void send_mask(const lane_mask_t& mask, hls::stream<lane_mask_t>& masks) { masks.write(mask); }

// Says for every raw beat where its words are, and of coded exponents which lanes are wide: in a process of its own, so that `unpack` decides nothing by a
// comparison.
template <class D, class... Masks>
void find_words(hls::stream<Plan<D>>& plans, hls::stream<tile_word_t>& tiles_in, hls::stream<Taking>& takings,
                Masks&... masks) {
  tile_word_t tiles[D::max_rows];
  Plan<D> plan = Plan<D>();
  row_count_t<D> tiles_left = 0, index = 0;
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
      tiles_left = plan.exponents() ? plan.rows : row_count_t<D>(0);
      left = plan.words() == 0 ? page_count_t<D>(0) : plan.raw_beats;
      index = 0;
      at = Cursor<D>();
      count = 0;
      if (left == 0) takings.write(taking);
    } else if (tiles_left != 0) {
      tiles[index] = tiles_in.read();
      index += 1;
      tiles_left -= 1;
    } else {
      const tile_word_t tile = plan.exponents() ? tiles[at.row(plan)] : tile_word_t(0);
      const word_count_t wanted = plan.words() + (plan.coded() ? width_t(0) : width_t(tile));
      taking.count = count;
      taking.renews = count < wanted;
      count -= wanted;
      left -= 1;
      taking.last = left == 0;
      taking.nothing = 0;
      takings.write(taking);
      if (plan.coded()) send_mask(tile, masks...);
      at.advance(plan);
    }
    first = (tiles_left == 0) & (left == 0);
  } while (!first);
}

// Takes the words of every raw beat. A payload whose widths ask for more is continued with zeros, and what is left of
// one is dropped; either is a wrong layout.
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

}  // namespace speckv
