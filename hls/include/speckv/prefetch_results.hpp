// How kv_prefetch writes what it makes to control memory: in bursts, and the run ends when all of them have arrived.
#pragma once

#include "burst.hpp"

namespace speckv {

// A beat to be written, or the end of them.
struct Result {
  beat_t data;
  flag_t last;
  flag_t unreadable;
};

// Beats are written in bursts of up to so many, asked for once they are there.
constexpr unsigned kResultBurst = 16;

inline void deliver(hls::stream<Result>& results, command_stream& commands, beat_stream& data, hls::stream<ap_uint<2>>& bursts,
                    bytes_t& done) {
  bytes_t all = 0;
  ap_uint<5> waiting = 0;
  offset_t at = 0;
  bool more = true, unreadable = false;
deliver_results:  // II = 1: a result per cycle
  while (more) {
#pragma HLS pipeline II=1
    const Result result = results.read();
    more = !result.last;
    unreadable = result.unreadable;
    if (more) {
      data.write(result.data);
      waiting += 1;
      all += 1;
    }
    if (!more || waiting == kResultBurst) {
      commands.write(burst_of(at, bytes_t(waiting) * kBeatBytes, !more));
      bursts.write(!more ? unreadable ? 2 : 0 : 1);
      at += kResultBurst * kBeatBytes;
      waiting = 0;
    }
  }
  done = all;
}

// Ends when the last beat has arrived.
inline void finish_results(hls::stream<ap_uint<2>>& bursts, status_stream& written, bytes_t& failed) {
  bytes_t bad = 0;
  ap_uint<2> kind;
finish_bursts:
  do {
#pragma HLS pipeline II=1
    kind = bursts.read();
    if (written.read() != 0) bad += 1;
    if (kind == 2) bad += 1;
  } while (kind == 1);
  failed = bad;
}

}  // namespace speckv
