// Runs kv_dma's C++ natively on two memories of the host, its streams answered by the design's other kernels.
//
// Built with the rendered kernels into the same shared object as csim_harness.cpp and called through ctypes (dma/csim.py).
// One process of the kernel after the other handles the whole run: all reads come before all writes.
// SPECKV_OTHER_CHANNELS lists the channels behind the first one: -D'SPECKV_OTHER_CHANNELS(CHANNEL)=CHANNEL(1) CHANNEL(2)'.
#include <cstdint>
#include <exception>
#include <string>

#include "design.hpp"
#include "speckv/dma.hpp"

using namespace speckv;
using word_t = bus_t<Design>;
using Bus = bus_stream<Design>;

void kv_compress(Bus& raw_in, Bus& frame_out);
void kv_decompress(Bus& frame_in, Bus& raw_out);
void kv_dma(const word_t* batch_in, word_t* completions_out, const word_t* near_in, word_t* near_out,
            const word_t* far_in, word_t* far_out, bytes_t batch_beats, offset_t near_bytes, offset_t far_bytes,
            bytes_t& done, bytes_t& failed, offset_t& near_read_bytes, offset_t& near_written_bytes,
            offset_t& far_read_bytes, offset_t& far_written_bytes, bytes_t& kernel_id, offset_t& design_hash,
#define CHANNEL(n) const word_t *batch_in_##n, word_t *completions_out_##n, bytes_t batch_beats_##n, bytes_t &done_##n, bytes_t &failed_##n,
            SPECKV_OTHER_CHANNELS(CHANNEL)
#undef CHANNEL
            Bus& request_out, Bus& frame_in, Bus& frame_out, Bus& page_in);

// Called by kv_dma between the process that fills the streams and the one that empties them.
void answer_streams(Bus& request_out, Bus& frame_in, Bus& frame_out, Bus& page_in) {
  while (!request_out.empty()) kv_compress(request_out, frame_in);
  while (!frame_out.empty()) kv_decompress(frame_out, page_in);
}

static_assert(8 * sizeof(word_t) == Design::bus_bits, "memories of the host are arrays of the bus's words");

extern "C" {

// A channel of a run. Memories belong to the caller; `completions` has room for those of the whole batch.
struct dma_channel {
  const void* batch;
  std::uint64_t batch_beats;
  void* completions;
  // results
  std::uint64_t done, failed;
};

// One run of all channels.
struct dma_run {
  dma_channel* channels;
  void* near_memory;
  std::uint64_t near_bytes;
  void* far_memory;
  std::uint64_t far_bytes;
  // results
  std::uint64_t near_read_bytes, near_written_bytes, far_read_bytes, far_written_bytes;
};

// Returns null, or what went wrong; the text lives until the next call in this thread.
__attribute__((visibility("default"))) const char* csim_dma(dma_run* run) {
  static thread_local std::string message;
  message.clear();
  try {
    Bus request_out("request_out"), frame_in("frame_in"), frame_out("frame_out"), page_in("page_in");
    word_t* const near_memory = static_cast<word_t*>(run->near_memory);
    word_t* const far_memory = static_cast<word_t*>(run->far_memory);
    bytes_t done = 0, failed = 0, kernel_id;
    offset_t design_hash;
#define CHANNEL(n) bytes_t done_##n = 0, failed_##n = 0;
    SPECKV_OTHER_CHANNELS(CHANNEL)
#undef CHANNEL
    dma_channel* const channels = run->channels;
    offset_t near_read = 0, near_written = 0, far_read = 0, far_written = 0;
    kv_dma(static_cast<const word_t*>(channels[0].batch), static_cast<word_t*>(channels[0].completions), near_memory,
           near_memory, far_memory, far_memory, channels[0].batch_beats, run->near_bytes, run->far_bytes, done, failed,
           near_read, near_written, far_read, far_written, kernel_id, design_hash,
#define CHANNEL(n) static_cast<const word_t*>(channels[n].batch), static_cast<word_t*>(channels[n].completions), \
           channels[n].batch_beats, done_##n, failed_##n,
           SPECKV_OTHER_CHANNELS(CHANNEL)
#undef CHANNEL
           request_out, frame_in, frame_out, page_in);
    channels[0].done = done.to_uint64();
    channels[0].failed = failed.to_uint64();
#define CHANNEL(n) channels[n].done = done_##n.to_uint64(), channels[n].failed = failed_##n.to_uint64();
    SPECKV_OTHER_CHANNELS(CHANNEL)
#undef CHANNEL
    run->near_read_bytes = near_read.to_uint64();
    run->near_written_bytes = near_written.to_uint64();
    run->far_read_bytes = far_read.to_uint64();
    run->far_written_bytes = far_written.to_uint64();
    if (!frame_in.empty() || !page_in.empty()) message = "words of an answer are left in a stream";
  } catch (const std::exception& error) {
    message = error.what();
  }
  return message.empty() ? nullptr : message.c_str();
}

}  // extern "C"
