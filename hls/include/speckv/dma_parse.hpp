// From batches of descriptors to jobs.
#pragma once

#include "batch.hpp"
#include "dma_job.hpp"
#include "turns.hpp"

namespace speckv {

inline bool aligned(const offset_t& count) { return ap_uint<6>(count) == 0; }
inline bool fits(const offset_t& offset, const bytes_t& bytes, const offset_t& size) {
  const ap_uint<65> end = offset + bytes;
  return end <= size;
}

template <int Channels>
bool any_left(const bytes_t (&left)[Channels]) {
  bool any = false;
  for (int i = 0; i < Channels; ++i) {
#pragma HLS unroll
    any = any || left[i] != 0;
  }
  return any;
}

// Takes the batches apart, a descriptor of each channel in turn, and checks it, its segments while they pass.
// `beats_left`: of each channel's batch, in the order of `batches`.
template <int Channels, class... Batches>
void parse_in_turn(bytes_t (&beats_left)[Channels], offset_t near_bytes, offset_t far_bytes, hls::stream<Job>& jobs,
                   segment_stream& to_read, segment_stream& to_write, Batches&... batches) {
  static_assert(sizeof...(Batches) == Channels, "each channel has a batch");
#pragma HLS array_partition variable=beats_left complete
  channel_t<Channels> turn = 0;
parse_descriptors:
  while (any_left(beats_left)) {
    const channel_t<Channels> channel = turn;
    turn = channel == Channels - 1 ? channel_t<Channels>(0) : channel_t<Channels>(channel + 1);
    bytes_t left = beats_left[channel];
    if (left == 0) continue;  // this batch has ended
    const BatchBeat first = detail::read_from(channel, batches...);
    bool unreadable = first.unreadable;
    Job job;
    job.descriptor = first.data;  // unreadable: op 0, which is unknown
    left = unreadable ? bytes_t(0) : bytes_t(left - 1);
    const auto op = get<descriptor::op>(job);
    const auto listed = get<descriptor::segments>(job);
    const bool known = op >= kOffload && op <= kScrub && listed <= kMaxSegments &&
                       get<descriptor::flags>(job) <= (op == kCopy ? kToFar : 0);
    const bool near = op != kScrub;
    const ap_uint<16> segments = listed == 0 ? ap_uint<16>(1) : listed;
    bool all_aligned = aligned(get<descriptor::far>(job)) && aligned(get<descriptor::raw_bytes>(job)) &&
                       (op == kCopy || aligned(get<descriptor::frame_bytes>(job)));
    bool all_fit = fits(get<descriptor::far>(job), far_bytes_of(job), far_bytes);
    ap_uint<48> sum = 0;
    beat_t entries = 0;
  parse_segments:  // II = 1: a segment per cycle; the beats of a list that is too long are skipped
    for (ap_uint<16> i = 0; i < segments; ++i) {
#pragma HLS pipeline II=1
      if (i % 4 != 0) {
        entries >>= kSegmentBits;
      } else if (listed != 0) {
        entries = 0;
        if (left != 0) {
          const BatchBeat next = detail::read_from(channel, batches...);
          entries = next.data;
          unreadable = next.unreadable;
          left = unreadable ? bytes_t(0) : bytes_t(left - 1);
        }
      }
      Segment segment;
      segment.offset = listed == 0 ? get<descriptor::near>(job) : offset_t(entries.range(63, 0));
      segment.bytes = listed == 0 ? get<descriptor::raw_bytes>(job) : bytes_t(entries.range(95, 64));
      all_aligned = all_aligned && (!near || (aligned(segment.offset) && aligned(segment.bytes)));
      all_fit = all_fit && (!near || fits(segment.offset, segment.bytes, near_bytes));
      sum += segment.bytes;
      if (known && reads_near(job)) to_read.write(segment);
      if (known && writes_near(job)) to_write.write(segment);
    }
    all_fit = all_fit && (!near || sum == get<descriptor::raw_bytes>(job));
    const bytes_t length = op == kOffload ? get<descriptor::raw_bytes>(job) : far_bytes_of(job);
    job.segments = known && near ? ap_uint<7>(segments) : ap_uint<7>(0);
    job.refused = unreadable ? kReadError : !known ? kBadOp : length == 0 ? kDmaOk : !all_aligned ? kMisaligned : !all_fit ? kOutOfRange : kDmaOk;
    job.moves = job.refused == kDmaOk && length != 0;
    job.last = 0;
    if (Channels > 1) header::set<descriptor::channel>(job.descriptor, channel);
    jobs.write(job);
    beats_left[channel] = left;
  }
  Job end;
  end.descriptor = 0;
  end.refused = kDmaOk;
  end.segments = 0;
  end.moves = 0;
  end.last = 1;
  jobs.write(end);
}

}  // namespace speckv
