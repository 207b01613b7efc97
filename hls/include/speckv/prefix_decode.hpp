// The decoder's side of the prefix coder: a section in, symbols out.
//
//   lanes ───────────────────────> scatter ══ rows, 8 FIFOs ══> decode_lanes ─> symbols
//   lengths ─> measure_lanes ─ bytes ─┘                              │
//                    └──────────────────── lengths ──────────────────┘
//
// While `decode_lanes` decodes one page, `scatter` has the next one ready in the FIFOs. Nothing in a section can stop
// either: lanes end where the section does, zeros follow, and a page has as many symbols as its plan says.
#pragma once

#include "prefix.hpp"

namespace speckv {

// A row of a lane on its way to the memory.
struct LaneRow {
  row_t bytes = 0;
  flag_t last = 0;  // of its lane
};

// The lengths of all lanes, as far as a page can need them, and whether they fit the section.
template <class D>
struct LaneLengths {
  ap_uint<kLanes * LaneMemory<D>::bytes_t::width> lengths = 0;
  flag_t misfit = 0;
};

// Says how many bytes of the section each lane has: its length, but no more than there are left.
template <class D>
void measure_lanes(hls::stream<section_beats_t<D>>& sections, beat_stream& lengths, hls::stream<section_beats_t<D>>& lane_beats,
                   hls::stream<section_bytes_t<D>>& lane_bytes, hls::stream<LaneLengths<D>>& lane_lengths) {
  using bytes_t = typename LaneMemory<D>::bytes_t;
  constexpr int kBits = bytes_t::width;
  beat_t all = 0;
  section_beats_t<D> beats = 0;
  section_bytes_t<D> room = 0;
  ap_uint<bits_for(0xFFFF * kLanes)> declared = 0;
  ap_uint<6> left = 0;  // lanes
  bool first = true;
measure_each_lane:  // II = 1: one lane per cycle
  do {
#pragma HLS pipeline II=1 rewind
    if (first) {
      beats = sections.read();
      lane_beats.write(beats);
      declared = 0;
      left = beats == 0 ? 0 : kLanes;
      if (beats != 0) all = lengths.read();
      beats -= 1;
      room = section_bytes_t<D>(beats) << 6;
    } else {
      const ap_uint<16> length = pick<kLanes, 16>(all, ap_uint<5>(0 - left));
      const section_bytes_t<D> bytes = length > room ? room : section_bytes_t<D>(length);
      lane_bytes.write(bytes);
      room -= bytes;
      declared += length;
      left -= 1;
      if (left == 0) {
        LaneLengths<D> needed;
      needed_lengths:
        for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
          const ap_uint<16> whole = all.range(16 * l + 15, 16 * l);
          needed.lengths.range(kBits * l + kBits - 1, kBits * l) = (whole >> kBits) != 0 ? ~bytes_t(0) : bytes_t(whole);
        }
        needed.misfit = ((declared + (kBeatBytes - 1)) >> 6) != beats;
        lane_lengths.write(needed);
      }
    }
    first = left == 0;
  } while (!first);
}

