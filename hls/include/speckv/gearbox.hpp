// Words in and out of beats: `k` words of 4 bytes for every raw beat, in planes.
//
// `pack` and `unpack` are mirrors: both keep one beat, turn the other one round by whole words, and choose word by word
// between the two. What decides about the next step is the number of words that are kept, four bits.
#pragma once

#include "cursor.hpp"

namespace speckv {

// Words number 0 ... 15 of a beat become words number `by`, `by` + 1, ..., going round.
inline beat_t turned(const beat_t& words, const ap_uint<4>& by) {
  beat_t left = words;
turn_steps:
  for (int step = 1; step < kWordsPerBeat; step *= 2) {
#pragma HLS unroll
    const beat_t further = (left << (32 * step)) | (left >> (512 - 32 * step));
    left = (by & step) != 0 ? further : left;
  }
  return left;
}

// Word number i of the result is from `first` if i < `count`, else from `second`.
inline beat_t joined(const beat_t& first, const beat_t& second, const word_count_t& count) {
  beat_t result = 0;
join_words:
  for (int i = 0; i < kWordsPerBeat; ++i) {
#pragma HLS unroll
    const int low = 32 * i, high = 32 * i + 31;
    const ap_uint<32> a = first.range(high, low), b = second.range(high, low);
    result.range(high, low) = i < count ? a : b;
  }
  return result;
}

// Bit l of plane p is bit p of lane l's number: wires only.
inline beat_t planes_of(const beat_t& numbers) {
  beat_t planes = 0;
plane_bits:
  for (int p = 0; p < 16; ++p) {
#pragma HLS unroll
  plane_lanes:
    for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
      planes[32 * p + l] = numbers[16 * l + p];
    }
  }
  return planes;
}

inline beat_t numbers_of(const beat_t& planes) {
  beat_t numbers = 0;
number_bits:
  for (int p = 0; p < 16; ++p) {
#pragma HLS unroll
  number_lanes:
    for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
      numbers[16 * l + p] = planes[32 * p + l];
    }
  }
  return numbers;
}

// Some words of a section; those above `count` are zero.
struct Piece {
  beat_t words;
  word_count_t count;
  flag_t ends;  // the section's last: it is padded to a whole beat
};

// Appends pieces to beats.
struct Packer {
  beat_t kept = 0;
  ap_uint<4> count = 0;     // words in `kept`
  flag_t flushing = 0;      // a section ended with more words than its beat could hold

  // Takes a piece, or while `flushing` nothing; true if `beat` is to be sent. What goes round is one addition of four bits.
  bool step(const Piece& piece, beat_t& beat) {
    const beat_t turned_words = turned(piece.words, count);
    const ap_uint<5> total = count + piece.count;
    const bool full = total[4];
    const ap_uint<4> rest = total.range(3, 0);
    beat = joined(kept, turned_words, count);
    kept = full ? turned_words : beat;
    const bool was_flushing = flushing;
    flushing = piece.ends && full && rest != 0;
    count = was_flushing || (piece.ends && !full) ? ap_uint<4>(0) : rest;
    return full || piece.ends;
  }
};

// The next words out of beats; what stands above them is rubbish. The last `count` words of `kept` are not taken yet, and
// `fresh` is the beat behind it.
inline beat_t next_words(const beat_t& kept, const beat_t& fresh, const ap_uint<4>& count) {
  return turned(joined(fresh, kept, kWordsPerBeat - count), count);
}

}  // namespace speckv
