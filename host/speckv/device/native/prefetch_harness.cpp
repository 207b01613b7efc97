// Runs kv_prefetch's C++ natively on the host's memory.
//
// Built with the rendered kernels into the same shared object as csim_harness.cpp and called through ctypes
// (prefetch/csim.py). The table is static: all engines of a process share it, and begin with CLEAR_ALL.
#include <cstdint>
#include <exception>
#include <string>

#include "speckv/prefetch.hpp"

using namespace speckv;

void kv_prefetch(const beat_t* commands_in, beat_t* results_out, bytes_t commands, bytes_t& done, bytes_t& failed,
                 bytes_t& touches, bytes_t& predicts, bytes_t& hits, bytes_t& displaced, bytes_t& lost,
                 bytes_t& corrupted, bytes_t& refused, bytes_t& predicted, bytes_t& filtered);

static_assert(sizeof(beat_t) == kBeatBytes, "memories of the host are arrays of beats");

extern "C" {

// One run. `results` has room for one beat a PREDICT; `counts` are the results of the kernel, in the order of its arguments.
// Returns null, or what went wrong; the text lives until the next call in this thread.
__attribute__((visibility("default"))) const char* csim_prefetch(const void* commands, std::uint64_t count, void* results,
                                                                 std::uint64_t* counts) {
  static thread_local std::string message;
  message.clear();
  try {
    bytes_t answers[11];
    for (bytes_t& answer : answers) answer = 0;
    kv_prefetch(static_cast<const beat_t*>(commands), static_cast<beat_t*>(results), count, answers[0], answers[1],
                answers[2], answers[3], answers[4], answers[5], answers[6], answers[7], answers[8], answers[9],
                answers[10]);
    for (int i = 0; i < 11; ++i) counts[i] = answers[i].to_uint64();
  } catch (const std::exception& error) {
    message = error.what();
  }
  return message.empty() ? nullptr : message.c_str();
}

}  // extern "C"