// Cuts the lanes of a section into rows, one per cycle. Every lane has at least one row, and rows that no page can need
// are left out. A FIFO must hold all rows of a page: `decode_lanes` takes those of eight lanes at a time.
template <class D>
void scatter(hls::stream<section_beats_t<D>>& lane_beats, hls::stream<section_bytes_t<D>>& lane_bytes, beat_stream& lanes,
             hls::stream<LaneRow>& rows0, hls::stream<LaneRow>& rows1, hls::stream<LaneRow>& rows2,
             hls::stream<LaneRow>& rows3, hls::stream<LaneRow>& rows4, hls::stream<LaneRow>& rows5,
             hls::stream<LaneRow>& rows6, hls::stream<LaneRow>& rows7) {
  enum State : unsigned { kBegin, kNextLane, kRow, kSurplus };
  ap_uint<2> state = kBegin;
  section_beats_t<D> left = 0;        // beats
  ap_uint<5> lane = 0;
  section_bytes_t<D> bytes = 0;       // of this lane that are to come
  ap_uint<5> wanted = 0;              // how many of them in this row
  bool lane_ends = false;             // all of them
  typename LaneMemory<D>::row_index_t row = 0;
  bool stored = false;                // all rows of the lane that a page can need were sent
  row_t held = 0;                     // bytes that came last
  ap_uint<5> taken = kRowBytes;       // how many of them are used up
  ap_uint<2> quarter = 0;             // of the beat that comes next
  ap_uint<3 * 8 * kRowBytes> rest = 0;  // quarters 1 to 3
scatter_rows:  // II = 1: one row per cycle
  do {
#pragma HLS pipeline II=1 rewind
    const ap_uint<6> reach = taken + wanted;
    const bool crosses = state == kRow && reach > kRowBytes;
    const bool drops = state == kSurplus && left != 0;
    section_beats_t<D> beats = 0;
    section_bytes_t<D> lane_size = 0;
    beat_t beat = 0;
    if (state == kBegin) {
      beats = lane_beats.read();
    } else if (state == kNextLane) {
      lane_size = lane_bytes.read();
    } else if (drops || (crosses && quarter == 0)) {
      beat = lanes.read();
      left -= 1;
    }
    if (state == kBegin) {
      left = beats - 1;
      taken = kRowBytes;
      quarter = 0;
      lane = 0;
      state = beats == 0 ? kBegin : kNextLane;
    } else if (state == kNextLane) {
      bytes = lane_size;
      lane_ends = bytes <= kRowBytes;
      wanted = lane_ends ? ap_uint<5>(bytes) : ap_uint<5>(kRowBytes);
      row = 0;
      stored = false;
      state = kRow;
    } else if (state == kRow) {
      const row_t next = quarter == 0 ? row_t(beat) : pick<4, 8 * kRowBytes>((rest, row_t(0)), quarter);
      const row_t turned = rotated_up(spliced(next, held, taken), ap_uint<4>(0 - taken));
      const bool full = row == LaneMemory<D>::rows - 1;
      LaneRow out;
      out.bytes = spliced(turned, row_t(0), wanted);
      out.last = lane_ends || full;
      if (!stored) write_group<LaneRow>(lane, out, rows0, rows1, rows2, rows3, rows4, rows5, rows6, rows7);
      stored = stored || full;
      row += 1;
      if (crosses) {
        held = next;
        if (quarter == 0) rest = beat >> (8 * kRowBytes);
        quarter += 1;
      }
      taken = crosses ? ap_uint<5>(reach - kRowBytes) : ap_uint<5>(reach);
      if (lane_ends) {
        state = lane == kLanes - 1 ? kSurplus : kNextLane;
        lane += 1;
      }
      lane_ends = bytes <= 2 * kRowBytes;
      bytes -= kRowBytes;
      wanted = lane_ends ? ap_uint<5>(bytes) : ap_uint<5>(kRowBytes);
    } else if (!drops) {
      state = kBegin;
    }
  } while (state != kBegin);
}

// What a page to be decoded needs.
template <class D>
struct LanePage {
  page_count_t<D> beats;  // 0 for a page that is not prefix-coded
  table_t table;
  flag_t wide;            // a mask of wide lanes comes for every beat
};

// What a lane decodes from: two words in turn, of which bytes go to the end of a window of two bytes.
struct LaneDecoder {
  ap_uint<64> words;
  ap_uint<4> next;     // byte of `words` that comes next; the highest bit tells which time round
  ap_uint<16> window;
  ap_uint<3> used;     // bits of the window's first byte

  void start() {  // AMD's integers begin as anything
    words = 0;
    next = 0;
    window = 0;
    used = 0;
  }

  // Eight bits from the next one on.
  ap_uint<8> ahead() const {
    ap_uint<16> left = window;
  align_window:
    for (int places = 4; places > 0; places /= 2) {
#pragma HLS unroll
      left = (used & places) != 0 ? ap_uint<16>(left << places) : left;
    }
    return left >> 8;
  }
};

// Limits that tell the length of a code: number n is the least number of n bits that begins a longer one.
struct CodeLimits {
  ap_uint<8> of1, of2, of3, of4, of5, of6, of7;
};

