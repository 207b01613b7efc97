// From predicted pages to descriptors for kv_dma: each page's own, out of a table in control memory, with its place in near memory.
//
//   select ─ pages ─> ask ─> table ─ descriptors ─> issue ─> deliver
//                      └───── one for each page ──────┘
#pragma once

#include "descriptor.hpp"
#include "prefetch_command.hpp"
#include "prefetch_results.hpp"
#include "prefetch_row.hpp"

namespace speckv {

// The pages of one prediction, and where in near memory they go. The end of all predictions has no pages.
template <class D>
struct Wanted {
  row_pages_t<D> pages;
  ways_t count;
  near_beats_t near;
};

template <class D>
Wanted<D> wanted_of(const row_pages_t<D>& pages, const ways_t& count, const near_beats_t& near) {
  Wanted<D> wanted;
  wanted.pages = pages;
  wanted.count = count;
  wanted.near = near;
  return wanted;
}

// One page whose descriptor is on its way.
struct Asked {
  near_beats_t near;
  flag_t first;    // of its prediction
  flag_t unknown;  // the table ends before it: nothing is on its way
  flag_t last;     // the end: no page
};

// Reads the descriptors of wanted pages, a beat each, from a table of so many.
template <class D>
void ask_descriptors(bytes_t descriptors, hls::stream<Wanted<D>>& wanted, command_stream& reads, hls::stream<Asked>& asked) {
  Wanted<D> current = wanted_of<D>(0, 0, 0);
  bool more = true;
ask_pages:  // II = 1: a page per cycle
  while (more) {
#pragma HLS pipeline II=1
    const bool first = current.count == 0;
    if (first) current = wanted.read();
    more = current.count != 0;
    const table_page_t<D> page = page_of<D>(current.pages, 0);
    const bool unknown = page >= descriptors;
    Asked a;
    a.near = current.near;
    a.first = first;
    a.unknown = unknown;
    a.last = !more;
    asked.write(a);
    if (!more || !unknown) reads.write(burst_of(offset_t(page) * kBeatBytes, bytes_t(more ? kBeatBytes : 0), !more));
    current.pages >>= D::page_bits;
    current.count -= 1;
  }
}

// Puts descriptors in their places: each page of a prediction goes right behind the one before. Withheld is what the table does
// not have, what control memory cannot give, and what is no FETCH of a page in one piece, which would take others for its
// segments.
inline void issue(hls::stream<Asked>& asked, beat_stream& descriptors, status_stream& statuses, hls::stream<Result>& issued,
                  bytes_t& withheld) {
  bytes_t left_out = 0;
  near_beats_t behind = 0;
  bool more = true;
issue_pages:  // II = 1: a page per cycle
  while (more) {
#pragma HLS pipeline II=1
    const Asked a = asked.read();
    more = !a.last;
    burst_status_t status = 0;
    beat_t descriptor = 0;
    if (a.last || !a.unknown) status = statuses.read();
    if (!a.last && !a.unknown && status != 1) descriptor = descriptors.read();  // 1: not aligned, so that no data comes
    const bool fetch = header::get<descriptor::op>(descriptor) == kFetch && header::get<descriptor::segments>(descriptor) == 0;
    const bool good = !a.last && !a.unknown && status == 0 && fetch;
    const near_beats_t near = a.first ? a.near : behind;
    if (a.near != kAsDescribed) header::set<descriptor::near>(descriptor, offset_t(near) * kBeatBytes);
    const near_beats_t beats = header::get<descriptor::raw_bytes>(descriptor) / kBeatBytes;
    behind = good ? near_beats_t(near + beats) : near;
    Result result;
    result.data = descriptor;
    result.last = a.last;
    result.unreadable = 0;
    if (good || a.last) issued.write(result);
    if (!good && !a.last) left_out += 1;
  }
  withheld = left_out;
}

}  // namespace speckv
