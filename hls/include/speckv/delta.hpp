// The coder of `int8-delta-rle`: differences along the tokens, and their runs of zeros. A baseline, of two cycles a value.
//
//   compress    admit ─> delta_keep ─> (rotate) ─> measure ... encode ─> pack ─> delta_divide ══ others ══> delta_merge ─> seal
//                            │                                                        └─> delta_encode ─────────┘
//                            └══ page as it came ═════════════════════════════════════════════┘
//   decompress  sections ─> delta_divide ══ others ══> delta_merge ─> unpack
//                                └─> delta_decode ──────────┘
//
// To all others such a page is a quant8 page: `delta_encode` takes the payload of one, `delta_decode` makes one. Pages of
// other codecs pass beside these two at a beat per cycle.
#pragma once

#include "seal.hpp"
#include "unpack.hpp"

namespace speckv {

using codes_t = ap_uint<8 * kLanes>;  // of a raw beat
constexpr int kCodeWords = 8;         // words of a raw beat
constexpr int kLongestRun = 256;

// The words of a raw beat, in the lower half of a beat, as codes; and back.
inline codes_t codes_of(const beat_t& words) { return low_bytes(numbers_of(words)); }

inline beat_t words_of(const codes_t& codes) {
  beat_t numbers = 0;
code_lanes:
  for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
    numbers.range(16 * l + 7, 16 * l) = codes.range(8 * l + 7, 8 * l);
  }
  return planes_of(numbers);
}

// Lane by lane a - b, or a + b, modulo 256.
template <bool Adds>
codes_t lanewise(const codes_t& a, const codes_t& b) {
  codes_t result;
lanes:
  for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
    const int low = 8 * l, high = 8 * l + 7;
    const ap_uint<8> x = a.range(high, low), y = b.range(high, low);
    result.range(high, low) = Adds ? ap_uint<8>(x + y) : ap_uint<8>(x - y);
  }
  return result;
}

// Sends the beats of delta-coded pages one way and those of all others another one.
template <class Beat>
void delta_divide(hls::stream<way_t>& ways_in, hls::stream<Beat>& beats_in, hls::stream<way_t>& ways,
                  hls::stream<Beat>& others, hls::stream<Beat>& delta_beats) {
  way_t way = kNoBeats;  // while there are beats left of a page
delta_divide_beats:  // II = 1: one beat per cycle. Round goes nothing but the way
  do {
#pragma HLS pipeline II=1 rewind
    if (way == kNoBeats) {
      const way_t next = ways_in.read();
      ways.write(next);
      way = next == kNoDeltaBeats ? way_t(kNoBeats) : next;
    } else {
      const Beat beat = beats_in.read();
      if (way == kDeltaBeats)
        delta_beats.write(beat);
      else
        others.write(beat);
      way = beat.last ? way_t(kNoBeats) : way;
    }
  } while (way != kNoBeats);
}

// Takes the beats back, page by page.
template <class Beat>
void delta_merge(hls::stream<way_t>& ways, hls::stream<Beat>& others, hls::stream<Beat>& delta_beats,
                 hls::stream<Beat>& beats) {
  way_t way = kNoBeats;  // while there are beats left of a page
delta_merge_beats:  // II = 1: one beat per cycle. Round goes nothing but the way
  do {
#pragma HLS pipeline II=1 rewind
    if (way == kNoBeats) {
      way = ways.read();
    } else {
      Beat beat;
      if (way == kOtherBeats)
        beat = others.read();
      else
        beat = delta_beats.read();
      beats.write(beat);
      way = beat.last ? way_t(kNoBeats) : way;
    }
  } while (way != kNoBeats);
}

// Copies the beats of pages that are to be delta-coded, in case they do not shrink.
// To all pages it tells their way.
template <class D>
void delta_keep(hls::stream<Plan<D>>& plans_in, beat_stream& beats_in, hls::stream<Plan<D>>& plans, beat_stream& beats,
                hls::stream<way_t>& ways, hls::stream<Plan<D>>& delta_plans, beat_stream& kept) {
  Plan<D> plan = Plan<D>();
  page_count_t<D> left = 0;
  bool first = true;
delta_keep_beats:  // II = 1: one beat arrives in every cycle
  do {
#pragma HLS pipeline II=1 rewind
    if (first) {
      plan = plans_in.read();
      plans.write(plan);
      ways.write(plan.delta() ? kDeltaBeats : kOtherBeats);
      delta_plans.write(plan);
      left = plan.raw_beats;
    } else {
      const beat_t beat = beats_in.read();
      beats.write(beat);
      if (plan.delta()) kept.write(beat);
      left -= 1;
    }
    first = left == 0;
  } while (!first);
}

