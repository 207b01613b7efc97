// Runs the kernels' C++ natively: one call of the top function for a packet of each engine.
//
// Built with the rendered kernels into a shared object and called through ctypes (device/csim.py).
// SPECKV_KERNELS lists the top functions: -D'SPECKV_KERNELS=KERNEL(kv_compress) KERNEL(kv_decompress)', and
// SPECKV_ENGINES is the number of engines in each.
// It compiles against hlsc's ap_int.h (clang) and against Xilinx's ap_types (g++).
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "speckv/types.hpp"

using speckv::axis_beat;
using speckv::axis_stream;

#define KERNEL(name) void name(axis_stream &in, axis_stream &out);
SPECKV_KERNELS
#undef KERNEL

namespace {

constexpr int BEAT_BYTES = speckv::kBeatBytes;

struct Kernel {
  const char *name;
  void (*top)(axis_stream &, axis_stream &);
};

const Kernel kernels[] = {
#define KERNEL(name) {#name, &name},
    SPECKV_KERNELS
#undef KERNEL
};

struct Runner {
  std::vector<std::uint8_t> output;
  std::vector<std::uint32_t> lengths;
  std::string message;
};

axis_beat load(const std::uint8_t *bytes, std::uint64_t keep, bool last) {
  axis_beat beat;
  for (int i = 0; i < BEAT_BYTES / 8; i++) {
    std::uint64_t word;
    std::memcpy(&word, bytes + 8 * i, 8);
    beat.data.range(64 * i + 63, 64 * i) = ap_uint<64>(word);
  }
  beat.keep = keep;
  beat.last = last;
  return beat;
}

void store(const axis_beat &beat, std::uint8_t *bytes) {
  for (int i = 0; i < BEAT_BYTES / 8; i++) {
    const ap_uint<64> part = beat.data.range(64 * i + 63, 64 * i);
    const std::uint64_t word = part.to_uint64();
    std::memcpy(bytes + 8 * i, &word, 8);
  }
}

// Returns what is wrong with the packet, or an empty string.
std::string collect(axis_stream &out, Runner &runner) {
  if (out.empty()) return "no packet came out";
  std::uint32_t beats = 0;
  for (bool last = false; !last;) {
    if (out.empty()) return "the packet out ends without TLAST after " + std::to_string(beats) + " beats";
    const axis_beat beat = out.read();
    if (beat.keep != ap_uint<BEAT_BYTES>(~std::uint64_t{0})) return "TKEEP is not all ones";
    last = beat.last != 0;
    runner.output.resize(runner.output.size() + BEAT_BYTES);
    store(beat, runner.output.data() + runner.output.size() - BEAT_BYTES);
    beats++;
  }
  runner.lengths.push_back(beats);
  return {};
}

// What no packet accounts for, or an empty string.
std::string left_over(const axis_stream &in, const axis_stream &out) {
  if (!out.empty()) return std::to_string(out.size()) + " beats are left in the output stream after TLAST";
  if (!in.empty()) return std::to_string(in.size()) + " beats are left in the input stream";
  return {};
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void *csim_new() { return new Runner; }
EXPORT void csim_delete(Runner *r) { delete r; }
EXPORT const std::uint8_t *csim_output(const Runner *r) { return r->output.data(); }
EXPORT const std::uint32_t *csim_lengths(const Runner *r) { return r->lengths.data(); }
EXPORT const char *csim_message(const Runner *r) { return r->message.c_str(); }

// `data`: the beats of all packets, 64 bytes each; `keep`: TKEEP per beat or null for all ones;
// `beats`: beats of each packet. Returns how many packets were in the calls that went right; fewer than `packets`:
// csim_message.
EXPORT std::uint64_t csim_run(Runner *r, const char *name, const std::uint8_t *data, const std::uint64_t *keep,
                              const std::uint32_t *beats, std::uint64_t packets) {
  r->output.clear();
  r->lengths.clear();
  r->message.clear();
  const Kernel *kernel = nullptr;
  for (const Kernel &k : kernels)
    if (!std::strcmp(k.name, name)) kernel = &k;
  if (!kernel) {
    r->message = "no such kernel in this build";
    return 0;
  }
  std::uint64_t at = 0;
  for (std::uint64_t first = 0; first < packets; first += SPECKV_ENGINES) {
    const std::uint64_t behind = std::min<std::uint64_t>(first + SPECKV_ENGINES, packets);
    try {
      axis_stream in("in"), out("out");
      for (std::uint64_t p = first; p < behind; p++)
        for (std::uint32_t b = 0; b < beats[p]; b++, at++)
          in.write(load(data + BEAT_BYTES * at, keep ? keep[at] : ~std::uint64_t{0}, b + 1 == beats[p]));
      kernel->top(in, out);
      for (std::uint64_t p = first; p < behind && r->message.empty(); p++) r->message = collect(out, *r);
      if (r->message.empty()) r->message = left_over(in, out);
    } catch (const std::exception &e) {
      r->message = e.what();
    }
    if (!r->message.empty()) return first;
  }
  return packets;
}
