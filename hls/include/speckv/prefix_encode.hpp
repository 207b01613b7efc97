// The encoder's side of the prefix coder: symbols in, a section out.
//
//   symbols ─> count_symbols ══ page ═══════════> code_lanes ══ rows, 8 FIFOs ══> gather ─> section
//                   └─ histogram ─> choose_table ─────┘└─ lengths ─> list_lanes ─────┘
//
// `page` waits until its table is known. While `gather` sends one page, the next one is coded.
#pragma once

#include "prefix.hpp"

namespace speckv {

// How often each symbol occurs in a page, symbol 0 lowest.
template <class D>
struct Histogram {
  static constexpr int count_bits = bits_for(kLanes * D::max_page_beats);
  using count_t = ap_uint<count_bits>;
  using packed_t = ap_uint<kCodedSymbols * count_bits>;
};

template <class D>
struct CountedPage {
  typename Histogram<D>::packed_t histogram;
  flag_t coded;
};

// Counts the page's symbols while they pass on into the FIFO that holds them.
template <class D>
void count_symbols(hls::stream<page_count_t<D>>& pages, symbol_stream& symbols, hls::stream<page_count_t<D>>& coded_pages,
                   symbol_stream& page, hls::stream<CountedPage<D>>& counted) {
  constexpr int kBits = Histogram<D>::count_bits;
  typename Histogram<D>::packed_t histogram = 0;
  page_count_t<D> left = 0;
  flag_t coded = 0;
  bool first = true;
count_beats:  // II = 1: one beat arrives in every cycle
  do {
#pragma HLS pipeline II=1 rewind
    if (first) {
      left = pages.read();
      coded_pages.write(left);
      coded = left != 0;
      histogram = 0;
    } else {
      const SymbolBeat beat = symbols.read();
      page.write(beat);
      left -= 1;
    count_values:
      for (int s = 0; s < kCodedSymbols; ++s) {
#pragma HLS unroll
        ap_uint<6> found = 0;
      count_lanes:
        for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
          const ap_uint<4> value = beat.values.range(8 * l + 3, 8 * l);
          found += ap_uint<1>(value == s && !beat.wide[l]);
        }
        const typename Histogram<D>::count_t before = histogram.range(kBits * s + kBits - 1, kBits * s);
        histogram.range(kBits * s + kBits - 1, kBits * s) = before + found;
      }
    }
    first = left == 0;
    if (first) {
      CountedPage<D> all;
      all.histogram = histogram;
      all.coded = coded;
      counted.write(all);
    }
  } while (!first);
}

// Finds the table that takes the fewest bits for a page, the lowest of equals: one product per cycle, 128 cycles a page
// that is coded.
template <class D, class Tables>
void choose_table(hls::stream<CountedPage<D>>& counted, hls::stream<table_t>& tables,
                  hls::stream<table_t>& header_tables) {
  static_assert(code_book<Tables>().complete, "every code table must be a complete code of 1 to 8 bits");
  typename Histogram<D>::packed_t histogram = 0;
  flag_t coded = 0;
  ap_uint<7> step = 0;  // table and symbol
  ap_uint<Histogram<D>::count_bits + 3> bits = 0, fewest = 0;
  table_t best = 0;
choose_steps:  // II = 1
  do {
#pragma HLS pipeline II=1 rewind
    if (step == 0) {
      const CountedPage<D> page = counted.read();
      histogram = page.histogram;
      coded = page.coded;
    }
    const ap_uint<4> symbol = step.range(3, 0);
    const table_t table = step.range(6, 4);
    const typename Histogram<D>::count_t count = pick<kCodedSymbols, Histogram<D>::count_bits>(histogram, symbol);
    const ap_uint<4> length = kCodeLengths<Tables>.at[step];
    const ap_uint<Histogram<D>::count_bits + 3> before = symbol == 0 ? decltype(bits)(0) : bits;
    bits = before + count * length;
    if (symbol == kCodedSymbols - 1 && (table == 0 || bits < fewest)) {
      fewest = bits;
      best = table;
    }
    step = coded ? ap_uint<7>(step + 1) : ap_uint<7>(0);
    if (step == 0) {
      const table_t chosen = coded ? best : table_t(0);
      tables.write(chosen);
      header_tables.write(chosen);
    }
  } while (step != 0);
}

// What a lane has not yet put into the memory.
struct LaneCoder {
  ap_uint<3> used;      // bits of the byte that is being filled
  ap_uint<8> byte;      // that byte, zeros below
  ap_uint<2> filled;    // bytes of the word that is being filled
  ap_uint<24> bytes;    // those, the last one highest
  word_t word;          // a whole word that waits for the lane's turn
  flag_t waits, padded; // whether there is one; whether it has bytes that are not the lane's

