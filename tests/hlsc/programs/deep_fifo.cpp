// A 577-bit FIFO of 1100 elements, filled to the brim before the reader may start.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

static const int ELEMENTS = 1100;

void deep_fifo_fill(hls::stream<ap_uint<64>>& in, hls::stream<ap_uint<577>>& data, hls::stream<ap_uint<8>>& go) {
  ap_uint<8> last = 0;
  for (int i = 0; i < ELEMENTS; i++) {
#pragma HLS pipeline II=1
    const ap_uint<64> x = in.read();
    ap_uint<577> wide = 0;
    for (int k = 0; k < 9; k++) {
#pragma HLS unroll
      wide.range(64 * k + 63, 64 * k) = x ^ ap_uint<64>(k * 0x1111);
    }
    wide[576] = x[5];
    data.write(wide);
    last = x;
  }
  go.write(last);
}

void deep_fifo_drain(hls::stream<ap_uint<577>>& data, hls::stream<ap_uint<8>>& go, hls::stream<ap_uint<64>>& out) {
  const ap_uint<8> tag = go.read();
  for (int i = 0; i < ELEMENTS; i++) {
#pragma HLS pipeline II=1
    const ap_uint<577> wide = data.read();
    ap_uint<64> sum = tag;
    for (int k = 0; k < 9; k++) {
#pragma HLS unroll
      sum ^= ap_uint<64>(wide.range(64 * k + 63, 64 * k)) << k;
    }
    sum[63] = wide[576];
    out.write(sum);
  }
}

void deep_fifo(hls::stream<ap_uint<64>>& in, hls::stream<ap_uint<64>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
#pragma HLS dataflow
  hls::stream<ap_uint<577>> data("data");
#pragma HLS stream variable=data depth=1100
  hls::stream<ap_uint<8>> go("go");
#pragma HLS stream variable=go depth=2
  deep_fifo_fill(in, data, go);
  deep_fifo_drain(data, go, out);
}
