// Both kernels begin alike: look at every beat that arrives, then let exactly the promised number of beats pass.
#pragma once

#include "bus.hpp"
#include "crc32c.hpp"
#include "plan.hpp"

namespace speckv {

// A beat with what is known about it before anything is decided.
struct Seen {
  beat_t data;
  flag_t last;       // TLAST
  flag_t whole;      // TKEEP is all ones
  flag_t crc_right;  // frames, on the last beat: the payload's CRC is the header's
};

// What to do with a request: which codec will be used, and how many beats will follow.
template <class D>
Plan<D> plan_request(const beat_t& h) {
  Plan<D> plan = plan_of<D>(h, true, true);
  if (plan.coded() && plan.quantised()) plan.payload_beats += lanes_bound<D>(plan.raw_beats, 0);
  if (plan.status != kOk) {
    refuse<D>(plan, plan.status);
  } else if (plan.transform != kRaw && !plan.delta() && plan.payload_beats >= plan.raw_beats) {  // does not shrink
    plan.become_raw();
    plan.no_shrink = 1;
  }
  return plan;
}

template <class D>
Plan<D> plan_frame(const beat_t& h, bool crc_right) {
  using namespace header;
  const bool table_known = get<codec>(h)[4] == 0 || get<header::table>(h) < kCodeTables;
  Plan<D> plan = plan_of<D>(h, crc_right, table_known);
  const auto bytes = get<payload_bytes>(h);
  const bool open = plan.exponents() || plan.delta() || plan.coded();  // its length depends on the data
  const ap_uint<26> beats = bytes / kBeatBytes;
  const bool possible = bytes % kBeatBytes == 0 && (open ? beats >= plan.payload_beats && beats < plan.raw_beats
                                                         : beats == plan.payload_beats);
  if (plan.status != kOk)
    refuse<D>(plan, plan.status);
  else if (!possible)
    refuse<D>(plan, status_t(kBadPayloadBytes));
  else if (open)
    plan.set_payload_beats(beats);
  return plan;
}

// Reads a packet to its end and plans its page. Nothing here depends on earlier decisions, so the wide checks
// of the header and the CRC can take as many pipeline stages as they need.
template <class D>
void inspect_request(bus_stream<D>& in, hls::stream<Seen>& seen, hls::stream<Plan<D>>& plans) {
  bool first = true;
inspect_request_beats:  // II = 1: one beat arrives in every cycle
  do {
#pragma HLS pipeline II=1 rewind
    const axis_beat beat = read_beat(in);
    if (first) plans.write(plan_request<D>(beat.data));
    Seen s;
    s.data = beat.data;
    s.last = beat.last;
    s.whole = beat.keep.and_reduce();
    s.crc_right = 1;
    seen.write(s);
    first = beat.last;
  } while (!first);
}

template <class D>
void inspect_frame(bus_stream<D>& in, hls::stream<Seen>& seen, hls::stream<Plan<D>>& plans) {
  bool first = true;
  crc_t crc = 0, expected = 0;
inspect_frame_beats:  // II = 1: one beat arrives in every cycle
  do {
#pragma HLS pipeline II=1 rewind
    const axis_beat beat = read_beat(in);
    const crc_t next = crc_next(first ? crc_t(kCrcStart) : crc, beat.data);  // one tree for header and payload
    if (first) {
      plans.write(plan_frame<D>(beat.data, next == kCrcResidue));
      expected = ~header::get<header::payload_crc>(beat.data);
      crc = kCrcStart;
    } else {
      crc = next;
    }
    Seen s;
    s.data = beat.data;
    s.last = beat.last;
    s.whole = beat.keep.and_reduce();
    s.crc_right = crc == expected;
    seen.write(s);
    first = beat.last;
  } while (!first);
}

// Passes on the header, the plan and exactly the planned number of beats: zeros stand for missing ones, surplus
// ones are dropped. What was wrong with the packet follows as a status at its end.
template <class D, class Beats>
void admit(hls::stream<Seen>& seen, hls::stream<Plan<D>>& plans_in, beat_stream& headers, hls::stream<Plan<D>>& plans,
           beat_stream& beats, hls::stream<status_t>& verdicts) {
  bool first = true;   // the header is next
  bool ended = false;  // TLAST was seen
  bool ragged = false, truncated = false, overlong = false;
  status_t refused = kOk;
  payload_count_t<D> left = 0;
admit_beats:  // II = 1: one beat arrives in every cycle
  do {
#pragma HLS pipeline II=1 rewind
    Seen s;
    s.data = 0;
    s.last = 1;
    s.whole = 1;
    s.crc_right = 1;
    if (!ended) s = seen.read();
    ragged = (ragged && !first) || !s.whole;

    bool complete;  // this was the last planned beat, or came after it; found beside the subtraction, not behind it
    if (first) {
      const Plan<D> plan = plans_in.read();
      headers.write(s.data);
      plans.write(plan);
      refused = plan.status;
      left = Beats::of(plan);
      complete = Beats::of(plan) == 0;
      truncated = overlong = false;
    } else if (left != 0) {
      beats.write(s.data);
      complete = left == 1;
      left -= 1;
    } else {
      complete = true;
      overlong = true;
    }
    truncated = truncated || (!ended && s.last && !complete);
    const bool done = (ended || s.last) && complete;
    if (done) {
      status_t verdict = kOk;
      if (!s.crc_right) verdict = kBadPayloadCrc;
      if (ragged) verdict = kBadKeep;
      if (overlong) verdict = kOverlong;
      if (truncated) verdict = kTruncated;
      if (refused != kOk) verdict = refused;
      verdicts.write(verdict);
    }
    ended = (ended || s.last) && !done;
    first = done;
  } while (!first);
}

// What follows the header of a request, and of a frame.
struct RawBeats {
  template <class P>
  static auto of(const P& plan) { return plan.raw_beats; }
};
struct PayloadBeats {
  template <class P>
  static auto of(const P& plan) { return plan.payload_beats; }
};

}  // namespace speckv
