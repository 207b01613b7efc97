// Runs the kernels' C++ natively: one call of the top function for a packet of each engine.
//
// Built with the rendered kernels into a shared object and called through ctypes (device/csim.py).
// SPECKV_KERNELS lists the top functions: -D'SPECKV_KERNELS=KERNEL(kv_compress) KERNEL(kv_decompress)', and
// SPECKV_ENGINES is the number of engines in each, SPECKV_BUS_BITS the width of their streams.
// It compiles against hlsc's ap_int.h (clang) and against Xilinx's ap_types (g++).
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "speckv/bus.hpp"

struct Width {
  static constexpr int bus_bits = SPECKV_BUS_BITS;
};
using Word = speckv::bus_word<Width>;
using Bus = speckv::bus_stream<Width>;

#define KERNEL(name) void name(Bus &in, Bus &out);
SPECKV_KERNELS
#undef KERNEL

namespace {

constexpr int BEAT_BYTES = speckv::kBeatBytes;
constexpr int WORD_BYTES = SPECKV_BUS_BITS / 8;
constexpr int BEAT_WORDS = BEAT_BYTES / WORD_BYTES;

struct Kernel {
  const char *name;
  void (*top)(Bus &, Bus &);
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

Word load(const std::uint8_t *bytes, std::uint64_t keep, bool last) {
  Word word;
  for (int i = 0; i < WORD_BYTES / 8; i++) {
    std::uint64_t part;
    std::memcpy(&part, bytes + 8 * i, 8);
    word.data.range(64 * i + 63, 64 * i) = ap_uint<64>(part);
  }
  word.keep = keep;
  word.last = last;
  return word;
}

void store(const Word &word, std::uint8_t *bytes) {
  for (int i = 0; i < WORD_BYTES / 8; i++) {
    const ap_uint<64> part = word.data.range(64 * i + 63, 64 * i);
    const std::uint64_t value = part.to_uint64();
    std::memcpy(bytes + 8 * i, &value, 8);
  }
}

// Returns what is wrong with the packet, or an empty string.
std::string collect(Bus &out, Runner &runner) {
  if (out.empty()) return "no packet came out";
  std::uint32_t words = 0;
  for (bool last = false; !last;) {
    if (out.empty()) return "the packet out ends without TLAST after " + std::to_string(words) + " words";
    const Word word = out.read();
    if (word.keep != ap_uint<WORD_BYTES>(~std::uint64_t{0})) return "TKEEP is not all ones";
    last = word.last != 0;
    runner.output.resize(runner.output.size() + WORD_BYTES);
    store(word, runner.output.data() + runner.output.size() - WORD_BYTES);
    words++;
  }
  if (words % BEAT_WORDS) return "the packet out ends inside a beat, after " + std::to_string(words) + " words";
  runner.lengths.push_back(words / BEAT_WORDS);
  return {};
}

// What no packet accounts for, or an empty string.
std::string left_over(const Bus &in, const Bus &out) {
  if (!out.empty()) return std::to_string(out.size()) + " words are left in the output stream after TLAST";
  if (!in.empty()) return std::to_string(in.size()) + " words are left in the input stream";
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
// `beats`: beats of each packet; `missing`: words of the bus that its last beat lacks, or null. Returns how many packets were in the calls that went right; fewer than `packets`:
// csim_message.
EXPORT std::uint64_t csim_run(Runner *r, const char *name, const std::uint8_t *data, const std::uint64_t *keep,
                              const std::uint32_t *beats, const std::uint32_t *missing, std::uint64_t packets) {
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
      Bus in("in"), out("out");
      for (std::uint64_t p = first; p < behind; p++) {
        const std::uint32_t words = BEAT_WORDS * beats[p] - (missing ? missing[p] : 0);
        for (std::uint32_t w = 0; w < words; w++) {
          const std::uint64_t kept = (keep ? keep[at + w / BEAT_WORDS] : ~std::uint64_t{0}) >> (w % BEAT_WORDS * WORD_BYTES);
          in.write(load(data + BEAT_BYTES * at + WORD_BYTES * w, kept, w + 1 == words));
        }
        at += beats[p];
      }
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
