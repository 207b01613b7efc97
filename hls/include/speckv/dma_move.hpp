// Jobs move pages and frames between the memories and the engines.
#pragma once

#include "bus.hpp"
#include "dma_job.hpp"

namespace speckv {

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

}  // namespace speckv
