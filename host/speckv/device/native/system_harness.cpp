// Drives a verilated kv_system: registers of one of its kernels at a time through AXI4-Lite, and the clock until its interrupt.
//
// Built into a shared object and called through ctypes (dma/cosim.py). Memories are the host's own (axi_memory.h), so a run
// needs no copies. SPECKV_MEMORY_PORTS lists the ports to them: -D'SPECKV_MEMORY_PORTS(PORT)=PORT(kv_dma_near) PORT(kv_dma_far)'. Every call returns.
#include <cstdint>
#include <string>

#include "axi_memory.h"
#include "verilated_model.h"

namespace {

constexpr int REGISTER_CYCLES = 1000;  // a register access that takes longer has failed
constexpr std::uint64_t WATCH_CYCLES = 64;  // how often the watchdog looks

class System : public Model {
 public:
  System(std::uint64_t init_seed, std::uint64_t period_ps) : Model(init_seed, period_ps) {
    hold(0);
    select(0);
    reset();
  }

  void reset() {
    enter();
    state = RUN_DONE;
    dut->s_axi_control_AWVALID = dut->s_axi_control_WVALID = dut->s_axi_control_ARVALID = 0;
    dut->s_axi_control_BREADY = dut->s_axi_control_RREADY = 1;
    dut->s_axi_control_WSTRB = 15;
    hold_reset();
  }

  // The kernel, by its number among those with registers, that accesses and runs are of.
  void select(std::uint32_t kernel) { dut->selected = kernel; }

  // Both accesses look at the signals before the edge that takes them.
  bool write(std::uint32_t address, std::uint32_t value) {
    dut->s_axi_control_AWADDR = address;
    dut->s_axi_control_WDATA = value;
    dut->s_axi_control_AWVALID = dut->s_axi_control_WVALID = 1;
    bool answered = false;
    for (int i = 0; i < REGISTER_CYCLES && !answered; ++i) {
      low();
      const bool address_taken = dut->s_axi_control_AWVALID && dut->s_axi_control_AWREADY;
      const bool data_taken = dut->s_axi_control_WVALID && dut->s_axi_control_WREADY;
      answered = dut->s_axi_control_BVALID;
      finish_cycle();
      if (address_taken) dut->s_axi_control_AWVALID = 0;
      if (data_taken) dut->s_axi_control_WVALID = 0;
    }
    return answered;
  }

  bool read(std::uint32_t address, std::uint32_t &value) {
    dut->s_axi_control_ARADDR = address;
    dut->s_axi_control_ARVALID = 1;
    bool answered = false;
    for (int i = 0; i < REGISTER_CYCLES && !answered; ++i) {
      low();
      const bool taken = dut->s_axi_control_ARVALID && dut->s_axi_control_ARREADY;
      answered = dut->s_axi_control_RVALID;
      value = dut->s_axi_control_RDATA;
      finish_cycle();
      if (taken) dut->s_axi_control_ARVALID = 0;
    }
    return answered;
  }

  void start(std::uint64_t stuck, std::uint64_t timeout) {
    state = RUN_RUNNING;
    message.clear();
    cycles = 0;
    quiet_since = 0;
    moved = traffic();
    stuck_cycles = stuck;
    timeout_cycles = timeout;
  }

  int step(std::uint64_t budget) {
    while (state == RUN_RUNNING && budget--) {
      if (dut->irq) {
        state = RUN_DONE;
        break;
      }
      low();
      finish_cycle();
      ++cycles;
      if (cycles % WATCH_CYCLES == 0) watch();
      if (timeout_cycles && cycles >= timeout_cycles && state == RUN_RUNNING) state = RUN_EXPIRED;
    }
    return state;
  }

  // Where a memory port's settings are. False if there is no such memory.
  bool set_memory(const std::string &name, int handle, std::uint32_t latency, std::uint32_t rate, bool shared) {
#define PORT(NAME)                                                                            \
  if (name == #NAME) {                                                                        \
    dut->NAME##_handle = handle, dut->NAME##_latency = latency, dut->NAME##_rate = rate;      \
    dut->NAME##_shared = shared;                                                              \
    return true;                                                                              \
  }
    SPECKV_MEMORY_PORTS(PORT)
#undef PORT
    return false;
  }

