// kv_compress: request in, frame out.
//
//   inspect ─> admit ─> measure ─ page ──────────────> quantize ─ codes ──> seal ─ payload ─> emit
//                          └─ ranges ─> fit ─ quantizers ──┘                 │                 │
//                                        └─ parameters ──────────────────────┘── sealed header ┘
//
// Every process handles one packet per call and one beat per cycle; its loop is the whole process, so the next
// packet follows without a gap. A page waits in `page` until its ranges are known, and its payload waits in
// `payload` until its CRC is known: the two FIFOs that hold pages.
#pragma once

#include "admit.hpp"
#include "cursor.hpp"
#include "int8.hpp"

namespace speckv {

constexpr int kGroupsPerRow = kLanes;  // one group per lane
using range_row_t = ap_uint<32 * kLanes>;
using quantizer_row_t = ap_uint<kQuantizerBits * kLanes>;

// Least and greatest key of a beat, as a tree.
inline KeyRange range_of_beat(const beat_t& beat) {
  value_t lo[kLanes], hi[kLanes];
#pragma HLS array_partition variable=lo complete
#pragma HLS array_partition variable=hi complete
range_leaves:
  for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
    lo[l] = hi[l] = order_key(lane(beat, l));
  }
range_levels:
  for (int width = kLanes / 2; width > 0; width /= 2) {
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

inline ap_uint<32> packed(const KeyRange& range) {
  ap_uint<32> bits;
  bits.range(15, 0) = range.lo;
  bits.range(31, 16) = range.hi;
  return bits;
}

// Finds the range of every group while the page passes on into its FIFO, and tells at the end whether all was finite.
//
// K: a row of 32 ranges leaves at the last token of a tile. V: a range leaves after every `group_blocks` beats.
template <class D>
void measure(hls::stream<Plan<D>>& plans, beat_stream& beats, hls::stream<Plan<D>>& fit_plans,
             hls::stream<Plan<D>>& quantize_plans, beat_stream& page, hls::stream<range_row_t>& key_ranges,
             hls::stream<ap_uint<32>>& value_ranges, hls::stream<flag_t>& finite) {
  beat_t lows[D::max_blocks], highs[D::max_blocks];  // K: the tile's ranges so far, one row a block
  Plan<D> plan = Plan<D>();
  ap_uint<bits_for(D::max_page_beats)> left = 0;
  Cursor<D> at;
  value_t group_lo = 0, group_hi = 0;  // V: the group's range so far
  bool all_finite = true;
  bool first = true;
measure_beats:  // II = 1: one beat arrives in every cycle
  do {
#pragma HLS pipeline II=1 rewind
    if (first) {
      plan = plans.read();
      fit_plans.write(plan);
      quantize_plans.write(plan);
      left = plan.raw_beats;
      at = Cursor<D>();
      all_finite = true;
    } else {
      const beat_t beat = beats.read();
      page.write(beat);
      left -= 1;

      const bool tile_begins = at.tile_token == 0;
      beat_t low = lows[at.block], high = highs[at.block];
      range_row_t row = 0;
      ap_uint<kLanes> not_finite = 0;
    measure_lanes:
      for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
        const value_t x = lane(beat, l);
        not_finite[l] = !is_finite(x);
        const value_t key = order_key(x);
        KeyRange range;
        range.lo = (tile_begins || key < lane(low, l)) ? key : lane(low, l);
        range.hi = (tile_begins || key > lane(high, l)) ? key : lane(high, l);
        set_lane(low, l, range.lo);
        set_lane(high, l, range.hi);
        row.range(32 * l + 31, 32 * l) = packed(range);
      }
      lows[at.block] = low;
      highs[at.block] = high;
      all_finite = all_finite && !not_finite.or_reduce();
      if (plan.int8 && !plan.values && at.tile_ends(plan)) key_ranges.write(row);

      const KeyRange range = range_of_beat(beat);
      const bool group_begins = at.group_block == 0;
      if (group_begins || range.lo < group_lo) group_lo = range.lo;
      if (group_begins || range.hi > group_hi) group_hi = range.hi;
      if (plan.int8 && plan.values && at.group_ends(plan)) {
        KeyRange group;
        group.lo = group_lo;
        group.hi = group_hi;
        value_ranges.write(packed(group));
      }
      at.advance(plan);
    }
    first = left == 0;
    if (first) finite.write(all_finite);
  } while (!first);
}

// Turns ranges into parameters and quantisers, one group per cycle: a page has far fewer groups than beats unless it
// is short, and one fitter is 32 times smaller than one for each lane.
template <class D>
void fit(hls::stream<Plan<D>>& plans, hls::stream<range_row_t>& key_ranges, hls::stream<ap_uint<32>>& value_ranges,
         beat_stream& parameters, hls::stream<quantizer_row_t>& quantizers) {
  bool values = false;
  bool first = true;
  ap_uint<bits_for(D::max_groups)> left = 0;
  ap_uint<5> slot = 0;  // which lane of a row the group is for
  range_row_t ranges = 0;
  beat_t words = 0;
  quantizer_row_t row = 0;
fit_groups:  // II = 1: one group per cycle
  do {
#pragma HLS pipeline II=1 rewind
    if (first) {
      const Plan<D> plan = plans.read();
      values = plan.values;
      left = plan.groups;
      slot = 0;
    } else {
      if (!values && slot == 0) ranges = key_ranges.read();
      ap_uint<32> bits = ranges.range(31, 0);
      ranges >>= 32;
      if (values) bits = value_ranges.read();
      KeyRange range;
      range.lo = bits.range(15, 0);
      range.hi = bits.range(31, 16);
      const Fit f = fit_group(range);

      left -= 1;
      const bool ends = left == 0;
      const ap_uint<4> word = slot.range(3, 0);
      ap_uint<32> parameter;
      parameter.range(15, 0) = f.lo;
      parameter.range(31, 16) = f.scale;
      words = placed<kGroupsPerBeat, 32>(word == 0 ? beat_t(0) : words, word, parameter);
      row = placed<kGroupsPerRow, kQuantizerBits>(row, slot, packed(f.quantizer));
      if (word == kGroupsPerBeat - 1 || ends) parameters.write(words);
      if (slot == kGroupsPerRow - 1 || ends) quantizers.write(row);
      slot += 1;
    }
    first = left == 0;
  } while (!first);
}

// The plan of a page once it is known to be finite or not.
template <class D>
struct Coded {
  Plan<D> plan;
  flag_t fitted;  // `fit` has made parameters for this page, used or not
};

// Encodes the page beat by beat. A page with NaN or Inf becomes raw here, and its quantisers are thrown away.
template <class D>
void quantize(hls::stream<Plan<D>>& plans, hls::stream<flag_t>& finite, beat_stream& page,
              hls::stream<quantizer_row_t>& quantizers, hls::stream<Coded<D>>& coded, beat_stream& codes) {
  quantizer_row_t table[D::max_rows];
  Plan<D> plan = Plan<D>();
  ap_uint<bits_for(D::max_rows)> rows = 0;    // rows still to load
  ap_uint<bits_for(D::max_rows)> loaded = 0;
  ap_uint<bits_for(D::max_page_beats)> left = 0;
  Cursor<D> at;
  ap_uint<8 * kLanes> half = 0;               // codes of the beat before
  bool odd = false;                           // a half beat of codes is waiting
  bool first = true;
quantize_beats:  // II = 1: one beat of the page per cycle, after its few rows
  do {
#pragma HLS pipeline II=1 rewind
    if (first) {
      plan = plans.read();
      Coded<D> c;
      c.fitted = plan.int8;
      rows = (plan.groups + (kGroupsPerRow - 1)) / kGroupsPerRow;
      if (!finite.read() && plan.int8) {
        plan.int8 = 0;
        plan.payload_beats = plan.raw_beats;
      }
      c.plan = plan;
      coded.write(c);
      left = plan.raw_beats;
      loaded = 0;
      odd = false;
      at = Cursor<D>();
    } else if (rows != 0) {
      table[loaded] = quantizers.read();
      loaded += 1;
      rows -= 1;
    } else {
      const beat_t beat = page.read();
      left -= 1;
      const quantizer_row_t row = table[at.row(plan)];
      const ap_uint<kQuantizerBits> shared = pick<kLanes, kQuantizerBits>(row, at.row_lane());  // V: the group's
      ap_uint<8 * kLanes> now;
    quantize_lanes:
      for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
        const ap_uint<kQuantizerBits> own = row.range(kQuantizerBits * (l + 1) - 1, kQuantizerBits * l);
        const Quantizer q = unpacked(plan.values ? shared : own);
        now.range(8 * l + 7, 8 * l) = quantize_value(lane(beat, l), q);
      }
      beat_t packed_codes = 0;
      packed_codes.range(255, 0) = odd ? half : now;
      if (odd) packed_codes.range(511, 256) = now;
      if (!plan.int8 || odd || left == 0) codes.write(plan.int8 ? packed_codes : beat);
      half = now;
      odd = !odd;
      at.advance(plan);
    }
    first = rows == 0 && left == 0;
  } while (!first);
}