// Codes a quant8 page's codes, and decides when it knows their number of bytes whether they are sent or the page as it
// came. What is coded of other pages passes.
template <class D>
void delta_encode(hls::stream<Plan<D>>& plans, beat_stream& kept, hls::stream<Coded>& coded_in,
                  hls::stream<Packed>& packed_in, hls::stream<Coded>& coded, hls::stream<Packed>& packed) {
  enum State : unsigned { kBegin, kTake, kDifferences, kBytes, kEnd, kSend };
  beat_t payload[D::max_page_beats];
  codes_t tokens[D::max_blocks];  // codes of the token before
  ap_uint<3> state = kBegin;
  Plan<D> plan = Plan<D>();
  Coded c = Coded();
  payload_count_t<D> parameters_left = 0;
  page_count_t<D> codes_left = 0, sent = 0;
  page_count_t<D> beats = 0;  // of the payload; with as many as the page has it does not shrink, and is not kept
  ap_uint<bits_for(D::max_blocks)> block = 0;
  codes_t before = 0, before_next = 0;
  bool first_token = true;
  bool taken = false;   // the page's last words are
  bool second = false;  // half of `words`
  beat_t words = 0, bytes = 0;
  ap_uint<6> filled = 0;  // bytes of `bytes`
  codes_t values = 0;
  ap_uint<5> lane_at = 0;
  ap_uint<8> run = 0;  // zeros so far
delta_encode_steps:  // II = 1 is asked for, hlsc needs 2: one value, or the byte that ends a run, in each step. What
                     // `tokens` holds is asked for early
  do {
#pragma HLS pipeline II=1 rewind
    Packed p;
    p.beat = 0;
    p.sends = p.last = 0;
    bool writes = false, stores = false, appends = false;
    ap_uint<8> byte = 0;
    beat_t stored = 0;
    if (state == kBegin) {
      c = coded_in.read();
      plan = plans.read();
      if (!plan.delta()) coded.write(c);
      parameters_left = plan.payload_beats;
      codes_left = plan.raw_beats;
      beats = sent = 0;
      block = 0;
      first_token = true;
      if (plan.delta()) state = kTake;
    } else if (state == kTake) {
      const Packed in = packed_in.read();
      words = in.beat;
      second = false;
      taken = in.last;
      if (c.raw) {  // not finite
        if (in.last) state = kEnd;
      } else if (parameters_left != 0) {
        stores = true;
        stored = in.beat;
        parameters_left -= 1;
      } else {
        state = in.sends ? kDifferences : kEnd;
      }
    } else if (state == kDifferences) {
      const codes_t codes = codes_of(words);
      values = lanewise<false>(codes, first_token ? codes_t(0) : before);
      tokens[block] = codes;
      first_token = first_token && block != plan.last_block;
      block = block == plan.last_block ? decltype(block)(0) : decltype(block)(block + 1);
      words >>= 32 * kCodeWords;
      codes_left -= 1;
      state = kBytes;
    } else if (state == kBytes) {
      const ap_uint<8> value = values.range(7, 0);
      const bool zero = value == 0, longest = run == kLongestRun - 1;
      appends = !zero || run == 0 || longest;
      byte = run == 0 ? value : zero ? ap_uint<8>(kLongestRun - 1) : ap_uint<8>(run - 1);
      if (zero || run == 0) {  // else the value is for the next step
        values >>= 8;
        lane_at += 1;
        if (lane_at == 0) {
          state = codes_left == 0 ? (taken ? kEnd : kTake) : second ? kTake : kDifferences;
          second = true;
        }
      }
      run = zero && !longest ? ap_uint<8>(run + 1) : ap_uint<8>(0);
    } else if (state == kEnd) {  // ends the last run and fills the last beat
      appends = run != 0 || filled != 0;
      if (run != 0) byte = run - 1;
      run = 0;
      if (!appends) {
        if (!c.raw && beats == plan.raw_beats) {
          c.raw = 1;
          c.flags = kNoShrink;
          c.scale_exponent = 0;
        }
        coded.write(c);
        state = kSend;
      }
    } else {
      const beat_t raw = kept.read();
      writes = true;
      p.beat = c.raw ? raw : payload[sent];
      p.sends = c.raw || sent < beats;
      sent += 1;
      p.last = sent == plan.raw_beats;
      if (p.last) state = kBegin;
    }
    if (writes) packed.write(p);

    if (appends) {
      bytes >>= 8;
      bytes.range(511, 504) = byte;
      filled += 1;
      stores = filled == 0;
      stored = bytes;
    }
    if (stores && beats != plan.raw_beats) {
      payload[beats] = stored;
      beats += 1;
    }
    before = before_next;
    before_next = tokens[block];
  } while (state != kBegin);
}

