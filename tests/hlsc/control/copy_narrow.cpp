// Memory to memory in bursts of any length, through elements of four words each: the ports are narrower than the data.
#include "ap_int.h"
#include "hls_stream.h"
#include "hlsc_burst.h"
typedef ap_uint<64> word;
typedef ap_uint<256> element;
typedef hls::stream<element> elements;
typedef hls::stream<hlsc::burst> commands;
typedef hls::stream<ap_uint<2>> statuses;

// `count` bursts of `bytes_each` bytes, each `step` bytes behind the one before
static void plan(commands& to, ap_uint<64> first, ap_uint<32> bytes_each, ap_uint<32> step, ap_uint<8> count) {
  ap_uint<64> at = first;
  for (ap_uint<8> k = 0; k < count; k++) {
#pragma HLS pipeline II=1
    hlsc::burst b;
    b.offset = at;
    b.bytes = bytes_each;
    b.last = k + 1 == count;
    to.write(b);
    at += step;
  }
}
// `elements_each` elements of every burst. Reads that are not aligned bring nothing; then what is written is made up.
static void change(elements& from, elements& to, ap_uint<32> elements_each, ap_uint<8> count, bool comes) {
  for (ap_uint<32> n = elements_each * count; n != 0; n--) {
#pragma HLS pipeline II=1
    element e = 0;
    if (comes) e = from.read();
    to.write(~e);
  }
}
static void collect(statuses& reads, statuses& writes, ap_uint<8> count, ap_uint<8>& read_errors,
                    ap_uint<8>& write_errors) {
  ap_uint<8> bad_reads = 0, bad_writes = 0;
  for (ap_uint<8> k = 0; k < count; k++) {
#pragma HLS pipeline II=1
    if (writes.read() != 0) bad_writes++;
    if (reads.read() != 0) bad_reads++;
  }
  read_errors = bad_reads;
  write_errors = bad_writes;
}

void copy_narrow(const word* source, word* target, ap_uint<64> from, ap_uint<64> to, ap_uint<32> read_each,
                 ap_uint<32> write_each, ap_uint<32> step, ap_uint<32> elements_each, ap_uint<8> count, bool comes,
                 ap_uint<8>& read_errors, ap_uint<8>& write_errors) {
#pragma HLS interface mode=m_axi port=source bundle=gmem0 offset=slave max_read_burst_length=256
#pragma HLS interface mode=m_axi port=target bundle=gmem1 offset=slave max_write_burst_length=256
#pragma HLS interface mode=s_axilite port=source bundle=control
#pragma HLS interface mode=s_axilite port=target bundle=control
#pragma HLS interface mode=s_axilite port=from bundle=control
#pragma HLS interface mode=s_axilite port=to bundle=control
#pragma HLS interface mode=s_axilite port=read_each bundle=control
#pragma HLS interface mode=s_axilite port=write_each bundle=control
#pragma HLS interface mode=s_axilite port=step bundle=control
#pragma HLS interface mode=s_axilite port=elements_each bundle=control
#pragma HLS interface mode=s_axilite port=count bundle=control
#pragma HLS interface mode=s_axilite port=comes bundle=control
#pragma HLS interface mode=s_axilite port=read_errors bundle=control
#pragma HLS interface mode=s_axilite port=write_errors bundle=control
#pragma HLS interface mode=s_axilite port=return bundle=control
#pragma HLS interface mode=ap_ctrl_chain port=return
#pragma HLS dataflow
  commands reads, writes;
  elements loaded, changed;
  statuses read_status, write_status;
#pragma HLS stream variable=read_status depth=256
  plan(reads, from, read_each, step, count);
  hlsc::burst_read(source, reads, loaded, read_status);
  change(loaded, changed, elements_each, count, comes);
  plan(writes, to, write_each, step, count);
  hlsc::burst_write(target, writes, changed, write_status);
  collect(read_status, write_status, count, read_errors, write_errors);
}
