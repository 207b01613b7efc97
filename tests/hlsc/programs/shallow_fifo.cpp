// A FIFO of depth 2 between two processes that move a word every cycle.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void shallow_fifo_first(hls::stream<ap_uint<64>>& in, hls::stream<ap_uint<65>>& middle) {
  for (int i = 0; i < 256; i++) {
#pragma HLS pipeline II=1 rewind
    const ap_uint<64> x = in.read();
    middle.write(x + i);
  }
}

void shallow_fifo_second(hls::stream<ap_uint<65>>& middle, hls::stream<ap_uint<64>>& out) {
  for (int i = 0; i < 256; i++) {
#pragma HLS pipeline II=1 rewind
    out.write(middle.read() >> 1);
  }
}

void shallow_fifo(hls::stream<ap_uint<64>>& in, hls::stream<ap_uint<64>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
#pragma HLS dataflow
  hls::stream<ap_uint<65>> middle("middle");
#pragma HLS stream variable=middle depth=2
  shallow_fifo_first(in, middle);
  shallow_fifo_second(middle, out);
}
