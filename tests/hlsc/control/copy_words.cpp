// Memory to memory through a process, in bursts of any length; the last status ends the run.
#include "ap_int.h"
#include "hls_stream.h"
#include "hlsc_burst.h"
typedef ap_uint<64> word;
typedef hls::stream<word> words;
typedef hls::stream<hlsc::burst> commands;
typedef hls::stream<ap_uint<2>> statuses;

// `count` bursts of `words_each` words, one after the other from word `first`
static void plan(commands& to, ap_uint<64> first, ap_uint<16> words_each, ap_uint<8> count) {
  for (ap_uint<8> k = 0; k < count; k++) {
#pragma HLS pipeline II=1
    hlsc::burst b;
    b.offset = (first + ap_uint<32>(k) * words_each) * 8;
    b.bytes = ap_uint<32>(words_each) * 8;
    b.last = k + 1 == count;
    to.write(b);
  }
}
static void change(words& from, words& to, ap_uint<16> words_each, ap_uint<8> count) {
  for (ap_uint<32> n = ap_uint<32>(words_each) * count; n != 0; n--) {
#pragma HLS pipeline II=1
    to.write(~from.read());
  }
}
// takes read statuses late, so that they pile up in their FIFO
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

void copy_words(const word* source, word* target, ap_uint<64> from, ap_uint<64> to, ap_uint<16> words_each,
                ap_uint<8> count, ap_uint<8>& read_errors, ap_uint<8>& write_errors) {
#pragma HLS interface mode=m_axi port=source bundle=gmem0 offset=slave
#pragma HLS interface mode=m_axi port=target bundle=gmem1 offset=slave max_write_burst_length=64
#pragma HLS interface mode=s_axilite port=source bundle=control
#pragma HLS interface mode=s_axilite port=target bundle=control
#pragma HLS interface mode=s_axilite port=from bundle=control
#pragma HLS interface mode=s_axilite port=to bundle=control
#pragma HLS interface mode=s_axilite port=words_each bundle=control
#pragma HLS interface mode=s_axilite port=count bundle=control
#pragma HLS interface mode=s_axilite port=read_errors bundle=control
#pragma HLS interface mode=s_axilite port=write_errors bundle=control
#pragma HLS interface mode=s_axilite port=return bundle=control
#pragma HLS interface mode=ap_ctrl_chain port=return
#pragma HLS dataflow
  commands reads, writes;
  words loaded, changed;
  statuses read_status, write_status;
  plan(reads, from, words_each, count);
  hlsc::burst_read(source, reads, loaded, read_status);
  change(loaded, changed, words_each, count);
  plan(writes, to, words_each, count);
  hlsc::burst_write(target, writes, changed, write_status);
  collect(read_status, write_status, count, read_errors, write_errors);
}
