// Several engines behind one pair of streams.
//
//   in ─> distribute ─┬─> engine 0 ─┬─> collect ─> out
//                     ├─> engine 1 ─┤
//                     └─> ...      ─┘
//
// Whole packets are dealt in turn and taken back in turn, so that they leave in the order in which they came. Every
// packet in gives one packet out, whatever is wrong with it: the two never lose each other's turn.
#pragma once

#include "turns.hpp"
#include "types.hpp"

namespace speckv {
namespace detail {

// C simulation: a call's last round may have fewer packets than there are engines.
template <class... Streams>
bool runs_dry(unsigned number, axis_stream& first, Streams&... others) {
#ifdef __SYNTHESIS__
  return false;
#else
  axis_stream* const streams[] = {&first, &others...};
  return streams[number]->empty();
#endif
}

}  // namespace detail

// One call deals a round, one packet for each engine; so `turn` is 0 again at its end, and need not be set in the first
// iteration. `collect` does the same.
template <class... Engines>
void distribute(axis_stream& in, Engines&... engines) {
  constexpr int kLast = sizeof...(Engines) - 1;
  ap_uint<bits_for(kLast)> turn = 0;
  bool over;
distribute_beats:  // II = 1: one beat arrives in every cycle
  do {
#pragma HLS pipeline II=1 rewind
    const axis_beat beat = in.read();
    detail::write_to(turn, beat, engines...);
    over = beat.last && (turn == kLast || detail::runs_dry(0, in));
    if (beat.last) turn = turn == kLast ? ap_uint<bits_for(kLast)>(0) : ap_uint<bits_for(kLast)>(turn + 1);
  } while (!over);
}

// One call takes the packets of a round.
template <class... Engines>
void collect(axis_stream& out, Engines&... engines) {
  constexpr int kLast = sizeof...(Engines) - 1;
  ap_uint<bits_for(kLast)> turn = 0;
  bool over;
collect_beats:  // II = 1: one beat leaves in every cycle
  do {
#pragma HLS pipeline II=1 rewind
    const axis_beat beat = detail::read_from(turn, engines...);
    out.write(beat);
    over = beat.last && turn == kLast;
    if (beat.last) turn = turn == kLast ? ap_uint<bits_for(kLast)>(0) : ap_uint<bits_for(kLast)>(turn + 1);
    over = over || (beat.last && detail::runs_dry(turn, engines...));
  } while (!over);
}

}  // namespace speckv
