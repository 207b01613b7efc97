// The second pass over a page: values to small numbers, numbers to words.
#pragma once

#include "crc32c.hpp"
#include "measure.hpp"
#include "seal.hpp"

namespace speckv {

// What came in as the beat whose values are `values`: in designs that rotate, all pages wait a second time as they were.
inline beat_t original_of(const beat_t& values) { return values; }
inline beat_t original_of(const RunValues&, beat_stream& originals) { return originals.read(); }

// Encodes the page beat by beat. A page that does not shrink, or is to be quantised and has a NaN or Inf, becomes raw
// here, and what `fit` made of it is thrown away.
template <class D, class Values, class... Originals>
void encode(hls::stream<Plan<D>>& plans, hls::stream<Fitted<D>>& fitted, hls::stream<Row>& rows,
            hls::stream<width_t>& widths_in, hls::stream<Values>& page, hls::stream<Coded>& coded,
            hls::stream<Piece>& pieces, hls::stream<crc_t>& raw_crcs, Originals&... originals) {
  beat_t table[D::max_rows];
  width_t widths[D::max_rows];
  Plan<D> plan = Plan<D>();
  ap_uint<8> greatest_exponent = 0;
  row_count_t<D> rows_left = 0, widths_left = 0, index = 0;
  page_count_t<D> left = 0;
  Cursor<D> at;
  ap_uint<4> place = 0;  // of the next word in its beat
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
      widths_left = plan.exponents() ? row_count_t<D>(plan.rows + 1) : row_count_t<D>(0);
      greatest_exponent = f.greatest_exponent;
      Coded c;
      c.flags = plan.no_shrink ? kNoShrink : 0;
      if (plan.exponents() && f.payload_beats >= plan.raw_beats) {
        plan.become_raw();
        c.flags = kNoShrink;
      } else if (plan.quantised() && !f.finite) {
        plan.become_raw();
        c.flags = kNonFinite;
      }
      c.raw = plan.transform == kRaw;
      c.exact = plan.exponents();
      c.prefixed = 0;
      c.scale_exponent = plan.quantised() ? greatest_exponent : ap_uint<8>(0);
      coded.write(c);
      left = plan.raw_beats;
      open = plan.transform != kRaw;
      first = false;
      index = 0;
      at = Cursor<D>();
      raw_crc = kCrcStart;
    } else {
      const bool loads_row = rows_left != 0, sends_width = !loads_row && widths_left != 0;
      const bool has_beat = !loads_row && !sends_width && left != 0;
      Piece piece;
      piece.words = 0;
      word_count_t count = 0;
      bool closes = false;
      if (loads_row) {
        const Row row = rows.read();
        table[index] = row.slots;
        widths[index] = row.width;
        index += 1;
        rows_left -= 1;
        piece.words = plan.exponents() ? beat_t(low_bytes(row.slots)) : row.slots;
        count = plan.exponents() ? kWordsPerBeat / 2 : kWordsPerBeat;
      } else if (sends_width) {
        closes = widths_left == 1;
        if (!closes) {
          piece.words = widths_in.read();
          count = 1;
        }
        widths_left -= 1;
      } else if (!has_beat) {  // the end of a page with a section of words, or without any beats
        closes = true;
        first = true;
      } else {
        const Values values = page.read();
        const beat_t beat = values_of(values);
        const beat_t raw = original_of(values, originals...);
        const beat_t row = table[at.row(plan)];
        const width_t width = plan.exponents() ? widths[at.row(plan)] : width_t(0);
        const ap_uint<16> shared = pick<kLanes, 16>(row, at.row_lane());  // along tokens: the group's
        const ap_uint<8> largest_code = ones_of(code_bits(plan.transform));
        const Reading<D> reading(plan, greatest_exponent);
        beat_t numbers = 0;
      encode_lanes:
        for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
          const ap_uint<16> own = lane(row, l);
          const Parameter parameter(plan.by_token() ? shared : own);
          const value_t x = lane(beat, l);
          value_t number = code_of<D>(x, reading, run_exponent_of(values), parameter, largest_code);
          if (plan.exponents()) number = exponent_number<D>(x, plan.half, own, ones_of(width));
          set_lane(numbers, l, number);
        }
        piece.words = plan.transform == kRaw ? raw : planes_of(numbers);
        count = plan.words() + width;
        if (has_exponents<D>()) raw_crc = crc_next(raw_crc, raw);
        first = !open && left == 1;
        left -= 1;
        at.advance(plan);
      }
      place_piece(piece, place, count, closes);
      piece.last = first;
      if (plan.transform != kRaw || !(loads_row || sends_width)) pieces.write(piece);
    }
    if (first) raw_crcs.write(raw_crc);
  } while (!first);
}

}  // namespace speckv
