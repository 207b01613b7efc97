// Drives a verilated kv_system: registers through AXI4-Lite, and the clock until kv_dma is done.
//
// Memories are the host's own (axi_memory.h), so a run needs no copies.
#include <cstdarg>
#include <cstdio>
#include <cstdint>
#include <memory>
#include <string>

#include "Vdut.h"
#include "axi_memory.h"
#include "verilated.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kRegisterCycles = 1000;  // a register access that takes longer has failed

struct System {
  std::unique_ptr<VerilatedContext> context{new VerilatedContext};
  std::unique_ptr<Vdut> dut;
  uint64_t cycle = 0;

  explicit System(uint64_t seed) {
    context->randReset(2);
    context->randSeed(int(seed));
    context->fatalOnError(false);
    dut.reset(new Vdut(context.get(), "system"));
  }
  ~System() { dut->final(); }

  void tick() {
    dut->ap_clk = 0;
    dut->eval();
    dut->ap_clk = 1;
    dut->eval();
    context->timeInc(1);
    ++cycle;
  }

  void reset() {
    dut->ap_rst_n = 0;
    dut->s_axi_control_AWVALID = dut->s_axi_control_WVALID = dut->s_axi_control_ARVALID = 0;
    dut->s_axi_control_BREADY = dut->s_axi_control_RREADY = 1;
    dut->s_axi_control_WSTRB = 15;
    for (int i = 0; i < 16; ++i) tick();
    dut->ap_rst_n = 1;
    for (int i = 0; i < 4; ++i) tick();
  }

  // Signals are looked at before the edge that takes them.
  bool write(uint32_t address, uint32_t value) {
    dut->s_axi_control_AWADDR = address;
    dut->s_axi_control_WDATA = value;
    dut->s_axi_control_AWVALID = dut->s_axi_control_WVALID = 1;
    bool answered = false;
    for (int i = 0; i < kRegisterCycles && !answered; ++i) {
      dut->ap_clk = 0;
      dut->eval();
      const bool address_taken = dut->s_axi_control_AWVALID && dut->s_axi_control_AWREADY;
      const bool data_taken = dut->s_axi_control_WVALID && dut->s_axi_control_WREADY;
      answered = dut->s_axi_control_BVALID;
      tick();
      if (address_taken) dut->s_axi_control_AWVALID = 0;
      if (data_taken) dut->s_axi_control_WVALID = 0;
    }
    return answered;
  }

  bool read(uint32_t address, uint32_t& value) {
    dut->s_axi_control_ARADDR = address;
    dut->s_axi_control_ARVALID = 1;
    bool answered = false;
    for (int i = 0; i < kRegisterCycles && !answered; ++i) {
      dut->ap_clk = 0;
      dut->eval();
      const bool taken = dut->s_axi_control_ARVALID && dut->s_axi_control_ARREADY;
      answered = dut->s_axi_control_RVALID;
      value = dut->s_axi_control_RDATA;
      tick();
      if (taken) dut->s_axi_control_ARVALID = 0;
    }
    return answered;
  }
};

}  // namespace

EXPORT void* system_new(uint64_t seed) {
  System* system = new System(seed);
  system->reset();
  return system;
}
EXPORT void system_delete(void* handle) { delete static_cast<System*>(handle); }
EXPORT void system_reset(void* handle) { static_cast<System*>(handle)->reset(); }
EXPORT uint64_t system_cycle(void* handle) { return static_cast<System*>(handle)->cycle; }

EXPORT int system_write(void* handle, uint32_t address, uint32_t value) {
  return static_cast<System*>(handle)->write(address, value);
}
EXPORT int system_read(void* handle, uint32_t address, uint32_t* value) {
  return static_cast<System*>(handle)->read(address, *value);
}

// Which memory a port reaches, and its link. Takes effect at once.
EXPORT int system_memory(void* handle, const char* name, int memory, uint32_t latency, uint32_t rate, int shared) {
  Vdut& dut = *static_cast<System*>(handle)->dut;
  const std::string which(name);
#define PORT(NAME)                                                                       \
  if (which == #NAME) {                                                                  \
    dut.NAME##_handle = memory, dut.NAME##_latency = latency, dut.NAME##_rate = rate;    \
    dut.NAME##_shared = shared;                                                          \
    return 1;                                                                            \
  }
  SPECKV_MEMORIES(PORT)
#undef PORT
  return 0;
}
EXPORT int system_traffic(void* handle, const char* name, uint64_t* beats_read, uint64_t* beats_written) {
  Vdut& dut = *static_cast<System*>(handle)->dut;
  const std::string which(name);
#define PORT(NAME)                                                                              \
  if (which == #NAME) return *beats_read = dut.NAME##_beats_read, *beats_written = dut.NAME##_beats_written, 1;
  SPECKV_MEMORIES(PORT)
#undef PORT
  return 0;
}

// Runs until the interrupt, or for `cycles` cycles. 1: interrupt, 0: not yet.
EXPORT int system_step(void* handle, uint64_t cycles) {
  System& system = *static_cast<System*>(handle);
  for (uint64_t i = 0; i < cycles; ++i) {
    if (system.dut->irq) return 1;
    system.tick();
  }
  return system.dut->irq;
}
