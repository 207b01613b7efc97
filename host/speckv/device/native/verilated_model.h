// A verilated model with its clock, its waveform, and what it tells of its FIFOs: the part that all harnesses share.
//
// A harness is one translation unit, for Verilator's four hooks are defined here. The clock has no time of its own: a cycle is
// one rising edge. A failing assertion or $fatal in the RTL becomes the exception Fault, and never ends the process.
// VM_TRACE (given by the build) is 1 if a waveform can be written.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

#include "Vdut.h"
#include "verilated.h"
#include "verilated_sym_props.h"
#include "verilated_syms.h"
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr std::uint64_t RESET_CYCLES = 16;

struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string at(const char *file, int line, const char *hier, const char *text) {
  std::string where = hier && *hier ? hier : "";
  const char *base = std::strrchr(file, '/');
  return std::string(text) + " at " + (base ? base + 1 : file) + ":" + std::to_string(line) +
         (where.empty() ? "" : " in " + where);
}

// Set by an assertion or $stop, which must return to the model; looked at after every clock edge.
thread_local std::string stopped;

}  // namespace

// Verilator calls these four; its own versions print and end the process.
void vl_fatal(const char *file, int line, const char *hier, const char *text) {
  throw Fault(at(file, line, hier, text));
}
void vl_stop(const char *file, int line, const char *hier) {
  if (stopped.empty()) stopped = at(file, line, hier, "assertion or $stop");
}
void vl_finish(const char *file, int line, const char *hier) {
  if (stopped.empty()) stopped = at(file, line, hier, "$finish");
}
void vl_warn(const char *file, int line, const char *hier, const char *text) {
  if (stopped.empty()) stopped = at(file, line, hier, text);
}

namespace {

// How a run goes. The numbers are those of device/simulation.py.
enum run_state {
  RUN_RUNNING = 0,
  RUN_DONE = 1,
  RUN_STUCK = 2,     // nothing moved for `stuck_cycles`
  RUN_EXPIRED = 3,   // `timeout_cycles` used up
  RUN_PROTOCOL = 4,  // a rule of a bus was broken; the message says which
  RUN_FAULT = 5      // assertion, $fatal or an error of the simulator; the message has its text
};

class Model {
 public:
  // `period_ps` only scales the waveform's time axis.
  Model(std::uint64_t init_seed, std::uint64_t period_ps) : half_period(period_ps / 2) {
    context.fatalOnError(false);
    // Registers without a reset start at a random value: hardware does not promise zero.
    context.randReset(2);
    context.randSeed(static_cast<int>(init_seed & 0x7fffffff) | 1);
#if VM_TRACE
    context.traceEverOn(true);
#endif
    dut.reset(new Vdut(&context));
  }
  Model(const Model &) = delete;
  virtual ~Model() {
    enter();
    close_wave();
    try {
      dut->final();
    } catch (const Fault &) {  // nobody is left to tell
    }
    dut.reset();
    Verilated::threadContextp(Verilated::defaultContextp());  // this one is gone
  }

  // Verilator keeps the context of the last model that was made in this thread, which may be another one, or deleted.
  void enter() { Verilated::threadContextp(&context); }

  void open_wave(const char *path) {
#if VM_TRACE
    close_wave();
    wave = new VerilatedVcdC;
    dut->trace(wave, 99);
    wave->open(path);
#else
    (void)path;
#endif
  }
  void close_wave() {
#if VM_TRACE
    if (wave) {
      wave->close();
      delete wave;
      wave = nullptr;
    }
#endif
  }

  // "name count/depth" of each FIFO that holds something, one a line
  std::string levels() const {
    std::string text;
    const VerilatedScopeNameMap *scopes = context_scopes();
    if (!scopes) return text;
    for (const auto &entry : *scopes) {
      const VerilatedVar *count = entry.second->varFind("count");
      const VerilatedVar *depth = entry.second->varFind("DEPTH");
      if (!count || !depth || !number(*count)) continue;
      text += std::string(entry.first) + " " + std::to_string(number(*count)) + "/" +
              std::to_string(number(*depth)) + "\n";
    }
    return text;
  }

  // "name value" of each wire of a kernel that says whether a process waits for a FIFO, one a line
  std::string waits() const {
    static const std::string ending = "_waits";
    std::string text;
    const VerilatedScopeNameMap *scopes = context_scopes();
    if (!scopes) return text;
    for (const auto &entry : *scopes) {
      if (!entry.second->varsp()) continue;
      for (const auto &variable : *entry.second->varsp()) {
        const std::string name = variable.first;
        if (name.size() > ending.size() && !name.compare(name.size() - ending.size(), ending.size(), ending))
          text += std::string(entry.first) + "." + name + " " + std::to_string(number(variable.second)) + "\n";
      }
    }
    return text;
  }

  std::string message;  // of a protocol error or a fault

 protected:
  // Inputs that change with the clock low are settled, and outputs are those that the edge will see.
  void low() {
    dut->ap_clk = 0;
    edge();
  }
  void high() {
    dut->ap_clk = 1;
    edge();
  }
  // RESET_CYCLES cycles; what an assertion says of that time does not count.
  void hold_reset() {
    stopped.clear();
    dut->ap_rst_n = 0;
    for (std::uint64_t i = 0; i < RESET_CYCLES; i++) {
      low();
      high();
    }
    dut->ap_rst_n = 1;
    stopped.clear();
  }

  VerilatedContext context;
  std::unique_ptr<Vdut> dut;

 private:
  const VerilatedScopeNameMap *context_scopes() const {
    return const_cast<VerilatedContext &>(context).scopeNameMap();
  }

  static std::uint64_t number(const VerilatedVar &v) {
    switch (v.vltype()) {
      case VLVT_UINT8: return *static_cast<const CData *>(v.datap());
      case VLVT_UINT16: return *static_cast<const SData *>(v.datap());
      case VLVT_UINT32: return *static_cast<const IData *>(v.datap());
      case VLVT_UINT64: return *static_cast<const QData *>(v.datap());
      default: return 0;
    }
  }

  void edge() {
    dut->eval();
#if VM_TRACE
    if (wave) wave->dump(context.time());
#endif
    context.timeInc(half_period);
  }

#if VM_TRACE
  VerilatedVcdC *wave = nullptr;
#endif
  const std::uint64_t half_period;
};

}  // namespace

EXPORT void model_delete(Model *m) { delete m; }
EXPORT const char *model_message(const Model *m) { return m->message.c_str(); }
EXPORT void model_wave_open(Model *m, const char *path) {
  m->enter();
  m->open_wave(path);
}
// Writes at most `size` - 1 characters and a zero.
EXPORT void model_levels(const Model *m, char *text, std::uint64_t size) {
  std::snprintf(text, size, "%s", m->levels().c_str());
}
EXPORT void model_waits(const Model *m, char *text, std::uint64_t size) {
  std::snprintf(text, size, "%s", m->waits().c_str());
}