  // Bit i is the i-th stream: nothing moves on it while it is set.
  void hold(std::uint32_t streams) { dut->held = streams; }

  // Beats that a memory moved since reset.
  bool memory_beats(const std::string &name, std::uint64_t &read, std::uint64_t &written) const {
#define PORT(NAME) \
  if (name == #NAME) return read = dut->NAME##_beats_read, written = dut->NAME##_beats_written, true;
    SPECKV_MEMORY_PORTS(PORT)
#undef PORT
    return false;
  }

  std::uint64_t cycles = 0;  // since `start`

 private:
  void finish_cycle() {
    high();
    if (!stopped.empty()) throw Fault(stopped);
  }

  std::uint64_t traffic() const {
    std::uint64_t sum = 0;
#define PORT(NAME) sum += dut->NAME##_beats_read + dut->NAME##_beats_written;
    SPECKV_MEMORY_PORTS(PORT)
#undef PORT
    return sum;
  }

  void watch() {
    const std::uint64_t now = traffic();
    if (now != moved) quiet_since = cycles;
    moved = now;
    if (cycles - quiet_since >= stuck_cycles) state = RUN_STUCK;
  }

  int state = RUN_DONE;
  std::uint64_t quiet_since = 0, moved = 0, stuck_cycles = 0, timeout_cycles = 0;
};

// What `action` returns, or `failed` with its message if the model has a fault.
template <class Action>
int guarded(System *s, int failed, Action action) {
  s->enter();
  stopped.clear();
  try {
    return action();
  } catch (const std::exception &e) {
    s->message = e.what();
    return failed;
  }
}

}  // namespace

// Returns null if the model cannot start.
EXPORT Model *system_new(std::uint64_t init_seed, std::uint64_t period_ps) {
  try {
    return new System(init_seed, period_ps);
  } catch (const std::exception &) {
    return nullptr;
  }
}
// Returns 0, or RUN_FAULT.
EXPORT int system_reset(System *s) {
  return guarded(s, RUN_FAULT, [&] { return s->reset(), 0; });
}
// Of which kernel accesses and runs are from now on: a number in the order of the connectivity.
EXPORT void system_select(System *s, std::uint32_t kernel) { s->select(kernel); }
// 1: done; 0: no answer, or a fault.
EXPORT int system_write(System *s, std::uint32_t address, std::uint32_t value) {
  return guarded(s, 0, [&] { return s->write(address, value); });
}
EXPORT int system_read(System *s, std::uint32_t address, std::uint32_t *value) {
  return guarded(s, 0, [&] { return s->read(address, *value); });
}
// Which memory a port reaches, and its link. Takes effect at once. 0: no such port.
EXPORT int system_memory(System *s, const char *name, int handle, std::uint32_t latency, std::uint32_t rate, int shared) {
  return s->set_memory(name, handle, latency, rate, shared != 0);
}
// Streams on which nothing moves from now on, a bit for each in the order of the connectivity.
EXPORT void system_hold(System *s, std::uint32_t streams) { s->hold(streams); }
EXPORT int system_beats(const System *s, const char *name, std::uint64_t *read, std::uint64_t *written) {
  return s->memory_beats(name, *read, *written);
}
// Begins to count cycles; a run is over at the interrupt, after `timeout_cycles` (0: never) or after `stuck_cycles` in which
// no memory moves a beat.
EXPORT void system_start(System *s, std::uint64_t stuck_cycles, std::uint64_t timeout_cycles) {
  s->start(stuck_cycles, timeout_cycles);
}
EXPORT int system_step(System *s, std::uint64_t cycles) {
  return guarded(s, RUN_FAULT, [&] { return s->step(cycles); });
}
EXPORT std::uint64_t system_cycles(const System *s) { return s->cycles; }
