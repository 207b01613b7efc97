// A small DMA engine: a list of descriptors, each moves bytes from one memory to another and gets a completion.
// Descriptors and completions share a port: one reader, one writer.
#include "ap_int.h"
#include "hls_stream.h"
#include "hlsc_burst.h"
typedef ap_uint<64> word;
typedef hls::stream<word> words;
typedef hls::stream<hlsc::burst> commands;
typedef hls::stream<ap_uint<2>> statuses;

struct plan {
  word cookie;
  bool refused;  // not aligned: nothing is moved
};
typedef hls::stream<plan> plans;

// A descriptor is four words: source and target in bytes from the arguments' addresses, bytes, cookie
static const int DESCRIPTOR_BYTES = 32;
static const int COMPLETION_BYTES = 16;

static hlsc::burst make_burst(word offset, ap_uint<32> bytes, bool last) {
  hlsc::burst b;
  b.offset = offset;
  b.bytes = bytes;
  b.last = last;
  return b;
}

// `count` is at least 1
static void fetch(commands& to, ap_uint<16> count) {
  to.write(make_burst(0, ap_uint<32>(count) * DESCRIPTOR_BYTES, true));
}

static void check(words& descriptors, statuses& fetched, commands& reads, commands& writes, plans& to,
                  ap_uint<16> count, ap_uint<2>& fetch_status) {
  for (ap_uint<16> k = 0; k < count; k++) {
    word source = descriptors.read(), target = descriptors.read();
    word bytes = descriptors.read(), cookie = descriptors.read();
    plan p;
    p.cookie = cookie;
    p.refused = ((source | target) & 7) != 0;
    ap_uint<32> moved = p.refused ? ap_uint<32>(0) : ap_uint<32>(bytes);
    bool last = k + 1 == count;
    reads.write(make_burst(p.refused ? word(0) : source, moved, last));
    writes.write(make_burst(p.refused ? word(0) : target, moved, last));
    to.write(p);
  }
  fetch_status = fetched.read();
}

// A completion is two words: cookie; status of the read (bits 0, 1), of the write (2, 3), refused (4). It is
// written when the data is there.
static void complete(plans& from, statuses& reads, statuses& writes, commands& to, words& completions,
                     ap_uint<16> count, ap_uint<16>& errors) {
  ap_uint<16> bad = 0;
  for (ap_uint<16> k = 0; k < count; k++) {
    plan p = from.read();
    ap_uint<2> read = reads.read(), write = writes.read();
    if (p.refused || read != 0 || write != 0) bad++;
    to.write(make_burst(word(k) * COMPLETION_BYTES, COMPLETION_BYTES, k + 1 == count));
    completions.write(p.cookie);
    completions.write(word(read) | word(write) << 2 | word(p.refused) << 4);
  }
  errors = bad;
}

static void finish(statuses& completed, ap_uint<16> count, ap_uint<16>& lost) {
  ap_uint<16> bad = 0;
  for (ap_uint<16> k = 0; k < count; k++)
    if (completed.read() != 0) bad++;
  lost = bad;
}

void move_bytes(const word* descriptors, word* completions, const word* source, word* target, ap_uint<16> count,
                ap_uint<2>& fetch_status, ap_uint<16>& errors, ap_uint<16>& lost) {
#pragma HLS interface mode=m_axi port=descriptors bundle=gmem0 offset=slave
#pragma HLS interface mode=m_axi port=completions bundle=gmem0 offset=slave
#pragma HLS interface mode=m_axi port=source bundle=gmem1 offset=slave num_read_outstanding=32
#pragma HLS interface mode=m_axi port=target bundle=gmem2 offset=slave num_write_outstanding=32
#pragma HLS interface mode=s_axilite port=descriptors
#pragma HLS interface mode=s_axilite port=completions
#pragma HLS interface mode=s_axilite port=source
#pragma HLS interface mode=s_axilite port=target
#pragma HLS interface mode=s_axilite port=count
#pragma HLS interface mode=s_axilite port=fetch_status
#pragma HLS interface mode=s_axilite port=errors
#pragma HLS interface mode=s_axilite port=lost
#pragma HLS interface mode=s_axilite port=return
#pragma HLS interface mode=ap_ctrl_chain port=return
#pragma HLS dataflow
  commands fetches, reads, writes, reports;
  words fetched, data, reported;
  statuses fetch_done, read_done, write_done, report_done;
  plans moves;
#pragma HLS stream variable=moves depth=32
  fetch(fetches, count);
  hlsc::burst_read(descriptors, fetches, fetched, fetch_done);
  check(fetched, fetch_done, reads, writes, moves, count, fetch_status);
  hlsc::burst_read(source, reads, data, read_done);
  hlsc::burst_write(target, writes, data, write_done);
  complete(moves, read_done, write_done, reports, reported, count, errors);
  hlsc::burst_write(completions, reports, reported, report_done);
  finish(report_done, count, lost);
}
