// From jobs that are done to completions.
#pragma once

#include "dma_job.hpp"

namespace speckv {

using completed_stream = hls::stream<ap_uint<2>>;

// Has a completion written by its channel's writer, and tells that channel's `finish`.
inline void give(unsigned, const beat_t& completed_job, const offset_t& at, command_stream& commands,
                 beat_stream& completions, completed_stream& completed) {
  commands.write(burst_of(at, kBeatBytes));
  completions.write(completed_job);
  completed.write(header::get<completion::status>(completed_job) == kDmaOk ? 1 : 2);
}

template <class... Others>
void give(unsigned channel, const beat_t& completed_job, const offset_t& at, command_stream& commands,
          beat_stream& completions, completed_stream& completed, Others&... others) {
  if (channel == 0)
    give(0, completed_job, at, commands, completions, completed);
  else
    give(channel - 1, completed_job, at, others...);
}

// Ends what the channels' writers and `finish` do in this run.
inline void close() {}

template <class... Others>
void close(command_stream& commands, beat_stream&, completed_stream& completed, Others&... others) {
  commands.write(burst_of(0, 0, true));
  completed.write(0);
  close(others...);
}

// Waits for the memories' answers to a job and writes its completion. Counts the bytes that were asked of the memories.
// `others`: the same three streams of each channel behind the first one.
template <class... Others>
void complete(hls::stream<Sunk>& sunk, status_stream& near_reads, status_stream& far_reads, status_stream& near_writes,
              status_stream& far_writes, command_stream& commands, beat_stream& completions,
              completed_stream& completed, offset_t& near_read_bytes, offset_t& near_written_bytes,
              offset_t& far_read_bytes, offset_t& far_written_bytes, Others&... others) {
  constexpr int kChannels = 1 + sizeof...(Others) / 3;
  offset_t at[kChannels];  // where the channel's next completion goes
#pragma HLS array_partition variable=at complete
  for (int i = 0; i < kChannels; ++i) {
#pragma HLS unroll
    at[i] = 0;
  }
  offset_t near_read = 0, near_written = 0, far_read = 0, far_written = 0;
  bool last;
complete_jobs:
  do {
    Sunk s = sunk.read();
    last = s.last;
    bool read_error = false, write_error = false;
    if (s.far_reads) read_error = far_reads.read() != 0;
  complete_reads:
    for (ap_uint<7> i = 0; i < s.near_reads; ++i) {
#pragma HLS pipeline II=1
      if (near_reads.read() != 0) read_error = true;
    }
    if (s.far_writes) write_error = far_writes.read() != 0;
  complete_writes:
    for (ap_uint<7> i = 0; i < s.near_writes; ++i) {
#pragma HLS pipeline II=1
      if (near_writes.read() != 0) write_error = true;
    }
    if (s.near_reads != 0) near_read += s.read;
    if (s.near_writes != 0) near_written += s.written;
    if (s.far_reads) far_read += s.read;
    if (s.far_writes) far_written += s.written;
    const auto before = header::get<completion::status>(s.completion);
    if (write_error && before == kDmaOk) header::set<completion::status>(s.completion, kWriteError);
    if (read_error) header::set<completion::status>(s.completion, kReadError);
    if (!last) {
      const channel_t<kChannels> channel = kChannels > 1 ? header::get<completion::channel>(s.completion) : ap_uint<8>(0);
      offset_t here = 0;
      for (int i = 0; i < kChannels; ++i) {
#pragma HLS unroll
        if (channel == i) {
          here = at[i];
          at[i] += kBeatBytes;
        }
      }
      give(channel, s.completion, here, commands, completions, completed, others...);
    }
  } while (!last);
  // what the closing commands are answered with
  near_reads.read();
  far_reads.read();
  near_writes.read();
  far_writes.read();
  close(commands, completions, completed, others...);
  near_read_bytes = near_read;
  near_written_bytes = near_written;
  far_read_bytes = far_read;
  far_written_bytes = far_written;
}

// Ends the run when the last completion has arrived.
inline void finish(completed_stream& completed, status_stream& written, bytes_t& done, bytes_t& failed) {
  bytes_t all = 0, bad = 0;
  bool last;
finish_jobs:
  do {
#pragma HLS pipeline II=1
    const ap_uint<2> kind = completed.read();
    const burst_status_t status = written.read();
    last = kind == 0;
    if (!last) all += 1;
    if (kind == 2 || status != 0) bad += 1;
  } while (!last);
  done = all;
  failed = bad;
}

}  // namespace speckv
