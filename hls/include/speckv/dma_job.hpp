// What passes through kv_dma: a descriptor as a job, pieces of its page, and what it came to.
#pragma once

#include "burst.hpp"
#include "descriptor.hpp"

namespace speckv {

using beats_t = ap_uint<26>;  // beats of 32 bits of bytes

// One descriptor, checked. The job that is `last` ends the batch: it moves nothing and has no completion.
struct Job {
  beat_t descriptor;
  dma_status_t refused;  // kDmaOk if it can be done
  ap_uint<7> segments;   // that wait for whoever reads or writes near memory
  flag_t moves;          // something is to be done: neither refused nor of length 0
  flag_t last;
};

template <class F>
typename F::type get(const Job& job) {
  return header::get<F>(job.descriptor);
}

inline ap_uint<3> op_of(const Job& job) { return get<descriptor::op>(job); }
inline bool is_copy(const Job& job) { return op_of(job) == kCopy; }
inline bool reads_near(const Job& job) {
  return op_of(job) == kOffload || (is_copy(job) && get<descriptor::flags>(job) == kToFar);
}
inline bool writes_near(const Job& job) {
  return op_of(job) == kFetch || (is_copy(job) && get<descriptor::flags>(job) != kToFar);
}
inline bytes_t far_bytes_of(const Job& job) {
  return is_copy(job) ? get<descriptor::raw_bytes>(job) : get<descriptor::frame_bytes>(job);
}

// A piece of a page in near memory.
struct Segment {
  offset_t offset;
  bytes_t bytes;
};
using segment_stream = hls::stream<Segment>;

// The number of one of so many channels.
template <int Channels>
using channel_t = ap_uint<bits_for(Channels - 1)>;

// What a job came to, and how many answers its writes will get.
struct Sunk {
  beat_t completion;  // all but the errors of memories
  ap_uint<7> near_reads, near_writes;
  flag_t far_reads, far_writes;
  bytes_t read, written;
  flag_t last;
};

}  // namespace speckv