// A frame's header, ready but for its own CRC, and what was wrong with the packet.
template <class D>
struct Sealed {
  beat_t header;
  payload_count_t<D> beats;  // payload that waits in its FIFO
};

// Puts parameters before codes, and completes the header when the payload's CRC is known.
template <class D>
void seal(hls::stream<Coded<D>>& coded, beat_stream& headers, beat_stream& parameters, beat_stream& codes,
          beat_stream& payload, hls::stream<Sealed<D>>& sealed) {
  Coded<D> c = Coded<D>();
  beat_t head = 0;
  ap_uint<bits_for(D::max_parameter_beats)> words = 0;  // parameter beats still to come
  payload_count_t<D> left = 0;
  crc_t crc = 0;
  bool first = true;
seal_beats:  // II = 1: one beat of payload per cycle
  do {
#pragma HLS pipeline II=1 rewind
    if (first) {
      c = coded.read();
      head = headers.read();
      words = c.plan.parameter_beats;
      left = c.plan.payload_beats;
      crc = kCrcStart;
    } else {
      const bool parameter = words != 0;
      beat_t beat;
      if (parameter) {
        beat = parameters.read();
        words -= 1;
      } else {
        beat = codes.read();
      }
      if (!parameter || c.plan.int8) {
        payload.write(beat);
        left -= 1;
        crc = crc_next(crc, beat);
      }
    }
    first = words == 0 && left == 0;
    if (first) {
      const bool fell_back = header::get<header::codec>(head) == kInt8 && !c.plan.int8;
      const ap_uint<32> payload_crc = c.plan.payload_beats == 0 ? ap_uint<32>(0) : ap_uint<32>(~crc);
      Sealed<D> s;
      s.header = head;
      s.beats = c.plan.payload_beats;
      header::set<header::requested_codec>(s.header, header::get<header::codec>(head));
      if (c.plan.status == kOk) header::set<header::codec>(s.header, c.plan.int8 ? kInt8 : kRaw);
      header::set<header::flags>(s.header, c.plan.status != kOk || !fell_back ? 0 : c.fitted ? kNonFinite : kNoShrink);
      header::set<header::payload_bytes>(s.header, c.plan.payload_beats * kBeatBytes);
      header::set<header::payload_crc>(s.header, payload_crc);
      header::set<header::raw_crc>(s.header, c.plan.int8 ? ap_uint<32>(0) : payload_crc);
      header::set<header::reserved>(s.header, 0);
      sealed.write(s);
    }
  } while (!first);
}

