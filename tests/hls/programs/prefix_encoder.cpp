// The encoder's side of the prefix coder as a kernel: pages of symbols in, sections out. Symbols come as words of
// 8 bits a lane and the mask of wide lanes above them.
#include "code_tables.hpp"
#include "speckv/prefix_encode.hpp"

using namespace speckv;

struct Shape {
  static constexpr int max_page_beats = 512;
};

void feed(hls::stream<page_count_t<Shape>>& pages, hls::stream<ap_uint<9 * kLanes>>& words,
          hls::stream<page_count_t<Shape>>& coded_pages, symbol_stream& symbols) {
  page_count_t<Shape> left = 0;
  bool first = true;
feed_beats:
  do {
#pragma HLS pipeline II=1 rewind
    if (first) {
      left = pages.read();
      coded_pages.write(left);
    } else {
      const ap_uint<9 * kLanes> word = words.read();
      SymbolBeat beat;
      beat.values = word.range(8 * kLanes - 1, 0);
      beat.wide = word.range(9 * kLanes - 1, 8 * kLanes);
      symbols.write(beat);
      left -= 1;
    }
    first = left == 0;
  } while (!first);
}

void prefix_encoder(hls::stream<page_count_t<Shape>>& pages, hls::stream<ap_uint<9 * kLanes>>& words,
                    hls::stream<table_t>& tables, hls::stream<section_beats_t<Shape>>& sizes, beat_stream& section) {
#pragma HLS interface mode=axis port=pages
#pragma HLS interface mode=axis port=words
#pragma HLS interface mode=axis port=tables
#pragma HLS interface mode=axis port=sizes
#pragma HLS interface mode=axis port=section
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS dataflow
  hls::stream<page_count_t<Shape>> counted_pages("counted_pages"), coded_pages("coded_pages");
  symbol_stream symbols("symbols"), page("page");
  hls::stream<CountedPage<Shape>> counted("counted");
  hls::stream<table_t> page_tables("page_tables");
  hls::stream<CodedLanes<Shape>> lanes("lanes"), gathered("gathered");
  hls::stream<LaneMemory<Shape>::bytes_t> lane_bytes("lane_bytes");
  hls::stream<row_t> rows0("rows0"), rows1("rows1"), rows2("rows2"), rows3("rows3"), rows4("rows4"), rows5("rows5"),
      rows6("rows6"), rows7("rows7");
#pragma HLS stream variable=coded_pages depth=4
// A page waits here for its table while the next one is counted; less than a page would be a deadlock.
#pragma HLS stream variable=page depth=1024
// All rows of a page: less would be a deadlock.
#pragma HLS stream variable=rows0 depth=128
#pragma HLS stream variable=rows1 depth=128
#pragma HLS stream variable=rows2 depth=128
#pragma HLS stream variable=rows3 depth=128
#pragma HLS stream variable=rows4 depth=128
#pragma HLS stream variable=rows5 depth=128
#pragma HLS stream variable=rows6 depth=128
#pragma HLS stream variable=rows7 depth=128
  feed(pages, words, counted_pages, symbols);
  count_symbols<Shape>(counted_pages, symbols, coded_pages, page, counted);
  choose_table<Shape, CodeTables>(counted, page_tables, tables);
  code_lanes<Shape, CodeTables>(coded_pages, page_tables, page, lanes, rows0, rows1, rows2, rows3, rows4, rows5, rows6,
                                rows7);
  list_lanes<Shape>(lanes, gathered, lane_bytes, sizes);
  gather<Shape>(gathered, lane_bytes, rows0, rows1, rows2, rows3, rows4, rows5, rows6, rows7, section);
}