namespace detail {

// (bits + used) modulo 8 at [8 bits + used]: a table, so that the sums stand beside the comparisons and not behind them.
struct BitSums {
  unsigned char at[64];
  constexpr BitSums() : at() {
    for (int i = 0; i < 64; ++i) at[i] = (unsigned char)((i / 8 + i % 8) % 8);
  }
};
constexpr BitSums kBitSums;

struct NextBytes {  // the number after each of 16, likewise
  unsigned char at[16];
  constexpr NextBytes() : at() {
    for (int i = 0; i < 16; ++i) at[i] = (unsigned char)((i + 1) % 16);
  }
};
constexpr NextBytes kNextBytes;

}  // namespace detail

// How long the code is that a lane is at: whether longer than so many bits. Single flags: packed into a word they would be
// taken out of it again behind the comparisons.
struct CodeLength {
  bool over1, over2, over3, over4, over5, over6, over7;
};

inline bool over(const ap_uint<8>& ahead, const ap_uint<8>& limit, int bits) {
  return ap_uint<8>(ahead >> (kMaxCodeBits - bits)) >= limit;
}

// One of eight 3-bit numbers: that of the length, the one for 1 bit lowest.
inline ap_uint<3> by_length(const ap_uint<24>& numbers, const CodeLength& is) {
  const bool in_half = is.over6 | (is.over2 & !is.over4);
  const bool in_pair = is.over7 | (is.over5 & !is.over6) | (is.over3 & !is.over4) | (is.over1 & !is.over2);
  const ap_uint<12> half = is.over4 ? ap_uint<12>(numbers >> 12) : ap_uint<12>(numbers);
  const ap_uint<6> pair = in_half ? ap_uint<6>(half >> 6) : ap_uint<6>(half);
  return in_pair ? ap_uint<3>(pair >> 3) : ap_uint<3>(pair);
}

// Bits of the code that the lane is at, less 1. Moves the lane on by so many bits if `decodes`, by a byte if `fills`.
inline ap_uint<3> advance(LaneDecoder& lane, const ap_uint<8>& ahead, const CodeLimits& limits, bool wide, bool decodes,
                          bool fills) {
  const bool codes = decodes & !wide;  // a wide symbol takes a byte and leaves `used` alone
  const CodeLength is = {over(ahead, limits.of1, 1), over(ahead, limits.of2, 2), over(ahead, limits.of3, 3), over(ahead, limits.of4, 4),
                         over(ahead, limits.of5, 5), over(ahead, limits.of6, 6), over(ahead, limits.of7, 7)};
  // A byte goes if the code is longer than what is left of it, less 1.
  const ap_uint<4> at = codes ? ap_uint<4>(lane.used) : ap_uint<4>(kMaxCodeBits);
  const flag_t early = flag_t(fills | (decodes & wide) | (at == 7));
  const flag_t ends1 = flag_t(at == 6) & flag_t(is.over1), ends2 = flag_t(at == 5) & flag_t(is.over2);
  const flag_t ends3 = flag_t(at == 4) & flag_t(is.over3), ends4 = flag_t(at == 3) & flag_t(is.over4);
  const flag_t ends5 = flag_t(at == 2) & flag_t(is.over5), ends6 = flag_t(at == 1) & flag_t(is.over6);
  const flag_t ends7 = flag_t(at == 0) & flag_t(is.over7);
  const flag_t next_byte = ((ends1 | ends2) | (ends3 | ends4)) | ((ends5 | ends6) | (ends7 | early));
  ap_uint<24> after = 0, numbers = 0;
after_lengths:
  for (int n = 0; n < kMaxCodeBits; ++n) {
#pragma HLS unroll
    const ap_uint<3> bits = codes ? n + 1 : 0;
    after.range(3 * n + 2, 3 * n) = detail::kBitSums.at[ap_uint<6>((bits, lane.used))];
    numbers.range(3 * n + 2, 3 * n) = n;
  }
  lane.used = by_length(after, is);
  const ap_uint<8> byte = pick<8, 8>(lane.words, ap_uint<3>(lane.next));
  lane.window = next_byte == 1 ? ap_uint<16>((ap_uint<8>(lane.window), byte)) : lane.window;
  lane.next = next_byte == 1 ? ap_uint<4>(detail::kNextBytes.at[lane.next]) : lane.next;
  return by_length(numbers, is);
}

