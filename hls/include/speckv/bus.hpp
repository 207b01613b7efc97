// The design's buses: AXI4-Streams and memories of 64 to 512 bits. Inside, everything is a beat of 64 bytes.
//
// A beat crosses a narrower bus as several words, the lowest first. Only the processes at a port know of them, by
// `read_beat` and `write_beat`: they take a cycle for each word, which is the rate of the bus.
#pragma once

#include "types.hpp"

namespace speckv {

template <class D>
using bus_t = ap_uint<D::bus_bits>;
template <class D>
using bus_word = hls::axis_data<bus_t<D>, AXIS_ENABLE_KEEP | AXIS_ENABLE_LAST>;
template <class D>
using bus_stream = hls::stream<bus_word<D>>;

// The next beat of a packet. A packet that ends inside it is filled up with zeros, whose TKEEP is zero, too.
inline axis_beat read_beat(axis_stream& in) { return in.read(); }
template <class Word>
axis_beat read_beat(hls::stream<Word>& in) {
  constexpr int kBits = Word::data_bits, kWords = 8 * kBeatBytes / kBits;
  axis_beat beat;
  beat.data = 0;
  beat.keep = 0;
  beat.last = 0;
read_words:
  for (int i = 0; i < kWords; ++i) {
#pragma HLS unroll
    if (!beat.last) {
      const Word word = in.read();
      beat.data.range(kBits * (i + 1) - 1, kBits * i) = word.data;
      beat.keep.range(kBits / 8 * (i + 1) - 1, kBits / 8 * i) = word.keep;
      beat.last = word.last;
    }
  }
  return beat;
}

// Sends a whole beat: TKEEP is all ones.
inline void write_beat(axis_stream& out, const beat_t& data, bool last) { out.write(whole_beat(data, last)); }
template <class Word>
void write_beat(hls::stream<Word>& out, const beat_t& data, bool last) {
  constexpr int kBits = Word::data_bits, kWords = 8 * kBeatBytes / kBits;
write_words:
  for (int i = 0; i < kWords; ++i) {
#pragma HLS unroll
    Word word;
    word.data = data.range(kBits * (i + 1) - 1, kBits * i);
    word.keep = ~ap_uint<kBits / 8>(0);
    word.last = last && i == kWords - 1;
    out.write(word);
  }
}

}  // namespace speckv