  void start() {  // AMD's integers begin as anything
    used = filled = 0;
    byte = 0;
    bytes = 0;
    word = 0;
    waits = padded = 0;
  }
};

// What all lanes do in one step.
enum CoderStep : unsigned { kCode, kPadByte, kPadWord, kRest };

// Appends a code (its bits from the highest of 8, zeros below) or padding.
inline void append(LaneCoder& lane, const ap_uint<2>& step, const ap_uint<8>& code, const ap_uint<4>& length) {
  const ap_uint<4> used = lane.used + length;
  const ap_uint<16> shifted = (ap_uint<16>(code) << 8) >> lane.used;
  const ap_uint<8> byte = lane.byte | ap_uint<8>(shifted >> 8);
  const bool whole = step == kCode ? bool(used[3]) : step == kPadByte ? lane.used != 0 : step == kPadWord && lane.filled != 0;
  lane.used = step == kPadByte ? ap_uint<3>(0) : ap_uint<3>(used);
  lane.byte = whole ? ap_uint<8>(shifted) : byte;
  if (whole) {
    word_t word;
    word.range(31, 24) = byte;
    word.range(23, 0) = lane.bytes;
    if (lane.filled == kWordBytes - 1) {
      lane.word = word;
      lane.waits = 1;
      lane.padded = step == kPadWord;
    }
    lane.bytes = word >> 8;
    lane.filled += 1;
  }
}

// Where the next word of a lane goes. The bank is one-hot: so a compiler sees one store to each bank.
template <class D>
struct MemoryPlace {
  ap_uint<LaneMemory<D>::row_bits + 1> row;
  ap_uint<kRowWords> bank;
  typename LaneMemory<D>::row_index_t last;  // row of the word before it

  void start() {
    row = 0;
    bank = 1;
    last = 0;
  }
};

// Bytes of each lane of a page, or that the page is not coded.
template <class D>
struct CodedLanes {
  ap_uint<kLanes * LaneMemory<D>::bytes_t::width> lengths = 0;
  flag_t coded = 0;
};

// Codes 32 symbols per cycle into the memory, then sends it, row by row, to the FIFOs. A FIFO must hold all rows of a
// page: `gather` takes one lane after the other.
template <class D, class Tables>
void code_lanes(hls::stream<page_count_t<D>>& pages, hls::stream<table_t>& tables, symbol_stream& page,
                hls::stream<CodedLanes<D>>& lengths, hls::stream<row_t>& rows0, hls::stream<row_t>& rows1,
                hls::stream<row_t>& rows2, hls::stream<row_t>& rows3, hls::stream<row_t>& rows4,
                hls::stream<row_t>& rows5, hls::stream<row_t>& rows6, hls::stream<row_t>& rows7) {
  using Memory = LaneMemory<D>;
  constexpr int kTail = 2 * kTurns;  // steps that pad the last byte and word, and then bring every lane's turn
  word_t words[Memory::depth][kLaneGroups * kRowWords];
  LaneCoder lanes[kLanes];
  ap_uint<2> tails[kLanes];                             // bytes of the last word that are the lane's own
  MemoryPlace<D> places[kLaneGroups][kTurns];  // where a lane goes on, the lane whose turn is next first
#pragma HLS array_partition variable=words complete dim=2  // a memory for each word of a row
#pragma HLS array_partition variable=lanes complete
#pragma HLS array_partition variable=tails complete
#pragma HLS array_partition variable=places complete dim=0
start_lanes:
  for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
    lanes[l].start();
    tails[l] = 0;
    places[l % kLaneGroups][l / kLaneGroups].start();
  }

  const page_count_t<D> beats = pages.read();
  const table_t table = tables.read();
  using step_t = ap_uint<bits_for(D::max_page_beats + kTail + kTurns - 1)>;
  const step_t pad_word = beats + 1, rest = beats + kTurns;
  step_t steps = beats + (kTail + kTurns - 1);
  steps.range(1, 0) = 0;  // every lane has had as many turns
  if (beats == 0) steps = 0;
