// What leaves: pieces become the payload's beats, their CRC and number complete the header.
#pragma once

#include "bus.hpp"
#include "crc32c.hpp"
#include "gearbox.hpp"
#include "prefix.hpp"

namespace speckv {

// How a page was encoded, as far as its header has to tell.
struct Coded {
  flag_t raw;       // whatever was asked for
  flag_t exact;     // the page's own CRC goes into the header
  flag_t prefixed;  // a section of lanes follows the other beats
  ap_uint<8> flags;
  ap_uint<8> scale_exponent;
};

// A beat of the payload, or nothing but the page's end.
struct Packed {
  beat_t beat;
  flag_t sends;
  flag_t last;  // of the page, but for the section of lanes
};

// The gearbox: pieces of words into beats.
inline void pack(hls::stream<Piece>& pieces, hls::stream<Packed>& packed) {
  beat_t kept = 0;
  bool last = false;
pack_pieces:  // II = 1: a raw beat's words per cycle. Round go the kept words, one multiplexer
  do {
#pragma HLS pipeline II=1 rewind
    const Piece piece = pieces.read();
    Packed p;
    p.beat = appended(kept, piece);
    p.sends = piece.sends;
    p.last = piece.last;
    if (piece.sends | piece.last) packed.write(p);
    last = piece.last;
  } while (!last);
}

// The section of lanes, of no beats for a page without; designs without prefix codes have nothing of it.
struct Section {
  ap_uint<32> beats;
  table_t table;
};
inline Section section_of() { return Section(); }
inline beat_t section_beat() { return 0; }
template <class Count>
Section section_of(hls::stream<Count>& counts, hls::stream<table_t>& tables, beat_stream&) {
  Section section;
  section.beats = counts.read();
  section.table = tables.read();
  return section;
}
template <class Count>
beat_t section_beat(hls::stream<Count>&, hls::stream<table_t>&, beat_stream& section) {
  return section.read();
}

// A frame's header, and the beats that wait in `payload`.
template <class D>
struct Sealed {
  beat_t header;
  payload_count_t<D> beats;
};

// Computes the CRCs and completes the header, when the payload's last beat and the packet's verdict are known. Payloads
// are counted here and nowhere else.
//
// One CRC tree serves both: the header goes through it without its other two CRCs, which are known only then, behind it;
// a CRC is linear, so what they add is added afterwards.
template <class D, class... Sections>
void seal(hls::stream<Coded>& coded, beat_stream& headers, hls::stream<Packed>& packed, hls::stream<crc_t>& raw_crcs,
          hls::stream<status_t>& verdicts, beat_stream& payload, hls::stream<Sealed<D>>& sealed, Sections&... sections) {
  enum State : unsigned { kBegin, kBeats, kMeasure, kLanes, kEnd };
  ap_uint<3> state = kBegin;
  Coded c = Coded();
  beat_t head = 0;
  table_t table = 0;
  payload_count_t<D> beats = 0, section_left = 0;
  crc_t crc = 0;
  bool ends = false;
seal_beats:  // II = 1: one beat per cycle. Round goes the CRC's register
  do {
#pragma HLS pipeline II=1 rewind
    using namespace header;
    Packed in;
    in.beat = 0;
    in.sends = 0;
    in.last = 0;
    ends = state == kEnd;
    status_t verdict = kOk;
    crc_t exact = 0;
    if (state == kBegin) {
      c = coded.read();
      head = headers.read();
      table = 0;
      beats = 0;
      crc = kCrcStart;
      state = kBeats;
    } else if (state == kBeats) {
      in = packed.read();
      if (in.last) state = sizeof...(Sections) != 0 ? kMeasure : kEnd;
    } else if (state == kMeasure) {
      const Section section = section_of(sections...);
      section_left = section.beats;
      table = section.table;
      state = c.prefixed ? kLanes : kEnd;
    } else if (state == kLanes) {
      in.beat = section_beat(sections...);
      in.sends = 1;
      if (section_left == 1) state = kEnd;
      section_left -= 1;
    } else {
      verdict = verdicts.read();
      exact = ~raw_crcs.read();
      state = kBegin;
    }

    // The header, but for its CRCs. A packet that was not right gets one that says so and nothing else.
    const bool good = verdict == kOk;
    beat_t h = head;
    set<requested_codec>(h, get<codec>(head));
    if (good && c.raw) set<codec>(h, kRaw);
    set<status>(h, verdict);
    set<flags>(h, good ? c.flags : ap_uint<8>(0));
    set<payload_bytes>(h, good ? ap_uint<32>(beats * kBeatBytes) : ap_uint<32>(0));
    set<payload_crc>(h, 0);
    set<raw_crc>(h, 0);
    set<scale_exponent>(h, good ? c.scale_exponent : ap_uint<8>(0));
    set<header::table>(h, good ? table : table_t(0));
    set<reserved>(h, 0);

    const crc_t added = crc_of_beat(ends ? header_for_crc(h) : in.beat);
    if (in.sends) {
      payload.write(in.beat);
      crc = crc_of_register(crc) ^ added;
      beats += 1;
    }
    if (ends) {
      const crc_t of_payload = good ? crc_t(~crc) : crc_t(0);
      const crc_t of_page = good && c.exact ? exact : good && c.raw ? of_payload : crc_t(0);
      set<payload_crc>(h, of_payload);
      set<raw_crc>(h, of_page);
      set<header::header_crc>(
          h, ~(added ^ crc_of_header_word<payload_crc>(of_payload) ^ crc_of_header_word<raw_crc>(of_page)));
      Sealed<D> s;
      s.header = h;
      s.beats = beats;
      sealed.write(s);
    }
  } while (!ends);
}

// Sends header and payload; or, if anything was wrong with the packet, its header alone.
template <class D>
void emit(hls::stream<Sealed<D>>& sealed, beat_stream& payload, bus_stream<D>& out) {
  bool first = true;
  bool good = true;
  payload_count_t<D> left = 0;
emit_beats:  // II = 1: one beat leaves in every cycle
  do {
#pragma HLS pipeline II=1 rewind
    beat_t beat;
    if (first) {
      const Sealed<D> s = sealed.read();
      beat = s.header;
      good = header::get<header::status>(beat) == kOk;
      left = s.beats;
    } else {
      beat = payload.read();
      left -= 1;
    }
    if (first || good) write_beat(out, beat, !good || left == 0);
    first = left == 0;
  } while (!first);
}

}  // namespace speckv
