// The second pass over a page: values to small numbers, numbers to words.
#pragma once

#include "crc32c.hpp"
#include "measure.hpp"
#include "seal.hpp"

namespace speckv {

// Streams that not every design has: pages of symbols for the prefix coder, and in designs that rotate all pages as they
// were.
inline beat_t original_of(const beat_t& values) { return values; }
inline beat_t original_of(const RunValues&, beat_stream& originals) { return originals.read(); }
template <class Values, class Count, class... More>
beat_t original_of(const Values& values, hls::stream<Count>&, symbol_stream&, More&... more) {
  return original_of(values, more...);
}

template <class Count, class... Others>
void begin_symbols(const Count&, Others&...) {}
template <class Count, class... More>
void begin_symbols(const Count& beats, hls::stream<Count>& pages, symbol_stream&, More&...) {
  pages.write(beats);
}

template <class... Others>
void send_symbols(const SymbolBeat&, Others&...) {}
template <class Count, class... More>
void send_symbols(const SymbolBeat& beat, hls::stream<Count>&, symbol_stream& symbols, More&...) {
  symbols.write(beat);
}

// The parameters in a row: wires only.
template <class D>
beat_t parameters_of(const ap_uint<slot_bits<D>() * groups_per_beat<D>()>& slots) {
  constexpr int kBits = 2 * D::scale_bits;
  beat_t parameters = 0;
parameter_groups:
  for (int g = 0; g < groups_per_beat<D>(); ++g) {
#pragma HLS unroll
    const int low = slot_bits<D>() * g;
    parameters.range(kBits * g + kBits - 1, kBits * g) = slots.range(low + kBits - 1, low);
  }
  return parameters;
}

// Encodes the page beat by beat. A page that does not shrink, or is to be quantised and has a NaN or Inf, becomes raw
// here, and what `fit` made of it is thrown away.
template <class D, class Values, class... Optional>
void encode(hls::stream<Plan<D>>& plans, hls::stream<Fitted<D>>& fitted, hls::stream<Row<D>>& rows,
            hls::stream<tile_word_t>& tiles_in, hls::stream<Values>& page, hls::stream<Coded>& coded,
            hls::stream<Piece>& pieces, hls::stream<crc_t>& raw_crcs, Optional&... optional) {
  using Slots = ap_uint<slot_bits<D>() * groups_per_beat<D>()>;
  Slots table[D::max_rows], upper_table[D::max_rows];  // a slot per lane; upper halves with scales of 16 bits only
  tile_word_t tiles[D::max_rows];
  Plan<D> plan = Plan<D>();
  ap_uint<8> greatest_exponent = 0;
  row_count_t<D> rows_left = 0, tiles_left = 0, index = 0;
  page_count_t<D> left = 0;
  Cursor<D> at;
  ap_uint<4> place = 0;  // of the next word in its beat
  bool upper = false;    // the next beat of slots is a row's upper half
  bool open = false;     // the section of words is to be closed at its end
  crc_t raw_crc = 0;
  bool first = true;
encode_beats:  // II = 1: one beat of the page per cycle, after its few rows. Only the CRC goes round with wide words
  do {
#pragma HLS pipeline II=1 rewind
    if (first) {
      plan = plans.read();
      const Fitted<D> f = fitted.read();
      rows_left = plan.rows;
      tiles_left = plan.exponents() ? row_count_t<D>(plan.rows + 1) : row_count_t<D>(0);
      greatest_exponent = f.greatest_exponent;
      if (f.flags != 0) plan.become_raw();
      Coded c;
      c.flags = f.flags;
      c.raw = plan.transform == kRaw;
      c.exact = plan.exponents();
      c.prefixed = plan.coded();
      c.scale_exponent = plan.quantised() ? greatest_exponent : ap_uint<8>(0);
      coded.write(c);
      begin_symbols(plan.coded() ? plan.raw_beats : page_count_t<D>(0), optional...);
      left = plan.raw_beats;
      open = plan.transform != kRaw;
      first = false;
      index = 0;
      upper = false;
      at = Cursor<D>();
      raw_crc = kCrcStart;
    } else {
      const bool loads_row = rows_left != 0, sends_tile = !loads_row && tiles_left != 0;
      const bool has_beat = !loads_row && !sends_tile && left != 0;
      Piece piece;
      piece.words = 0;
      SymbolBeat symbols;
      word_count_t count = 0;
      bool closes = false;
      if (loads_row) {
        const Row<D> row = rows.read();
        if (upper)
          upper_table[index] = row.slots;
        else
          table[index] = row.slots;
        tiles[index] = row.tile;
        upper = fine_scales<D>() && !upper && !plan.exponents();
        if (!upper) index += 1;
        rows_left -= 1;
        piece.words = plan.exponents() ? beat_t(low_bytes(row.slots)) : parameters_of<D>(row.slots);
        count = plan.exponents() ? kWordsPerBeat / 2 : kWordsPerBeat;
      } else if (sends_tile) {
        closes = tiles_left == 1;
        if (!closes) {
          piece.words = tiles_in.read();
          count = 1;
        }
        tiles_left -= 1;
      } else if (!has_beat) {  // the end of a page with a section of words, or without any beats
        closes = true;
        first = true;
      } else {
        const Values values = page.read();
        const beat_t beat = values_of(values);
        const beat_t raw = original_of(values, optional...);
        const auto row = joined<D>(table[at.row(plan)], upper_table[at.row(plan)]);
        const tile_word_t tile = plan.exponents() ? tiles[at.row(plan)] : tile_word_t(0);
        const slot_t<D> shared = pick<kLanes, slot_bits<D>()>(row, at.row_lane());  // along tokens: the group's
        const ap_uint<8> largest_code = ones_of(code_bits(plan.transform));
        const Reading<D> reading(plan, greatest_exponent);
        beat_t numbers = 0;
        symbols.wide = plan.exponents() ? tile : tile_word_t(0);
      encode_lanes:
        for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
          const slot_t<D> own = row.range(slot_bits<D>() * (l + 1) - 1, slot_bits<D>() * l);
          const Group<D> group(plan.by_token() ? shared : own);
          const ap_uint<8> base = row.range(16 * l + 7, 16 * l);
          const value_t x = lane(beat, l);
          value_t number = code_of<D>(x, reading, run_exponent_of(values), group, largest_code);
          ap_uint<8> symbol = number;
          if (plan.exponents()) {
            symbol = exponent_symbol<D>(x, plan.half, base, ones_of(tile, plan.coded(), l));
            number = exponent_number<D>(x, plan.half, symbol);
          }
          set_lane(numbers, l, number);
          symbols.values.range(8 * l + 7, 8 * l) = symbol;
        }
        piece.words = plan.transform == kRaw ? raw : planes_of(numbers);
        count = plan.words() + (plan.coded() ? width_t(0) : width_t(tile));
        if (has_exponents<D>()) raw_crc = crc_next(raw_crc, raw);
        first = !open && left == 1;
        left -= 1;
        at.advance(plan);
      }
      place_piece(piece, place, count, closes);
      piece.last = first;
      if (plan.transform != kRaw || !(loads_row || sends_tile)) pieces.write(piece);
      if (has_beat && plan.coded()) send_symbols(symbols, optional...);
    }
    if (first) raw_crcs.write(raw_crc);
  } while (!first);
}

}  // namespace speckv
