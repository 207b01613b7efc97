// The memories of a simulation; see axi_memory.h. Compiled into each simulation that has any.
#include "axi_memory.h"

#include <cstring>
#include <map>
#include <mutex>

namespace {

struct Memory {
  uint8_t* base;
  uint64_t bytes, address;
  uint64_t fault_first = 1, fault_last = 0;
  int fault = 0;
};

std::mutex guard;
std::map<int, Memory> memories;
int next_handle = 1;

constexpr int kDecodeError = 3;

// Where `bytes` bytes from an AXI address are, or the error that the access answers with.
int locate(int handle, uint64_t address, uint64_t bytes, uint8_t*& at) {
  const auto found = memories.find(handle);
  if (found == memories.end()) return kDecodeError;
  const Memory& memory = found->second;
  const uint64_t offset = address - memory.address;
  if (address < memory.address || bytes > memory.bytes || offset > memory.bytes - bytes) return kDecodeError;
  at = memory.base + offset;
  const bool faulty = memory.fault && offset <= memory.fault_last && offset + bytes > memory.fault_first;
  return faulty ? memory.fault : 0;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int axi_memory_new(void* base, uint64_t bytes, uint64_t address) {
  const std::lock_guard<std::mutex> hold(guard);
  Memory memory;
  memory.base = static_cast<uint8_t*>(base);
  memory.bytes = bytes;
  memory.address = address;
  memories[next_handle] = memory;
  return next_handle++;
}

__attribute__((visibility("default"))) void axi_memory_delete(int handle) {
  const std::lock_guard<std::mutex> hold(guard);
  memories.erase(handle);
}

__attribute__((visibility("default"))) void axi_memory_fault(int handle, uint64_t first, uint64_t last, int response) {
  const std::lock_guard<std::mutex> hold(guard);
  const auto found = memories.find(handle);
  if (found == memories.end()) return;
  found->second.fault_first = first;
  found->second.fault_last = last;
  found->second.fault = response;
}

// `data` and `strobes` are packed bit vectors in words of 32 bits, least significant first
int axi_memory_read(int handle, long long address, int bytes, uint32_t* data) {
  const std::lock_guard<std::mutex> hold(guard);
  uint8_t* at = nullptr;
  const uint64_t aligned = uint64_t(address) / bytes * bytes;
  const int response = locate(handle, aligned, bytes, at);
  if (response == kDecodeError)
    std::memset(data, 0xEE, bytes);  // whoever uses it will notice
  else  // a slave that fails may send what it holds all the same: whoever uses that will notice, too
    std::memcpy(data, at, bytes);
  return response;
}

int axi_memory_write(int handle, long long address, int bytes, const uint32_t* data, const uint32_t* strobes) {
  const std::lock_guard<std::mutex> hold(guard);
  uint8_t* at = nullptr;
  const uint64_t aligned = uint64_t(address) / bytes * bytes;
  const int response = locate(handle, aligned, bytes, at);
  if (response) return response;
  const uint8_t* from = reinterpret_cast<const uint8_t*>(data);
  for (int i = 0; i < bytes; ++i)
    if (strobes[i / 32] >> (i % 32) & 1) at[i] = from[i];
  return 0;
}
}
