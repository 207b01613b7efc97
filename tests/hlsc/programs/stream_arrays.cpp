// Arrays of streams: their elements go to instances of a process, and as a pack to those that share work out and take it
// back.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

using word = ap_uint<32>;
using words = hls::stream<word>;

template <class... Others>
void stream_arrays_deal(words& in, words& first, Others&... others) {
  const unsigned n = in.read() & 15;
  first.write(n);
  const int lengths[] = {(others.write(n), 0)...};
  (void)lengths;
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline II=1
    const word x = in.read();
    first.write(x);
    const int values[] = {(others.write(x), 0)...};
    (void)values;
  }
}

void stream_arrays_work(words& in, words& out) {
  const unsigned n = in.read();
  word sum = n;
  out.write(n);
  for (unsigned i = 0; i < n; i++) {
    sum = sum * 3 + in.read();
    out.write(sum);
  }
}

void stream_arrays_join(words& a, words& b, words& c, words& out) {
  const unsigned n = a.read() + b.read() - c.read();
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline II=1
    out.write(a.read() + b.read() - c.read());
  }
}

void stream_arrays(words& in, words& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
#pragma HLS dataflow
  words dealt[3], done[3];
#pragma HLS stream variable=done depth=5
  stream_arrays_deal(in, dealt[0], dealt[1], dealt[2]);
  stream_arrays_work(dealt[0], done[0]);
  stream_arrays_work(dealt[1], done[1]);
  stream_arrays_work(dealt[2], done[2]);
  stream_arrays_join(done[0], done[1], done[2], out);
}
