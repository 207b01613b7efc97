// Several engines behind one pair of streams.
//
//   in ─> distribute ─┬─> engine 0 ─┬─> collect ─> out
//                     ├─> engine 1 ─┤
//                     └─> ...      ─┘
//
// Whole packets are dealt in turn and taken back in turn, so that they leave in the order in which they came. Every
// packet in gives one packet out, whatever is wrong with it: the two never lose each other's turn.
#pragma once

#include "bus.hpp"
#include "turns.hpp"

namespace speckv {
namespace detail {

// C simulation: a call's last round may have fewer packets than there are engines.
template <class Stream, class... Streams>
bool runs_dry(unsigned number, Stream& first, Streams&... others) {
#ifdef __SYNTHESIS__
  return false;
#else
  Stream* const streams[] = {&first, &others...};
  return streams[number]->empty();
#endif
}

}  // namespace detail

// One call deals a round, one packet for each engine; so `turn` is 0 again at its end, and need not be set in the first
// iteration. `collect` does the same.
template <class Stream, class... Engines>
void distribute(Stream& in, Engines&... engines) {
  constexpr int kLast = sizeof...(Engines) - 1;
  ap_uint<bits_for(kLast)> turn = 0;
  bool over;
distribute_words:  // II = 1: one word arrives in every cycle
  do {
#pragma HLS pipeline II=1 rewind
    const auto word = in.read();
    detail::write_to(turn, word, engines...);
    over = word.last && (turn == kLast || detail::runs_dry(0, in));
    if (word.last) turn = turn == kLast ? ap_uint<bits_for(kLast)>(0) : ap_uint<bits_for(kLast)>(turn + 1);
  } while (!over);
}

// One call takes the packets of a round.
template <class Stream, class... Engines>
void collect(Stream& out, Engines&... engines) {
  constexpr int kLast = sizeof...(Engines) - 1;
  ap_uint<bits_for(kLast)> turn = 0;
  bool over;
collect_words:  // II = 1: one word leaves in every cycle
  do {
#pragma HLS pipeline II=1 rewind
    const auto word = detail::read_from(turn, engines...);
    out.write(word);
    over = word.last && turn == kLast;
    if (word.last) turn = turn == kLast ? ap_uint<bits_for(kLast)>(0) : ap_uint<bits_for(kLast)>(turn + 1);
    over = over || (word.last && detail::runs_dry(turn, engines...));
  } while (!over);
}

}  // namespace speckv