// Turns the bytes of a delta-coded page into words of a quant8 page. Of other pages it has the plan only.
//
// Bytes that are missing are zeros, as everywhere. If the section is not what its bytes take, or the last run goes beyond
// the page, a surplus beat follows, from which `unpack` learns that the layout is wrong.
template <class D>
void delta_decode(hls::stream<Plan<D>>& plans, hls::stream<Words>& words_in, hls::stream<Words>& words) {
  enum State : unsigned { kBegin, kBytes, kCodes, kRest, kEnd, kSurplus };
  codes_t tokens[D::max_blocks];  // codes of the token before
  ap_uint<3> state = kBegin;
  Plan<D> plan = Plan<D>();
  payload_count_t<D> bytes_left = 0;  // beats of them
  page_count_t<D> codes_left = 0;
  ap_uint<bits_for(D::max_blocks)> block = 0;
  bool first_token = true;
  bool second = false;     // half of `decoded`
  flag_t right = 1;        // the layout
  beat_t bytes = 0, decoded = 0;
  ap_uint<6> taken = 0;    // bytes of `bytes`
  bool length_next = false;
  ap_uint<8> run = 0;      // zeros that are still to come
  codes_t values = 0;
  ap_uint<5> lane_at = 0;
delta_decode_steps:  // II = 1 is asked for, hlsc needs 2: one value, or the byte that tells a run's length, in each step
  do {
#pragma HLS pipeline II=1 rewind
    Words w;
    w.words = 0;
    w.last = 1;
    bool writes = false;
    if (state == kBegin) {
      plan = plans.read();
      bytes_left = plan.sections.word_beats;
      codes_left = plan.raw_beats;
      block = 0;
      first_token = true;
      second = false;
      right = 1;
      taken = 0;
      if (plan.delta()) state = kBytes;
    } else if (state == kBytes || state == kRest) {
      // a byte, unless zeros of a run are still to come; at the page's end only the length of its last run
      const bool takes = run == 0 && (state == kBytes || length_next);
      ap_uint<8> byte = 0;
      if (takes) {
        if (taken == 0) {
          bytes = 0;
          if (bytes_left == 0)
            right = 0;
          else {
            bytes = words_in.read().words;
            bytes_left -= 1;
          }
        }
        byte = bytes.range(7, 0);
        bytes >>= 8;
        taken += 1;
      }
      if (state == kRest) {
        right = right & flag_t(run == 0) & flag_t(byte == 0);
        run = 0;
        length_next = false;
        state = kEnd;
      } else if (takes && length_next) {
        run = byte;
        length_next = false;
      } else {
        if (!takes) run -= 1;
        length_next = takes && byte == 0;
        values >>= 8;
        values.range(255, 248) = byte;
        lane_at += 1;
        if (lane_at == 0) state = kCodes;
      }
    } else if (state == kCodes) {
      const codes_t codes = lanewise<true>(values, first_token ? codes_t(0) : tokens[block]);
      tokens[block] = codes;
      first_token = first_token && block != plan.last_block;
      block = block == plan.last_block ? decltype(block)(0) : decltype(block)(block + 1);
      const beat_t planes = words_of(codes);
      decoded = second ? beat_t(decoded | (planes << 256)) : planes;
      w.words = decoded;
      w.last = 0;
      codes_left -= 1;
      writes = second && codes_left != 0;
      second = !second;
      state = codes_left == 0 ? kRest : kBytes;
    } else if (state == kEnd) {  // beats that are left are dropped
      if (bytes_left != 0) {
        right = 0;
        bytes_left -= 1;
        words_in.read();
      } else {
        writes = true;
        w.words = decoded;
        w.last = right;
        state = right ? kBegin : kSurplus;
      }
    } else {
      writes = true;
      state = kBegin;
    }
    if (writes) words.write(w);
  } while (state != kBegin);
}

}  // namespace speckv