code_steps:  // II = 1: one beat per cycle
  for (step_t step = 0; step != steps; ++step) {
#pragma HLS pipeline II=1
    const ap_uint<2> turn = step;
    const bool coding = step < beats;
    const ap_uint<2> what = coding ? kCode : step < pad_word ? kPadByte : step < rest ? kPadWord : kRest;
    SymbolBeat beat = SymbolBeat();
    if (coding) beat = page.read();
  move_words:
    for (int g = 0; g < kLaneGroups; ++g) {
#pragma HLS unroll
      word_t word = 0;
      flag_t waits = 0, padded = 0;
    take_turns:
      for (int i = 0; i < kTurns; ++i) {
#pragma HLS unroll
        LaneCoder& lane = lanes[lane_of(g, i)];
        if (turn == i) {
          word = lane.word;
          waits = lane.waits;
          padded = lane.padded;
          lane.waits = 0;
        }
      }
      MemoryPlace<D> place = places[g][0];
    write_banks:
      for (int b = 0; b < kRowWords; ++b) {
#pragma HLS unroll
        if (waits && place.bank[b]) words[Memory::address(turn, place.row)][kRowWords * g + b] = word;
      }
      if (waits) place.last = place.row;
      if (waits && !padded) {
        if (place.bank[kRowWords - 1]) place.row += 1;
        place.bank = (ap_uint<kRowWords - 1>(place.bank), ap_uint<1>(place.bank[kRowWords - 1]));
      }
    next_turn:
      for (int i = 0; i + 1 < kTurns; ++i) {
#pragma HLS unroll
        places[g][i] = places[g][i + 1];
      }
      places[g][kTurns - 1] = place;
    }
  code_symbols:
    for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
      const ap_uint<8> symbol = beat.values.range(8 * l + 7, 8 * l);
      const bool wide = beat.wide[l];
      const ap_uint<7> entry = (table, ap_uint<4>(symbol));
      const ap_uint<8> code = wide ? symbol : ap_uint<8>(kCodes<Tables>.at[entry]);
      const ap_uint<4> length = wide ? ap_uint<4>(kMaxCodeBits) : ap_uint<4>(kCodeLengths<Tables>.at[entry]);
      append(lanes[l], what, coding ? code : ap_uint<8>(0), coding ? length : ap_uint<4>(0));
      if (what == kPadByte) tails[l] = lanes[l].filled;
    }
  }

  CodedLanes<D> all;
  all.coded = beats != 0;
collect_lengths:
  for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
    constexpr int kBits = Memory::bytes_t::width;
    const MemoryPlace<D>& place = places[l % kLaneGroups][l / kLaneGroups];
    const ap_uint<2> bank = (ap_uint<1>(place.bank[2] | place.bank[3]), ap_uint<1>(place.bank[1] | place.bank[3]));
    all.lengths.range(kBits * l + kBits - 1, kBits * l) = typename Memory::bytes_t((place.row, bank, tails[l]));
  }
  lengths.write(all);

  const ap_uint<3> turns = beats == 0 ? 0 : kTurns;
  ap_uint<3> turn = 0;
  typename Memory::row_index_t row = 0;
send_rows:  // II = 1: a row of every group per cycle
  while (turn != turns) {
#pragma HLS pipeline II=1
    bool more = false;
  send_groups:
    for (int g = 0; g < kLaneGroups; ++g) {
#pragma HLS unroll
      const typename Memory::row_index_t last = places[g][0].last;
      row_t data;
    join_banks:
      for (int b = 0; b < kRowWords; ++b) {
#pragma HLS unroll
        data.range(32 * b + 31, 32 * b) = words[Memory::address(turn, row)][kRowWords * g + b];
      }
      if (row <= last) write_group<row_t>(g, data, rows0, rows1, rows2, rows3, rows4, rows5, rows6, rows7);
      more = more || row < last;
    }
    row += 1;
    if (!more) {
      row = 0;
      turn += 1;
    next_lanes:
      for (int l = 0; l + kLaneGroups < kLanes; ++l) {
#pragma HLS unroll
        places[l % kLaneGroups][l / kLaneGroups] = places[l % kLaneGroups][l / kLaneGroups + 1];
      }
    }
  }
}

// Takes the lengths of a page apart, for `gather` needs one lane's after the other, and tells how long the section will be: 0
// beats for a page that is not coded.
template <class D>
void list_lanes(hls::stream<CodedLanes<D>>& pages, hls::stream<CodedLanes<D>>& gathered_pages,
                hls::stream<typename LaneMemory<D>::bytes_t>& lane_bytes, hls::stream<section_beats_t<D>>& section_beats) {
  using bytes_t = typename LaneMemory<D>::bytes_t;
  CodedLanes<D> page = CodedLanes<D>();
  ap_uint<6> left = 0;  // lanes
  section_bytes_t<D> bytes = 0;
  bool first = true;
list_each_lane:  // II = 1: one lane per cycle
  do {
#pragma HLS pipeline II=1 rewind
    if (first) {
      page = pages.read();
      gathered_pages.write(page);
      left = page.coded ? kLanes : 0;
      bytes = !page.coded ? 0 : kBeatBytes + kBeatBytes - 1;  // the lengths, and what rounds up
    } else {
      const bytes_t length = pick<kLanes, bytes_t::width>(page.lengths, ap_uint<5>(0 - left));
      lane_bytes.write(length);
      bytes += length;
      left -= 1;
    }
    first = left == 0;
    if (first) section_beats.write(bytes >> 6);
  } while (!first);
}

