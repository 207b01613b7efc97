// A variable inner bound, three levels, a value carried from inside out.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void nested_loops(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  const unsigned rows = in.read() & 7;
  unsigned total = 0;
  for (unsigned r = 0; r < rows; r++) {
    const ap_uint<32> head = in.read();
    const unsigned columns = head & 15;
    unsigned product = r + 1;
    for (unsigned c = 0; c < columns; c++) {
#pragma HLS pipeline
      product = product * (unsigned)in.read() + c;
    }
    for (unsigned p = 0; p < (head >> 30); p++) {
      for (unsigned q = 0; q <= p; q++) {
#pragma HLS pipeline II=1
        out.write(product + 16 * p + q);
      }
      total += p;
    }
    total += product;
  }
  out.write(total);
}
