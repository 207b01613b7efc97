// Runs kv_prefetch's C++ natively on the host's memory.
//
// Built with the rendered kernels into the same shared object as csim_harness.cpp and called through ctypes
// (prefetch/csim.py). The table is static: all engines of a process share it, and begin with CLEAR_ALL.
#include <cstdint>
#include <exception>
#include <string>

#include "design.hpp"
#include "speckv/prefetch.hpp"

using namespace speckv;
using word_t = bus_t<Design>;

void kv_prefetch(const word_t* commands_in, word_t* results_out, const word_t* descriptors_in, word_t* fetches_out,
                 bytes_t commands, bytes_t descriptors, bytes_t places, bytes_t& done, bytes_t& failed,
                 bytes_t& fetches, bytes_t& fetches_failed, bytes_t& touches, bytes_t& predicts, bytes_t& hits, bytes_t& displaced,
                 bytes_t& lost, bytes_t& corrupted, bytes_t& refused, bytes_t& predicted, bytes_t& filtered,
                 bytes_t& withheld, bytes_t& kernel_id, offset_t& design_hash);

static_assert(8 * sizeof(word_t) == Design::bus_bits, "memories of the host are arrays of the bus's words");

extern "C" {

// One run, with the kernel's arguments; `registers` are its results, in their order. Returns null, or what went wrong; the
// text lives until the next call in this thread.
__attribute__((visibility("default"))) const char* csim_prefetch(const void* commands_in, void* results_out,
                                                                 const void* descriptors_in, void* fetches_out,
                                                                 std::uint64_t commands, std::uint64_t descriptors,
                                                                 std::uint64_t places, std::uint64_t* registers) {
  static thread_local std::string message;
  message.clear();
  try {
    constexpr int kRegisters = 14;
    bytes_t r[kRegisters];
    for (bytes_t& one : r) one = 0;
    bytes_t kernel_id;
    offset_t design_hash;
    kv_prefetch(static_cast<const word_t*>(commands_in), static_cast<word_t*>(results_out),
                static_cast<const word_t*>(descriptors_in), static_cast<word_t*>(fetches_out), commands, descriptors, places,
                r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11], r[12], r[13], kernel_id,
                design_hash);
    for (int i = 0; i < kRegisters; ++i) registers[i] = r[i].to_uint64();
  } catch (const std::exception& error) {
    message = error.what();
  }
  return message.empty() ? nullptr : message.c_str();
}

}  // extern "C"
