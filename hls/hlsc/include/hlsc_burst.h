// Bursts over AXI memory: the only way for a kernel to reach an `m_axi` argument.
//
// burst_read and burst_write are processes of a dataflow top. Each handles commands until one says `last`, in
// their order: a burst of any length becomes words on `data` (or takes them from there) and one `status`: 0 ok,
// 1 address not aligned, 2 SLVERR, 3 DECERR, the worst of its transfers. A status comes when the memory has
// answered, so a process that waits for the last one of a write knows that the data has arrived.
//
// hlsc makes them library RTL (rtl/hlsc_axi_read.sv, hlsc_axi_write.sv): 4 KB rule, several bursts under way.
// Elsewhere they are the plain loops below, from which Vitis HLS infers bursts; status is then always 0.
#pragma once
#include "ap_int.h"
#include "hls_stream.h"

namespace hlsc {

struct burst {
  ap_uint<64> index;  // of the first word, counted from the argument's address
  ap_uint<32> words;  // may be 0
  bool last;          // no command follows in this run
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
  bool last;
  do {
    burst b = commands.read();
  words:
    for (ap_uint<32> i = 0; i < b.words; i++) {
#pragma HLS pipeline II=1
      data.write(memory[(unsigned long long)(b.index + i)]);
    }
    status.write(0);
    last = b.last;
  } while (!last);
}
template <int Bits, int A, int B, int C>
void burst_write(ap_uint<Bits>* memory, hls::stream<burst, A>& commands,
                 hls::stream<ap_uint<Bits>, B>& data, hls::stream<ap_uint<2>, C>& status) {
  bool last;
  do {
    burst b = commands.read();
  words:
    for (ap_uint<32> i = 0; i < b.words; i++) {
#pragma HLS pipeline II=1
      memory[(unsigned long long)(b.index + i)] = data.read();
    }
    status.write(0);
    last = b.last;
  } while (!last);
}

#endif

}  // namespace hlsc
