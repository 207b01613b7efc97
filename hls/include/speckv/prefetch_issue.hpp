// From predicted pages to descriptors for kv_dma: each page's own, out of a table in control memory, with its place in near memory.
//
//   select ─ pages ─> ask ─> table, list of places ─ beats ─> issue ─> deliver
//                      └────────── what is coming ──────────────┘
#pragma once

#include "burst.hpp"
#include "descriptor.hpp"
#include "prefetch_command.hpp"
#include "prefetch_results.hpp"
#include "prefetch_row.hpp"

namespace speckv {

// The list of places follows the table: 32 bits each, offsets in near memory in beats.
constexpr int kPlaceBits = 32, kPlacesOfBeat = 16;

// The pages of one prediction. The end of all predictions has none.
template <class D>
struct Wanted {
  row_pages_t<D> pages;
  ways_t count;
};

template <class D>
Wanted<D> wanted_of(const row_pages_t<D>& pages, const ways_t& count) {
  Wanted<D> wanted;
  wanted.pages = pages;
  wanted.count = count;
  return wanted;
}

// A beat on its way: the places of the next 16 pages, or the descriptor of a page.
struct Asked {
  flag_t places;
  flag_t absent;  // a page that has no descriptor, or no place: nothing is on its way
  flag_t last;    // the end
};

// Reads the descriptors of wanted pages out of a table of so many, and so many places, if there are any. Each page has the
// next place, also one that has no descriptor.
template <class D>
void ask_descriptors(bytes_t descriptors, bytes_t places, hls::stream<Wanted<D>>& wanted, command_stream& reads,
                     hls::stream<Asked>& asked) {
  Wanted<D> current = wanted_of<D>(0, 0);
  bytes_t given = 0;
  bool more = true, places_asked = false;  // of the page to come
ask_pages:  // II = 1: a page, or places, per cycle
  while (more) {
#pragma HLS pipeline II=1
    if (current.count == 0) current = wanted.read();
    more = current.count != 0;
    const table_page_t<D> page = page_of<D>(current.pages, 0);
    const bool no_place = places != 0 && given >= places;
    Asked a;
    a.places = more && places != 0 && !no_place && !places_asked;
    a.absent = page >= descriptors || no_place;
    a.last = !more;
    asked.write(a);
    const bytes_t row = a.places ? bytes_t(descriptors + given / kPlacesOfBeat) : bytes_t(page);
    if (a.last || a.places || !a.absent) reads.write(burst_of(offset_t(row) * kBeatBytes, more ? kBeatBytes : 0, !more));
    if (a.places) {
      places_asked = true;
    } else {
      given += 1;
      places_asked = given % kPlacesOfBeat != 0;
      current.pages >>= D::page_bits;
      current.count -= 1;
    }
  }
}

// Puts descriptors in their places. Withheld is what has none or no place, what control memory cannot give, and what is no FETCH
// of a page in one piece: it would take others for its segments.
inline void issue(bytes_t places, hls::stream<Asked>& asked, beat_stream& beats, status_stream& statuses,
                  hls::stream<Result>& issued, bytes_t& withheld) {
  bytes_t left_out = 0;
  beat_t held = 0;  // places, the next page's in the low bits
  bool more = true, placed = places == 0;
issue_pages:  // II = 1: a page, or places, per cycle
  while (more) {
#pragma HLS pipeline II=1
    const Asked a = asked.read();
    more = !a.last;
    const bool comes = !a.last && (a.places || !a.absent);
    burst_status_t status = 0;
    beat_t beat = 0;
    if (a.last || comes) status = statuses.read();
    if (comes && status != 1) beat = beats.read();  // 1: not aligned, so that no data comes
    const bool fetch = header::get<descriptor::op>(beat) == kFetch && header::get<descriptor::segments>(beat) == 0;
    const bool good = comes && !a.places && status == 0 && fetch && placed;
    Result result;
    result.data = beat;
    if (places != 0) header::set<descriptor::near>(result.data, offset_t(held.range(kPlaceBits - 1, 0)) * kBeatBytes);
    result.last = a.last;
    result.unreadable = 0;
    if (good || a.last) issued.write(result);
    if (!good && !a.last && !a.places) left_out += 1;
    if (a.places) {
      held = beat;
      placed = status == 0;
    } else {
      held >>= kPlaceBits;
    }
  }
  withheld = left_out;
}

}  // namespace speckv
