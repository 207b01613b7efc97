// Bursts over AXI memory: the only way for a kernel to reach an `m_axi` argument.
//
// burst_read and burst_write are processes of a dataflow top. Each handles commands until one says `last`, in
// their order: a burst of any length becomes words on `data` (or takes them from there) and one `status`: 0 ok,
// 1 address not aligned (then a read gives no data and a write drops its own), 2 SLVERR, 3 DECERR, the worst of its
// transfers. A status comes when the memory has answered, so a process that waits for the last one of a write knows
// that the data has arrived. A burst may end inside a word: a read gives that word whole, a write leaves the bytes
// behind the end as they are.
//
// An element of `data` is one word of the memory, or several of them, the first one lowest. Then a burst's last element
// may not be full: a read fills it with zeros, and a write drops what is left of it.
//
// hlsc makes them library RTL (rtl/hlsc_axi_read.sv, hlsc_axi_write.sv, hlsc_widen.sv, hlsc_narrow.sv): 4 KB rule, several
// bursts under way, write strobes. Elsewhere they are the plain loops below, from which Vitis HLS infers bursts. There a
// status is 0 or 1, and the last word of a write that ends inside it is read, changed and written back.
#pragma once
#include "ap_int.h"
#include "hls_stream.h"

namespace hlsc {

struct burst {
  ap_uint<64> offset;  // bytes from the argument's address to the first word: a multiple of the bytes of a memory's word
  ap_uint<32> bytes;   // may be 0
  bool last;           // no command follows in this run
};

template <int MemoryBits, int DataBits>
constexpr int words_in() {
  static_assert(DataBits % MemoryBits == 0, "an element of the data stream must be whole words of the memory");
  return DataBits / MemoryBits;
}

#ifdef HLSC

extern "C" void hlsc_burst(const void* memory, void* commands, void* data, void* status, int is_write);

template <int MemoryBits, int DataBits, int A, int B, int C>
inline void burst_read(const ap_uint<MemoryBits>* memory, hls::stream<burst, A>& commands,
                       hls::stream<ap_uint<DataBits>, B>& data, hls::stream<ap_uint<2>, C>& status) {
  words_in<MemoryBits, DataBits>();
  hlsc_burst(memory, &commands, &data, &status, 0);
}
template <int MemoryBits, int DataBits, int A, int B, int C>
inline void burst_write(ap_uint<MemoryBits>* memory, hls::stream<burst, A>& commands,
                        hls::stream<ap_uint<DataBits>, B>& data, hls::stream<ap_uint<2>, C>& status) {
  words_in<MemoryBits, DataBits>();
  hlsc_burst(memory, &commands, &data, &status, 1);
}

#else

template <int MemoryBits, int DataBits, int A, int B, int C>
void burst_read(const ap_uint<MemoryBits>* memory, hls::stream<burst, A>& commands,
                hls::stream<ap_uint<DataBits>, B>& data, hls::stream<ap_uint<2>, C>& status) {
  const unsigned long long word_bytes = MemoryBits / 8;
  constexpr int count = words_in<MemoryBits, DataBits>();
  bool last;
  do {
    burst b = commands.read();
    const unsigned long long first = b.offset, bytes = b.bytes;
    const bool aligned = bytes == 0 || first % word_bytes == 0;
    const unsigned long long words = aligned ? (bytes + word_bytes - 1) / word_bytes : 0;
    ap_uint<DataBits> element = 0;
    int place = 0;
  words:
    for (unsigned long long i = 0; i < words; i++) {
#pragma HLS pipeline II=1
      element.range(MemoryBits * place + MemoryBits - 1, MemoryBits * place) = memory[first / word_bytes + i];
      const bool ends = place == count - 1 || i + 1 == words;
      if (ends) data.write(element);
      if (ends) element = 0;
      place = ends ? 0 : place + 1;
    }
    status.write(aligned ? 0 : 1);
    last = b.last;
  } while (!last);
}
template <int MemoryBits, int DataBits, int A, int B, int C>
void burst_write(ap_uint<MemoryBits>* memory, hls::stream<burst, A>& commands,
                 hls::stream<ap_uint<DataBits>, B>& data, hls::stream<ap_uint<2>, C>& status) {
  const unsigned long long word_bytes = MemoryBits / 8;
  constexpr int count = words_in<MemoryBits, DataBits>();
  bool last;
  do {
    burst b = commands.read();
    const unsigned long long first = b.offset, bytes = b.bytes;
    const bool aligned = bytes == 0 || first % word_bytes == 0;
    const unsigned long long words = (bytes + word_bytes - 1) / word_bytes, whole = bytes / word_bytes;
    ap_uint<DataBits> element = 0;
    int left = 0;  // words of it
  words:
    for (unsigned long long i = 0; i < (aligned ? whole : 0); i++) {
#pragma HLS pipeline II=1
      element = left == 0 ? data.read() : ap_uint<DataBits>(element >> MemoryBits);
      left = left == 0 ? count - 1 : left - 1;
      memory[first / word_bytes + i] = ap_uint<MemoryBits>(element);
    }
    if (aligned && whole != words) {
      element = left == 0 ? data.read() : ap_uint<DataBits>(element >> MemoryBits);
      const ap_uint<MemoryBits> word = element, kept = ~ap_uint<MemoryBits>(0) << int(8 * (bytes % word_bytes));
      const unsigned long long at = first / word_bytes + whole;
      memory[at] = (memory[at] & kept) | (word & ~kept);
    }
  drop:
    for (unsigned long long i = 0; i < (aligned ? 0 : words); i += count) {
#pragma HLS pipeline II=1
      data.read();
    }
    status.write(aligned ? 0 : 1);
    last = b.last;
  } while (!last);
}

#endif

}  // namespace hlsc
