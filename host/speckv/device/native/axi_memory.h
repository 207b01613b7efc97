// What is behind the memories of a simulation: bytes that belong to the host, found by handle.
//
// The host keeps the bytes and gives their address; `axi_memory.sv` reads and writes them through DPI. A range may be made to
// answer with an error, for tests.
#pragma once
#include <cstdint>

extern "C" {
// A memory of `bytes` bytes at `base`, whose first byte has the AXI address `address`. Returns its handle, above 0.
int axi_memory_new(void* base, uint64_t bytes, uint64_t address);
// Forgets a memory; accesses through its handle then answer DECERR.
void axi_memory_delete(int handle);
// Makes accesses to bytes first … last of a memory answer `response` (2 SLVERR, 3 DECERR; 0 ends it).
void axi_memory_fault(int handle, uint64_t first, uint64_t last, int response);
}
