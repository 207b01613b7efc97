// Structures between processes: fields of odd widths and signs.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

struct Item {
  ap_int<13> value;
  ap_uint<37> tag;
  bool odd;
  unsigned char level;
  ap_uint<1> end;
};

void struct_stream_make(hls::stream<ap_uint<64>>& in, hls::stream<Item>& items) {
  const unsigned n = 1 + (in.read() & 15);
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline II=1
    const ap_uint<64> x = in.read();
    Item item;
    item.value = x.range(12, 0);
    item.tag = x.range(49, 13);
    item.odd = x[50];
    item.level = x.range(58, 51);
    item.end = i == n - 1;
    items.write(item);
  }
}

void struct_stream_use(hls::stream<Item>& items, hls::stream<ap_uint<64>>& out) {
  bool more = true;
  long sum = 0;
  do {
#pragma HLS pipeline II=1 rewind
    const Item item = items.read();
    sum += item.odd ? (long)item.value : (long)item.level;
    out.write(ap_uint<64>(item.tag) ^ ap_uint<64>(sum));
    more = !item.end;
  } while (more);
}

void struct_stream(hls::stream<ap_uint<64>>& in, hls::stream<ap_uint<64>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
#pragma HLS dataflow
  hls::stream<Item> items("items");
#pragma HLS stream variable=items depth=3
  struct_stream_make(in, items);
  struct_stream_use(items, out);
}