// Takes a page's rows into the memory, then decodes 32 symbols per cycle. Tells at the end whether a lane's codes did not
// end with the lane, or the lengths did not fit.
template <class D, class Tables>
void decode_lanes(hls::stream<LanePage<D>>& pages, hls::stream<LaneLengths<D>>& lane_lengths,
                  hls::stream<lane_mask_t>& masks, hls::stream<LaneRow>& rows0, hls::stream<LaneRow>& rows1,
                  hls::stream<LaneRow>& rows2, hls::stream<LaneRow>& rows3, hls::stream<LaneRow>& rows4,
                  hls::stream<LaneRow>& rows5, hls::stream<LaneRow>& rows6, hls::stream<LaneRow>& rows7,
                  symbol_stream& symbols, hls::stream<flag_t>& misfits) {
  static_assert(code_book<Tables>().complete, "every code table must be a complete code of 1 to 8 bits");
  using Memory = LaneMemory<D>;
  using words_t = typename Memory::words_t;
  using row_index_t = typename Memory::row_index_t;
  using bytes_t = typename Memory::bytes_t;
  word_t words[Memory::depth][kLaneGroups * kRowWords];
  ap_uint<kLaneGroups * row_index_t::width> last_rows[kTurns];  // of each lane, by its turn
  ap_uint<kLaneGroups * words_t::width> moved[kTurns];          // words that each lane has got
#pragma HLS array_partition variable=words complete dim=2  // a memory for each word of a row
#pragma HLS array_partition variable=last_rows complete
#pragma HLS array_partition variable=moved complete

  const LanePage<D> page = pages.read();
  const ap_uint<3> turns = page.beats == 0 ? 0 : kTurns;
  ap_uint<3> filled = 0;
  row_index_t row = 0;
  ap_uint<kLaneGroups> ended = 0;
  ap_uint<kLaneGroups * row_index_t::width> lasts = 0;
take_rows:  // II = 1: a row of every group per cycle
  while (filled != turns) {
#pragma HLS pipeline II=1
    const ap_uint<kLaneGroups> before = ended;
    ap_uint<kLaneGroups> now = 0;
  take_groups:
    for (int g = 0; g < kLaneGroups; ++g) {
#pragma HLS unroll
      LaneRow in = LaneRow();
      if (!before[g]) in = read_group<LaneRow>(g, rows0, rows1, rows2, rows3, rows4, rows5, rows6, rows7);
      now[g] = before[g] | in.last;
    split_banks:  // what is behind the last row of a lane is never used
      for (int b = 0; b < kRowWords; ++b) {
#pragma HLS unroll
        words[Memory::address(filled, row)][kRowWords * g + b] = in.bytes.range(32 * b + 31, 32 * b);
      }
      const row_index_t last = lasts.range(row_index_t::width * (g + 1) - 1, row_index_t::width * g);
      lasts.range(row_index_t::width * (g + 1) - 1, row_index_t::width * g) = before[g] ? last : row;
    }
    ended = now;
    row += 1;
    if (now.and_reduce()) {
      last_rows[filled.range(1, 0)] = lasts;
      row = 0;
      ended = 0;
      filled += 1;
    }
  }

  LaneLengths<D> known = LaneLengths<D>();
  if (page.beats != 0) known = lane_lengths.read();
  const ap_uint<6> limits_at = page.table * kMaxCodeBits;
  const CodeLimits limits = {kBeyond<Tables>.at[limits_at], kBeyond<Tables>.at[limits_at + 1], kBeyond<Tables>.at[limits_at + 2], kBeyond<Tables>.at[limits_at + 3],
                             kBeyond<Tables>.at[limits_at + 4], kBeyond<Tables>.at[limits_at + 5], kBeyond<Tables>.at[limits_at + 6]};
  LaneDecoder lanes[kLanes];
#pragma HLS array_partition variable=lanes complete
start_lanes:
  for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
    lanes[l].start();
  }
  constexpr int kLead = kTurns + 2;  // steps until every lane has its first word, and from that two bytes in its window
  using step_t = ap_uint<bits_for(D::max_page_beats + kLead + kTurns)>;
  const step_t end = page.beats + kLead;
  const step_t steps = page.beats == 0 ? step_t(0) : step_t(end + kTurns);
  bool misfit = known.misfit;
