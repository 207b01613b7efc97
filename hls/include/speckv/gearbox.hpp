// Words in and out of beats: `k` words of 4 bytes for every raw beat, in planes.
//
// In and out are mirrors: both keep one beat, turn the other one round by whole words, and choose word by word between
// the two. Where words go is found before, by a process that only counts, so that nothing wide decides about the next
// step.
#pragma once

#include "cursor.hpp"

namespace speckv {

// Words number 0 ... 15 of a beat become words number `by`, `by` + 1, ..., going round: two multiplexers of four each.
inline beat_t turned(const beat_t& words, const ap_uint<4>& by) {
  beat_t left = words;
turn_steps:
  for (int step = 1; step < kWordsPerBeat; step *= 4) {
#pragma HLS unroll
    const ap_uint<2> steps = by / step;
    const beat_t once = (left << (32 * step)) | (left >> (512 - 32 * step));
    const beat_t twice = (left << (64 * step)) | (left >> (512 - 64 * step));
    const beat_t thrice = (left << (96 * step)) | (left >> (512 - 96 * step));
    const beat_t even = steps[1] ? twice : left, odd = steps[1] ? thrice : once;
    left = steps[0] ? odd : even;
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
plane_words:
  for (int p = 0; p < 16; ++p) {
#pragma HLS unroll
    ap_uint<32> plane = 0;
  plane_lanes:
    for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
      plane[l] = numbers[16 * l + p];
    }
    planes.range(32 * p + 31, 32 * p) = plane;
  }
  return planes;
}

inline beat_t numbers_of(const beat_t& planes) {
  beat_t numbers = 0;
number_lanes:
  for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
    value_t number = 0;
  number_planes:
    for (int p = 0; p < 16; ++p) {
#pragma HLS unroll
      number[p] = planes[32 * p + l];
    }
    set_lane(numbers, l, number);
  }
  return numbers;
}

// Some words of a section, zeros above them, and where they go.
struct Piece {
  beat_t words;
  ap_uint<4> place;  // words in the beat before them
  flag_t fills;      // they fill the beat
  flag_t sends;      // it is complete, or the section's last
  flag_t last;       // of the page
};

// Places for pieces of `count` words, one behind the other; nothing but a sum of four bits is carried along. A section
// is closed with a piece of no words.
inline void place_piece(Piece& piece, ap_uint<4>& place, const word_count_t& count, bool closes) {
  const ap_uint<5> total = place + count;
  piece.place = place;
  piece.fills = total[4];
  piece.sends = piece.fills | flag_t(closes && place != 0);
  place = closes ? ap_uint<4>(0) : ap_uint<4>(total.range(3, 0));
}

// The beat that a piece goes to. `kept` becomes what is left for the next one: words of the piece, behind those that wait
// already unless the piece fills their beat.
inline beat_t appended(beat_t& kept, const Piece& piece) {
  const beat_t words = turned(piece.words, piece.place);
  const beat_t beat = joined(kept, words, piece.place);
  kept = joined(kept, words, piece.fills ? word_count_t(0) : word_count_t(piece.place));
  return beat;
}

// The next words out of beats; what stands above them is rubbish. The last `count` words of `kept` are not taken yet,
// and `fresh` is the beat behind it.
inline beat_t next_words(const beat_t& kept, const beat_t& fresh, const ap_uint<4>& count) {
  return turned(joined(fresh, kept, kWordsPerBeat - count), count);
}

}  // namespace speckv
