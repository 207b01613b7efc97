// kv_dma: batches of descriptors move pages between near memory (raw) and far memory (frames); see hls/dma.md.
//
//   batch ─> vouch ─> parse ─> source ──────────> route ───────────> sink ────────> complete ─> completions ─> finish
//                                └─ near, far ─ beats ┘ └─ engines ─┘ └─ near, far ─ statuses ┘
//                                   readers                              writers
//
// Jobs pass from process to process in the order of the batch; each process works on another one. A job that parse refuses
// takes the same way without moving anything, so completions need no sorting. With several channels each has a reader of
// its batch with a `vouch`, and a writer of its completions with a `finish`; `parse` takes jobs from them in turn.
#pragma once

#include "bus.hpp"
#include "descriptor.hpp"
#include "hlsc_burst.h"
#include "turns.hpp"

namespace speckv {

using offset_t = ap_uint<64>;
using bytes_t = ap_uint<32>;
using beats_t = ap_uint<26>;  // beats of 32 bits of bytes
using burst_status_t = ap_uint<2>;
using command_stream = hls::stream<hlsc::burst>;
using status_stream = hls::stream<burst_status_t>;
using completed_stream = hls::stream<ap_uint<2>>;

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

inline bool aligned(const offset_t& count) { return ap_uint<6>(count) == 0; }
inline bool fits(const offset_t& offset, const bytes_t& bytes, const offset_t& size) {
  const ap_uint<65> end = offset + bytes;
  return end <= size;
}

inline hlsc::burst burst_of(const offset_t& offset, const bytes_t& bytes, bool last = false) {
  hlsc::burst command;
  command.offset = offset;
  command.bytes = bytes;
  command.last = last;
  return command;
}

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

// Asks the memories for what the jobs read, ahead of its use.
inline void source(hls::stream<Job>& jobs_in, segment_stream& segments, command_stream& near, command_stream& far,
                   hls::stream<Job>& jobs) {
  bool last;
source_jobs:
  do {
    const Job job = jobs_in.read();
    last = job.last;
    jobs.write(job);
    if (job.moves && !reads_near(job)) far.write(burst_of(get<descriptor::far>(job), far_bytes_of(job)));
    const ap_uint<7> count = reads_near(job) ? job.segments : ap_uint<7>(0);
  source_segments:  // II = 1: a command per cycle
    for (ap_uint<7> i = 0; i < count; ++i) {
#pragma HLS pipeline II=1
      const Segment segment = segments.read();
      if (job.moves) near.write(burst_of(segment.offset, segment.bytes));
    }
  } while (!last);
  near.write(burst_of(0, 0, true));
  far.write(burst_of(0, 0, true));
}

// The header that asks kv_compress for a job's page.
template <class D>
beat_t request_of(const Job& job) {
  beat_t h = 0;
  header::set<header::magic>(h, kMagic);
  header::set<header::version>(h, kVersion);
  header::set<header::codec>(h, get<descriptor::codec>(job));
  header::set<header::dtype>(h, get<descriptor::dtype>(job));
  header::set<header::kind>(h, get<descriptor::kind>(job));
  header::set<header::tokens>(h, get<descriptor::tokens>(job));
  header::set<header::channels>(h, get<descriptor::channels>(job));
  header::set<header::tile_tokens>(h, D::tile_tokens);
  header::set<header::group_channels>(h, D::group_channels);
  header::set<header::scale_bits>(h, D::scale_bits);
  header::set<header::raw_bytes>(h, get<descriptor::raw_bytes>(job));
  header::set<header::name_space>(h, get<descriptor::namespace_id>(job));
  header::set<header::page_key>(h, get<descriptor::page_key>(job));
  header::set<header::generation>(h, get<descriptor::generation>(job));
  return h;
}

// Whether a frame is the one that the job speaks of. All else about it is checked by kv_decompress.
inline bool is_of(const beat_t& h, const Job& job) {
  const ap_uint<33> frame_bytes = header::get<header::payload_bytes>(h) + kBeatBytes;
  return header::get<header::kind>(h) == get<descriptor::kind>(job) &&
         header::get<header::tokens>(h) == get<descriptor::tokens>(job) &&
         header::get<header::channels>(h) == get<descriptor::channels>(job) &&
         header::get<header::raw_bytes>(h) == get<descriptor::raw_bytes>(job) &&
         header::get<header::name_space>(h) == get<descriptor::namespace_id>(job) &&
         header::get<header::page_key>(h) == get<descriptor::page_key>(job) &&
         header::get<header::generation>(h) == get<descriptor::generation>(job) &&
         frame_bytes == get<descriptor::frame_bytes>(job);
}

// A job, and what its frame's header said.
struct Routed {
  Job job;
  flag_t mismatch;  // a frame that is not the job's: it went nowhere
};

// Sends what was read to where it is made into what will be written.
template <class D>
void route(hls::stream<Job>& jobs, beat_stream& near, beat_stream& far, bus_stream<D>& to_compress,
           bus_stream<D>& to_decompress, beat_stream& copied, hls::stream<Routed>& routed) {
  bool last;
route_jobs:
  do {
    Routed r;
    r.job = jobs.read();
    r.mismatch = 0;
    last = r.job.last;
    const bool from_near = reads_near(r.job), copy = is_copy(r.job);
    const bytes_t bytes = from_near ? get<descriptor::raw_bytes>(r.job) : far_bytes_of(r.job);
    beats_t left = r.job.moves ? beats_t(bytes / kBeatBytes) : beats_t(0);
    bool first = true;
    if (left == 0 || from_near) routed.write(r);
    if (left != 0 && from_near && !copy) write_beat(to_compress, request_of<D>(r.job), false);
  route_beats:  // II = 1: one beat per cycle
    while (left != 0) {
#pragma HLS pipeline II=1
      left -= 1;
      const beat_t beat = from_near ? near.read() : far.read();
      if (first && !from_near) {
        r.mismatch = !copy && !is_of(beat, r.job);
        routed.write(r);
      }
      if (copy)
        copied.write(beat);
      else if (from_near)
        write_beat(to_compress, beat, left == 0);
      else if (!r.mismatch)
        write_beat(to_decompress, beat, left == 0);
      first = false;
    }
  } while (!last);
}

// What a job came to, and how many answers its writes will get.
struct Sunk {
  beat_t completion;  // all but the errors of memories
  ap_uint<7> near_reads, near_writes;
  flag_t far_reads, far_writes;
  bytes_t read, written;
  flag_t last;
};

// Takes pages and frames from the engines, and has them written.
template <class D>
void sink(hls::stream<Routed>& routed, segment_stream& segments, bus_stream<D>& from_compress, bus_stream<D>& from_decompress,
          beat_stream& copied, command_stream& near_commands, beat_stream& near, command_stream& far_commands,
          beat_stream& far, hls::stream<Sunk>& sunk) {
  bool last;
sink_jobs:
  do {
    const Routed r = routed.read();
    const Job job = r.job;
    last = job.last;
    const auto op = op_of(job);
    const bool copy = is_copy(job), offload = op == kOffload;
    const bool asks = job.moves && !copy && !r.mismatch;  // an engine will answer

    // The first beat tells what there is to write: a frame begins with its header, and a page that was refused is one beat.
    axis_beat beat;
    beat.data = 0;
    beat.last = 0;
    if (asks) beat = offload ? read_beat(from_compress) : read_beat(from_decompress);
    const bytes_t frame_bytes = header::get<header::payload_bytes>(beat.data) + kBeatBytes;
    const bool refused = offload ? header::get<header::status>(beat.data) != kOk : bool(beat.last);
    const bool too_small = asks && offload && !refused && frame_bytes > get<descriptor::frame_bytes>(job);
    const bool writes = job.moves && (copy || (asks && op != kScrub && !refused && !too_small));
    const bool to_near = writes_near(job);
    const bytes_t bytes = offload ? frame_bytes : get<descriptor::raw_bytes>(job);

    if (writes && !to_near) far_commands.write(burst_of(get<descriptor::far>(job), bytes));
    const ap_uint<7> pieces = to_near ? job.segments : ap_uint<7>(0);
  sink_segments:  // II = 1: a command per cycle
    for (ap_uint<7> i = 0; i < pieces; ++i) {
#pragma HLS pipeline II=1
      const Segment segment = segments.read();
      if (writes) near_commands.write(burst_of(segment.offset, segment.bytes));
    }

    beat_t answer = beat.data;  // the header: first of a frame, last of a page
    beats_t left = copy && writes ? beats_t(bytes / kBeatBytes) : beats_t(0);
    bool more = copy ? writes : asks;
    bool waiting = asks;  // `beat` is still to be written
  sink_beats:  // II = 1: one beat per cycle
    while (more) {
#pragma HLS pipeline II=1
      if (!waiting) {
        if (copy)
          beat.data = copied.read();
        else
          beat = offload ? read_beat(from_compress) : read_beat(from_decompress);
      }
      waiting = false;
      left -= 1;
      more = copy ? left != 0 : !beat.last;
      if (!offload) answer = beat.data;
      if (writes && to_near && (copy || !beat.last)) near.write(beat.data);
      if (writes && !to_near) far.write(beat.data);
    }

    const auto engine_status = header::get<header::status>(answer);
    dma_status_t status = job.refused;
    if (asks && engine_status != kOk) status = kEngine;
    if (too_small) status = kTooSmall;
    if (r.mismatch) status = kHeaderMismatch;
    Sunk s;
    s.completion = 0;
    header::set<completion::cookie>(s.completion, get<descriptor::cookie>(job));
    header::set<completion::status>(s.completion, status);
    if (D::dma_channels > 1) header::set<completion::channel>(s.completion, get<descriptor::channel>(job));
    if (asks) {
      header::set<completion::engine_status>(s.completion, engine_status);
      header::set<completion::codec>(s.completion, header::get<header::codec>(answer));
      header::set<completion::flags>(s.completion, header::get<header::flags>(answer));
      header::set<completion::payload_crc>(s.completion, header::get<header::payload_crc>(answer));
      header::set<completion::raw_crc>(s.completion, header::get<header::raw_crc>(answer));
    }
    if (job.moves) header::set<completion::frame_bytes>(s.completion, offload ? (asks ? frame_bytes : bytes_t(0)) : far_bytes_of(job));
    s.near_reads = job.moves && reads_near(job) ? job.segments : ap_uint<7>(0);
    s.far_reads = job.moves && !reads_near(job);
    s.near_writes = writes ? pieces : ap_uint<7>(0);
    s.far_writes = writes && !to_near;
    s.read = !job.moves ? bytes_t(0) : reads_near(job) ? get<descriptor::raw_bytes>(job) : far_bytes_of(job);
    s.written = writes ? bytes : bytes_t(0);
    s.last = job.last;
    sunk.write(s);
  } while (!last);
  near_commands.write(burst_of(0, 0, true));
  far_commands.write(burst_of(0, 0, true));
}

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