// Sends header and payload; or, if anything was wrong with the packet, a header that says so and nothing else.
template <class D>
void emit(hls::stream<Sealed<D>>& sealed, hls::stream<status_t>& verdicts, beat_stream& payload, axis_stream& out) {
  bool first = true;
  bool good = true;
  payload_count_t<D> left = 0;
emit_beats:  // II = 1: one beat leaves in every cycle
  do {
#pragma HLS pipeline II=1 rewind
    if (first) {
      Sealed<D> s = sealed.read();
      const status_t status = verdicts.read();
      good = status == kOk;
      left = s.beats;
      header::set<header::status>(s.header, status);
      if (!good) {
        header::set<header::codec>(s.header, header::get<header::requested_codec>(s.header));
        header::set<header::flags>(s.header, 0);
        header::set<header::payload_bytes>(s.header, 0);
        header::set<header::payload_crc>(s.header, 0);
        header::set<header::raw_crc>(s.header, 0);
      }
      header::set<header::header_crc>(s.header, header_crc(s.header));
      out.write(whole_beat(s.header, !good || left == 0));
    } else {
      const beat_t beat = payload.read();
      left -= 1;
      if (good) out.write(whole_beat(beat, left == 0));
    }
    first = left == 0;
  } while (!first);
}

}  // namespace speckv
