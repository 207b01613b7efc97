// A request leaves and its answer comes back within one iteration; the answer takes its time.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void request_response(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& request,
                      hls::stream<ap_uint<32>>& response, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=request
#pragma HLS interface mode=axis port=response
#pragma HLS interface mode=axis port=out
  const unsigned n = in.read() & 15;
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline
    const ap_uint<32> x = in.read();
    request.write(x + i);
    out.write(response.read() ^ x);
  }
}
