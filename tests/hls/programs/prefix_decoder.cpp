// The decoder's side of the prefix coder as a kernel: sections in, symbols out. A plan is, from the lowest bit: beats of
// the section, beats of the page, table, whether masks of wide lanes come.
#include "code_tables.hpp"
#include "speckv/prefix_decode.hpp"

using namespace speckv;

struct Shape {
  static constexpr int max_page_beats = 512;
};

// Plans to all processes; of a section its first beat apart.
void feed(hls::stream<ap_uint<24>>& plans, beat_stream& section, hls::stream<section_beats_t<Shape>>& sections,
          hls::stream<LanePage<Shape>>& pages, hls::stream<page_count_t<Shape>>& drained_pages, beat_stream& lengths,
          beat_stream& lanes) {
  section_beats_t<Shape> left = 0;
  bool first = true, at_lengths = false;
feed_beats:
  do {
#pragma HLS pipeline II=1 rewind
    if (first) {
      const ap_uint<24> plan = plans.read();
      LanePage<Shape> page;
      left = plan.range(9, 0);
      page.beats = plan.range(19, 10);
      page.table = plan.range(22, 20);
      page.wide = plan[23];
      sections.write(left);
      pages.write(page);
      drained_pages.write(page.beats);
      at_lengths = true;
    } else {
      const beat_t beat = section.read();
      if (at_lengths) lengths.write(beat);
      else lanes.write(beat);
      at_lengths = false;
      left -= 1;
    }
    first = left == 0;
  } while (!first);
}

void drain(hls::stream<page_count_t<Shape>>& pages, symbol_stream& symbols, hls::stream<ap_uint<8 * kLanes>>& values) {
  page_count_t<Shape> left = 0;
  bool first = true;
drain_beats:
  do {
#pragma HLS pipeline II=1 rewind
    if (first) {
      left = pages.read();
    } else {
      values.write(symbols.read().values);
      left -= 1;
    }
    first = left == 0;
  } while (!first);
}

void prefix_decoder(hls::stream<ap_uint<24>>& plans, beat_stream& section, hls::stream<lane_mask_t>& masks,
                    hls::stream<ap_uint<8 * kLanes>>& values, hls::stream<flag_t>& misfits) {
#pragma HLS interface mode=axis port=plans
#pragma HLS interface mode=axis port=section
#pragma HLS interface mode=axis port=masks
#pragma HLS interface mode=axis port=values
#pragma HLS interface mode=axis port=misfits
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS dataflow
  hls::stream<section_beats_t<Shape>> sections("sections"), lane_beats("lane_beats");
  hls::stream<LanePage<Shape>> pages("pages");
  hls::stream<page_count_t<Shape>> drained_pages("drained_pages");
  beat_stream lengths("lengths"), lanes("lanes");
  hls::stream<section_bytes_t<Shape>> lane_bytes("lane_bytes");
  hls::stream<LaneLengths<Shape>> lane_lengths("lane_lengths");
  symbol_stream symbols("symbols");
  hls::stream<LaneRow> rows0("rows0"), rows1("rows1"), rows2("rows2"), rows3("rows3"), rows4("rows4"), rows5("rows5"),
      rows6("rows6"), rows7("rows7");
// Plans of pages under way.
#pragma HLS stream variable=pages depth=4
#pragma HLS stream variable=drained_pages depth=4
// All rows of a page: less would be a deadlock.
#pragma HLS stream variable=rows0 depth=128
#pragma HLS stream variable=rows1 depth=128
#pragma HLS stream variable=rows2 depth=128
#pragma HLS stream variable=rows3 depth=128
#pragma HLS stream variable=rows4 depth=128
#pragma HLS stream variable=rows5 depth=128
#pragma HLS stream variable=rows6 depth=128
#pragma HLS stream variable=rows7 depth=128
  feed(plans, section, sections, pages, drained_pages, lengths, lanes);
  measure_lanes<Shape>(sections, lengths, lane_beats, lane_bytes, lane_lengths);
  scatter<Shape>(lane_beats, lane_bytes, lanes, rows0, rows1, rows2, rows3, rows4, rows5, rows6, rows7);
  decode_lanes<Shape, CodeTables>(pages, lane_lengths, masks, rows0, rows1, rows2, rows3, rows4, rows5, rows6, rows7,
                                  symbols, misfits);
  drain(drained_pages, symbols, values);
}