decode_steps:  // II = 1: one beat per cycle
  for (step_t step = 0; step != steps; ++step) {
#pragma HLS pipeline II=1
    const ap_uint<2> turn = step;
    const bool fills = step >= kTurns && step < kLead;
    const bool decodes = step >= kLead && step < end;
    const bool checks = step >= end;
    lane_mask_t wide = 0;
    if (decodes && page.wide) wide = masks.read();
    ap_uint<kLaneGroups * words_t::width> places = moved[turn];
    if (step < kTurns) places = 0;
    const ap_uint<kLaneGroups * row_index_t::width> lasts_now = last_rows[turn];

    const ap_uint<kLaneGroups * bytes_t::width> turn_lengths =
        pick<kTurns, kLaneGroups * bytes_t::width>(known.lengths, turn);
    ap_uint<kLaneGroups * words_t::width> moved_now = 0;
    ap_uint<kLaneGroups> takes = 0, odd = 0, wrong = 0;
    ap_uint<32 * kLaneGroups> fetched = 0;
  turn_groups:
    for (int g = 0; g < kLaneGroups; ++g) {
#pragma HLS unroll
      const words_t place = places.range(words_t::width * (g + 1) - 1, words_t::width * g);
      const row_index_t last = lasts_now.range(row_index_t::width * (g + 1) - 1, row_index_t::width * g);
      ap_uint<4> next = 0;
      ap_uint<3> used = 0;
    turn_lanes:
      for (int i = 0; i < kTurns; ++i) {
#pragma HLS unroll
        next = turn == i ? lanes[lane_of(g, i)].next : next;
        used = turn == i ? lanes[lane_of(g, i)].used : used;
      }
      // Words that the lane still has. Its state before this step decides, so that a word never waits for a code.
      const ap_uint<2> has = ap_uint<2>(place) - ap_uint<2>(next >> 2);
      takes[g] = !has[1];
      odd[g] = place[0];
      moved_now.range(words_t::width * (g + 1) - 1, words_t::width * g) = words_t(place + takes[g]);
      row_t whole;
    fetch_banks:
      for (int b = 0; b < kRowWords; ++b) {
#pragma HLS unroll
        whole.range(32 * b + 31, 32 * b) = words[Memory::address(turn, place >> 2)][kRowWords * g + b];
      }
      fetched.range(32 * g + 31, 32 * g) =
          (place >> 2) > last ? word_t(0) : pick<kRowWords, 32>(whole, ap_uint<2>(place));

      const words_t used_words = place - has;
      const ap_uint<words_t::width + 2> into_window = (used_words, ap_uint<2>(next));
      const ap_uint<words_t::width + 2> used_bytes = into_window - 2 + ap_uint<1>(used != 0);
      const bytes_t length = turn_lengths.range(bytes_t::width * (g + 1) - 1, bytes_t::width * g);
      wrong[g] = used_bytes != length;
    }
    misfit = misfit | (checks & wrong.or_reduce());

    SymbolBeat beat = SymbolBeat();
    beat.wide = wide;
  decode_symbols:
    for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
      LaneDecoder& lane = lanes[l];
      const int group = l % kLaneGroups;
      const ap_uint<8> ahead = lane.ahead();
      const ap_uint<3> bits = advance(lane, ahead, limits, wide[l], decodes, fills);
      const ap_uint<4> first = kFirstCodes<Tables>.at[ap_uint<6>((page.table, bits))];
      const ap_uint<4> place_of_code = ap_uint<4>(ahead >> ap_uint<3>(7 - bits)) - first;
      const ap_uint<4> symbol = kSymbolsInOrder<Tables>.at[ap_uint<7>((page.table, place_of_code))];
      beat.values.range(8 * l + 7, 8 * l) = wide[l] ? ahead : ap_uint<8>(symbol);
      const word_t word = fetched.range(32 * group + 31, 32 * group);
      const bool loads = (turn == l / kLaneGroups) & takes[group];
      const word_t low = lane.words, high = lane.words >> 32;
      lane.words = (loads & odd[group] ? word : high, loads & !odd[group] ? word : low);
    }
    moved[turn] = moved_now;
    if (decodes) symbols.write(beat);
  }
  misfits.write(misfit);
}

}  // namespace speckv