// Sends the lengths and then the lanes without gaps, up to 16 bytes per cycle.
template <class D>
void gather(hls::stream<CodedLanes<D>>& pages, hls::stream<typename LaneMemory<D>::bytes_t>& lane_bytes,
            hls::stream<row_t>& rows0, hls::stream<row_t>& rows1, hls::stream<row_t>& rows2, hls::stream<row_t>& rows3,
            hls::stream<row_t>& rows4, hls::stream<row_t>& rows5, hls::stream<row_t>& rows6, hls::stream<row_t>& rows7,
            beat_stream& section) {
  using bytes_t = typename LaneMemory<D>::bytes_t;
  constexpr int kBits = bytes_t::width, kQuarters = kBeatBytes / kRowBytes;
  enum State : unsigned { kBegin, kNextLane, kRow, kFill };
  ap_uint<2> state = kBegin, after = kBegin;  // `after`: the row
  ap_uint<5> lane = 0;
  bytes_t bytes = 0;       // of this lane that are to come
  ap_uint<5> wanted = 0;   // how many of them in this row
  bool lane_ends = false;  // all of them
  bool last_lane = false;
  ap_uint<4> held = 0;     // bytes that do not yet fill a row
  row_t rest = 0;          // those
  ap_uint<2> quarter = 0;  // rows in the beat
  row_t part[kQuarters];   // those
#pragma HLS array_partition variable=part complete
gather_rows:  // II = 1: one row per cycle
  do {
#pragma HLS pipeline II=1 rewind
    if (state == kBegin) {
      beat_t beat = 0;
      const CodedLanes<D> page = pages.read();
    spread_lengths:
      for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
        beat.range(16 * l + 15, 16 * l) = page.lengths.range(kBits * l + kBits - 1, kBits * l);
      }
      if (page.coded) section.write(beat);
      lane = 0;
      held = 0;
      quarter = 0;
      state = page.coded ? kNextLane : kBegin;
    } else if (state == kNextLane) {
      bytes = lane_bytes.read();
      lane_ends = bytes <= kRowBytes;
      last_lane = lane == kLanes - 1;
      wanted = lane_ends ? ap_uint<5>(bytes) : ap_uint<5>(kRowBytes);
      after = !lane_ends ? kRow : last_lane ? kFill : kNextLane;
      state = kRow;
    } else {
      const bool filling = state == kFill;
      row_t row = 0;
      if (!filling) row = read_group<row_t>(ap_uint<3>(lane), rows0, rows1, rows2, rows3, rows4, rows5, rows6, rows7);
      const ap_uint<5> together = held + wanted;
      const row_t turned = rotated_up(row, held);
      const row_t joined = spliced(rest, turned, held);
      const bool nothing = filling & (held == 0) & (quarter == 0);
      const bool whole = filling | together[4];
      beat_t beat = 0;
    join_quarters:
      for (int q = 0; q + 1 < kQuarters; ++q) {
#pragma HLS unroll
        beat.range(128 * q + 127, 128 * q) = part[q];
      }
      beat.range(511, 384) = joined;
      if (whole) part[quarter] = joined;
      if (whole & (quarter == kQuarters - 1)) section.write(beat);
      rest = whole ? turned : joined;
      held = filling ? ap_uint<4>(0) : ap_uint<4>(together);
      quarter += ap_uint<1>(whole);
      state = nothing ? ap_uint<2>(kBegin) : after;
      lane += ap_uint<1>(lane_ends);
      wanted = lane_ends ? ap_uint<5>(0) : bytes <= 2 * kRowBytes ? ap_uint<5>(bytes - kRowBytes) : ap_uint<5>(kRowBytes);
      lane_ends = lane_ends | (bytes <= 2 * kRowBytes);
      after = !lane_ends ? kRow : last_lane ? kFill : kNextLane;
      bytes -= kRowBytes;
    }
  } while (state != kBegin);
}

}  // namespace speckv
