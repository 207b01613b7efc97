// Bursts over AXI memory: the only way for a kernel to reach an `m_axi` argument.
//
// burst_read and burst_write are processes of a dataflow top. Each handles commands until one says `last`, in
// their order: a burst of any length becomes words on `data` (or takes them from there) and one `status`: 0 ok,
// 1 address not aligned (then a read gives no data and a write drops its own), 2 SLVERR, 3 DECERR, the worst of its
// transfers. A status comes when the memory has answered, so a process that waits for the last one of a write knows
// that the data has arrived. A burst may end inside a word: a read gives that word whole, a write leaves the bytes
// behind the end as they are.
//
// hlsc makes them library RTL (rtl/hlsc_axi_read.sv, hlsc_axi_write.sv): 4 KB rule, several bursts under way, write
// strobes. Elsewhere they are the plain loops below, from which Vitis HLS infers bursts. There a status is 0 or 1,
// and the last word of a write that ends inside it is read, changed and written back.
#pragma once
#include "ap_int.h"
#include "hls_stream.h"

namespace hlsc {

struct burst {
  ap_uint<64> offset;  // bytes from the argument's address to the first word: a multiple of a word's bytes
  ap_uint<32> bytes;   // may be 0
  bool last;           // no command follows in this run
};

#ifdef HLSC

extern "C" void hlsc_burst(const void* memory, void* commands, void* data, void* status, int is_write);

template <int Bits, int A, int B, int C>
inline void burst_read(const ap_uint<Bits>* memory, hls::stream<burst, A>& commands,
                       hls::stream<ap_uint<Bits>, B>& data, hls::stream<ap_uint<2>, C>& status) {
  hlsc_burst(memory, &commands, &data, &status, 0);
}
template <int Bits, int A, int B, int C>
inline void burst_write(ap_uint<Bits>* memory, hls::stream<burst, A>& commands,
                        hls::stream<ap_uint<Bits>, B>& data, hls::stream<ap_uint<2>, C>& status) {
  hlsc_burst(memory, &commands, &data, &status, 1);
}

#else

template <int Bits, int A, int B, int C>
void burst_read(const ap_uint<Bits>* memory, hls::stream<burst, A>& commands,
                hls::stream<ap_uint<Bits>, B>& data, hls::stream<ap_uint<2>, C>& status) {
  const unsigned long long word_bytes = Bits / 8;
  bool last;
  do {
    burst b = commands.read();
    const unsigned long long first = b.offset, bytes = b.bytes;
    const bool aligned = bytes == 0 || first % word_bytes == 0;
    const unsigned long long words = aligned ? (bytes + word_bytes - 1) / word_bytes : 0;
  words:
    for (unsigned long long i = 0; i < words; i++) {
#pragma HLS pipeline II=1
      data.write(memory[first / word_bytes + i]);
    }
    status.write(aligned ? 0 : 1);
    last = b.last;
  } while (!last);
}
template <int Bits, int A, int B, int C>
void burst_write(ap_uint<Bits>* memory, hls::stream<burst, A>& commands,
                 hls::stream<ap_uint<Bits>, B>& data, hls::stream<ap_uint<2>, C>& status) {
  const unsigned long long word_bytes = Bits / 8;
  bool last;
  do {
    burst b = commands.read();
    const unsigned long long first = b.offset, bytes = b.bytes;
    const bool aligned = bytes == 0 || first % word_bytes == 0;
    const unsigned long long words = (bytes + word_bytes - 1) / word_bytes, whole = bytes / word_bytes;
  words:
    for (unsigned long long i = 0; i < (aligned ? whole : 0); i++) {
#pragma HLS pipeline II=1
      memory[first / word_bytes + i] = data.read();
    }
    if (aligned && whole != words) {
      const ap_uint<Bits> word = data.read(), kept = ~ap_uint<Bits>(0) << int(8 * (bytes % word_bytes));
      const unsigned long long at = first / word_bytes + whole;
      memory[at] = (memory[at] & kept) | (word & ~kept);
    }
  drop:
    for (unsigned long long i = 0; i < (aligned ? 0 : words); i++) {
#pragma HLS pipeline II=1
      data.read();
    }
    status.write(aligned ? 0 : 1);
    last = b.last;
  } while (!last);
}

#endif

}  // namespace hlsc
