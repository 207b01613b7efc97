// What both sides of the prefix coder share: the codes, and how the bytes of 32 lanes are kept.
//
// Every lane is a stream of bits of its own, and all lanes go on at the same time, one symbol each in a cycle. A section
// holds them one after the other. Between the two orders stands a memory for one page, in 32-bit words: lane l belongs
// to group l mod 8 and has its turn in every fourth cycle, so a group moves one word per cycle. Four words make a row;
// rows of one group pass in a FIFO of their own.
#pragma once

#include "header.hpp"

namespace speckv {

constexpr int kCodedSymbols = 16;  // of 4 bits
constexpr int kMaxCodeBits = 8;    // and the bits of a wide symbol, which has no code
using lane_mask_t = ap_uint<kLanes>;

// The symbols of one raw beat. A wide lane's symbol has 8 bits, any other 4.
struct SymbolBeat {
  ap_uint<8 * kLanes> values = 0;
  lane_mask_t wide = 0;
};
using symbol_stream = hls::stream<SymbolBeat>;

constexpr int kLaneGroups = 8;
constexpr int kTurns = kLanes / kLaneGroups;  // lanes of a group
constexpr int kRowWords = 4;
constexpr int kRowBytes = kWordBytes * kRowWords;
using word_t = ap_uint<8 * kWordBytes>;
using row_t = ap_uint<8 * kRowBytes>;

inline int lane_of(int group, int turn) { return group + kLaneGroups * turn; }

// Beats of a page's section, with that of the lengths: 0 for a page without. A section is shorter than its raw page.
template <class D>
using section_beats_t = ap_uint<bits_for(D::max_page_beats)>;
template <class D>
using section_bytes_t = ap_uint<bits_for(D::max_page_beats) + 6>;

// A symbol takes a byte at most, so a lane never needs more bytes than the page has beats.
template <class D>
struct LaneMemory {
  static constexpr int rows = ceil_div(D::max_page_beats, kRowBytes);  // of a lane
  static constexpr int row_bits = bits_for(rows - 1);
  static constexpr int depth = kTurns << row_bits;
  using row_index_t = ap_uint<row_bits>;
  using words_t = ap_uint<bits_for(kRowWords * rows + kRowWords)>;  // words of a lane that were moved; a decoder looks ahead
  using bytes_t = ap_uint<bits_for(kRowBytes * rows)>;
  using address_t = ap_uint<row_bits + 2>;

  static address_t address(const ap_uint<2>& turn, const row_index_t& row) { return (turn, row); }
};

// What the canonical codes of all tables are, derived from their lengths. Index: table, then symbol, place or bits - 1.
struct CodeBook {
  unsigned char length[kCodeTables][kCodedSymbols];  // bits of a symbol's code
  unsigned char code[kCodeTables][kCodedSymbols];    // the code, from the highest bit of 8
  unsigned char symbol[kCodeTables][kCodedSymbols];  // the symbols in the order of their codes
  unsigned char first[kCodeTables][kMaxCodeBits];    // first code of so many bits, less its place in that order
  unsigned char beyond[kCodeTables][kMaxCodeBits];   // least number of so many bits that begins a longer code
  bool complete;                                     // every stream of bits decodes
};

template <class Tables>
constexpr CodeBook code_book() {
  CodeBook book{};
  book.complete = true;
  for (int t = 0; t < kCodeTables; ++t) {
    int code = 0, place = 0;
    for (int bits = 1; bits <= kMaxCodeBits; ++bits) {
      code *= 2;
      book.first[t][bits - 1] = (unsigned char)((code - place) % kCodedSymbols);
      for (int s = 0; s < kCodedSymbols; ++s) {
        if (Tables::lengths[t][s] != bits) continue;
        book.length[t][s] = (unsigned char)bits;
        book.code[t][s] = (unsigned char)(code << (kMaxCodeBits - bits));
        book.symbol[t][place] = (unsigned char)s;
        ++code;
        ++place;
      }
      book.beyond[t][bits - 1] = (unsigned char)code;
    }
    book.complete = book.complete && place == kCodedSymbols && code == 1 << kMaxCodeBits;
  }
  return book;
}

// One table of the book as a constant of its own, which is a memory of its own.
template <int Size>
struct CodeTable {
  unsigned char at[Size];

  constexpr CodeTable(const unsigned char (&rows)[kCodeTables][Size / kCodeTables]) : at() {
    for (int i = 0; i < Size; ++i) at[i] = rows[i / (Size / kCodeTables)][i % (Size / kCodeTables)];
  }
};

template <class Tables>
constexpr CodeTable<kCodeTables * kCodedSymbols> kCodeLengths{code_book<Tables>().length};
template <class Tables>
constexpr CodeTable<kCodeTables * kCodedSymbols> kCodes{code_book<Tables>().code};
template <class Tables>
constexpr CodeTable<kCodeTables * kCodedSymbols> kSymbolsInOrder{code_book<Tables>().symbol};
template <class Tables>
constexpr CodeTable<kCodeTables * kMaxCodeBits> kFirstCodes{code_book<Tables>().first};
template <class Tables>
constexpr CodeTable<kCodeTables * kMaxCodeBits> kBeyond{code_book<Tables>().beyond};

// Group number `group` of eight streams.
template <class T>
T read_group(const ap_uint<3>& group, hls::stream<T>& s0, hls::stream<T>& s1, hls::stream<T>& s2, hls::stream<T>& s3,
             hls::stream<T>& s4, hls::stream<T>& s5, hls::stream<T>& s6, hls::stream<T>& s7) {
  switch (group) {
    case 0: return s0.read();
    case 1: return s1.read();
    case 2: return s2.read();
    case 3: return s3.read();
    case 4: return s4.read();
    case 5: return s5.read();
    case 6: return s6.read();
    default: return s7.read();
  }
}

template <class T>
void write_group(const ap_uint<3>& group, const T& item, hls::stream<T>& s0, hls::stream<T>& s1, hls::stream<T>& s2,
                 hls::stream<T>& s3, hls::stream<T>& s4, hls::stream<T>& s5, hls::stream<T>& s6, hls::stream<T>& s7) {
  switch (group) {
    case 0: s0.write(item); break;
    case 1: s1.write(item); break;
    case 2: s2.write(item); break;
    case 3: s3.write(item); break;
    case 4: s4.write(item); break;
    case 5: s5.write(item); break;
    case 6: s6.write(item); break;
    default: s7.write(item);
  }
}

// Bytes turned upwards by `by` places, round the end.
inline row_t rotated_up(const row_t& row, const ap_uint<4>& by) {
  row_t turned = row;
rotate_places:
  for (int places = 1; places < kRowBytes; places *= 2) {
#pragma HLS unroll
    const row_t further = (turned << (8 * places)) | (turned >> (8 * (kRowBytes - places)));
    turned = (by & places) != 0 ? further : turned;
  }
  return turned;
}

// The lowest `count` bytes of one row, the others of another one.
inline row_t spliced(const row_t& low, const row_t& high, const ap_uint<5>& count) {
  row_t mask = 0;
mask_bytes:
  for (int i = 0; i < kRowBytes; ++i) {
#pragma HLS unroll
    mask.range(8 * i + 7, 8 * i) = i < count ? 0xFF : 0;
  }
  return (low & mask) | (high & ~mask);
}

}  // namespace speckv
