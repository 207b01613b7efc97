// A batch in control memory: read in blocks, and none of it believed before memory has answered for its block.
#pragma once

#include "burst.hpp"
#include "header.hpp"

namespace speckv {

// A batch is read in blocks, each with a status of its own. `batch` holds one: its status does not wait for `vouch`.
constexpr unsigned kBlockBeats = 64;

inline bytes_t block_of(const bytes_t& left) { return left > kBlockBeats ? bytes_t(kBlockBeats) : left; }

// Asks for the whole batch, block by block.
inline void ask(bytes_t batch_beats, command_stream& commands) {
  bytes_t left = batch_beats;
  offset_t at = 0;
ask_blocks:
  do {
    const bytes_t beats = block_of(left);
    left -= beats;
    commands.write(burst_of(at, bytes_t(beats * kBeatBytes), left == 0));
    at += kBlockBeats * kBeatBytes;
  } while (left != 0);
}

// A beat of the batch; `unreadable` stands for it and all behind it.
struct BatchBeat {
  beat_t data;
  flag_t unreadable;
};
using batch_stream = hls::stream<BatchBeat>;

// Lets a block pass once memory has answered for all of it: what came with an error is never taken for a descriptor,
// nor is what follows, for nobody knows where its descriptors begin.
inline void vouch(bytes_t batch_beats, beat_stream& batch, status_stream& statuses, batch_stream& sound) {
  bytes_t left = batch_beats;
  bool good = true;
vouch_blocks:
  do {
    const bytes_t beats = block_of(left);
    left -= beats;
    const burst_status_t status = statuses.read();
    BatchBeat b;
    b.data = 0;
    b.unreadable = 1;
    if (good && status != 0) sound.write(b);
    good = good && status == 0;
    bytes_t come = status == 1 ? bytes_t(0) : beats;  // 1: not aligned, so that no data comes
  vouch_beats:  // II = 1: one beat per cycle
    while (come != 0) {
#pragma HLS pipeline II=1
      come -= 1;
      b.data = batch.read();
      b.unreadable = 0;
      if (good) sound.write(b);
    }
  } while (left != 0);
}

}  // namespace speckv
