// Drives the kernels of tests/hlsc/control through their control interfaces, as a host and its DMA would.
// Prints one line per scenario: its name, PASS or FAIL, and what went wrong. Expected values are computed here.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "Vbench.h"
#include "verilated.h"

using u32 = uint32_t;
using u64 = uint64_t;

struct Failure {
  std::string what;
};
#define CHECK(condition, ...)                          \
  do {                                                 \
    if (!(condition)) {                                \
      char text[400];                                  \
      int n = snprintf(text, sizeof text, "line %d: ", __LINE__); \
      snprintf(text + n, sizeof text - n, __VA_ARGS__); \
      throw Failure{text};                             \
    }                                                  \
  } while (0)

static Vbench top;
static std::mt19937 rng;
static u64 cycle;
static constexpr u64 PATIENCE = 20000;  // cycles
static bool chance(int percent) { return int(rng() % 100) < percent; }

// Every pin of up to 64 bits behind one type
struct Pin {
  std::function<u64()> get;
  std::function<void(u64)> set;
  template <class T> static Pin of(T& x) {
    return {[&x] { return u64(x); }, [&x](u64 v) { x = T(v); }};
  }
};

struct Source {
  Pin data, valid, ready;
  std::deque<u32> queue;
  int rate = 100;
  void after(bool taken) {
    if (taken) queue.pop_front();
    if (taken || !valid.get()) {
      bool on = !queue.empty() && chance(rate);
      valid.set(on);
      data.set(on ? queue.front() : 0xdeadbeef);
    }
  }
  bool fires() { return valid.get && valid.get() && ready.get(); }
};

struct Sink {
  Pin data, valid, ready;
  std::vector<u32> got;
  int rate = 100;
  bool fires() { return valid.get && valid.get() && ready.get(); }
};

struct Host {  // of one AXI4-Lite port
  Pin awvalid, awready, awaddr, wvalid, wready, wdata, wstrb, bvalid, bready, bresp;
  Pin arvalid, arready, araddr, rvalid, rready, rdata, rresp;
};

#include "memory_model.h"

struct Kernel {
  Pin reset_n;
  Source in;
  Sink out;
  std::function<void()> watch = [] {};  // called with the pins as they are before each rising edge
};

static std::vector<Kernel*> kernels;
static std::vector<Memory*> memories;

static void tick() {
  top.eval();
  std::vector<bool> taken, given;
  for (Kernel* k : kernels) {
    taken.push_back(k->in.fires());
    given.push_back(k->out.fires());
    if (given.back()) k->out.got.push_back(u32(k->out.data.get()));
    k->watch();
  }
  for (Memory* m : memories) m->sample();
  top.clk = 1;
  top.eval();
  for (Memory* m : memories) m->drive();
  for (size_t i = 0; i < kernels.size(); i++) {
    if (!kernels[i]->in.valid.get) continue;  // a kernel without streams
    kernels[i]->in.after(taken[i]);
    kernels[i]->out.ready.set(chance(kernels[i]->out.rate));
  }
  top.clk = 0;
  top.eval();
  cycle++;
}

template <class F> static void until(F&& done, const char* what) {
  for (u64 start = cycle; !done(); tick()) CHECK(cycle - start < PATIENCE, "waited too long for %s", what);
}

// ---- AXI4-Lite -------------------------------------------------------------------------------------
enum Order { TOGETHER, ADDRESS_FIRST, DATA_FIRST };

static void write(Host& h, u32 address, u32 data, u32 strobe = 15, int order = -1) {
  if (order < 0) order = rng() % 3;
  int address_delay = order == DATA_FIRST ? 1 + rng() % 4 : 0;
  int data_delay = order == ADDRESS_FIRST ? 1 + rng() % 4 : 0;
  bool address_sent = false, data_sent = false;
  u64 start = cycle;
  for (; !address_sent || !data_sent; ) {
    CHECK(cycle - start < PATIENCE, "write of 0x%02x is not taken", address);
    if (!address_sent && address_delay-- <= 0) { h.awvalid.set(1); h.awaddr.set(address); }
    if (!data_sent && data_delay-- <= 0) { h.wvalid.set(1); h.wdata.set(data); h.wstrb.set(strobe); }
    top.eval();
    bool a = h.awvalid.get() && h.awready.get(), d = h.wvalid.get() && h.wready.get();
    tick();
    if (a) { address_sent = true; h.awvalid.set(0); h.awaddr.set(~0u); }
    if (d) { data_sent = true; h.wvalid.set(0); h.wdata.set(~0u); }
  }
  until([&] { top.eval(); return h.bvalid.get(); }, "a write response");
  for (int wait = rng() % 3; wait > 0; wait--) {
    tick();
    CHECK(h.bvalid.get(), "BVALID was withdrawn");
  }
  CHECK(h.bresp.get() == 0, "BRESP is %d", int(h.bresp.get()));
  h.bready.set(1);
  tick();
  h.bready.set(0);
}

static u32 read(Host& h, u32 address) {
  h.arvalid.set(1);
  h.araddr.set(address);
  until([&] { top.eval(); return h.arready.get(); }, "ARREADY");
  tick();
  h.arvalid.set(0);
  h.araddr.set(~0u);
  until([&] { top.eval(); return h.rvalid.get(); }, "read data");
  u32 data = u32(h.rdata.get());
  for (int wait = rng() % 3; wait > 0; wait--) {
    tick();
    CHECK(h.rvalid.get() && h.rdata.get() == data, "read data changed before it was taken");
  }
  CHECK(h.rresp.get() == 0, "RRESP is %d", int(h.rresp.get()));
  h.rready.set(1);
  tick();
  h.rready.set(0);
  return data;
}

static u64 read64(Host& h, u32 address) {
  u64 low = read(h, address);
  return low | u64(read(h, address + 4)) << 32;
}
static void write64(Host& h, u32 address, u64 x) {
  write(h, address, u32(x));
  write(h, address + 4, u32(x >> 32));
}

#include "bench_pins.h"  // KERNEL(scale) etc.: the pins by name; register offsets

static void reset(Kernel& k) {
  k.in.queue.clear();
  k.out.got.clear();
  k.watch = [] {};
  k.in.rate = k.out.rate = 100;
  if (k.in.valid.get) k.in.valid.set(0);
  k.reset_n.set(0);
  for (int i = 0; i < 4; i++) tick();
  k.reset_n.set(1);
  tick();
}

static void expect(const std::vector<u32>& got, const std::vector<u32>& want) {
  CHECK(got.size() == want.size(), "%zu beats instead of %zu", got.size(), want.size());
  for (size_t i = 0; i < got.size(); i++)
    CHECK(got[i] == want[i], "beat %zu is %08x instead of %08x", i, got[i], want[i]);
}

// ---- scenarios ---------------------------------------------------------------------------------------
struct ScaleRun {
  u32 n;
  int factor;
  bool negate;
  int16_t bias;
  int64_t wide;
  u64 key;
};

static void scale_arguments(const ScaleRun& r) {
  Host& h = scale_host;
  write(h, SCALE_N, r.n | 0xfff00000);  // bits above the argument are not stored
  write(h, SCALE_FACTOR, r.factor);
  write(h, SCALE_NEGATE, r.negate);
  write(h, SCALE_BIAS, u32(r.bias));
  write64(h, SCALE_WIDE, u64(r.wide));
  write64(h, SCALE_KEY, r.key);
  CHECK(read(h, SCALE_N) == r.n, "n reads back as %x", read(h, SCALE_N));
  CHECK(read(h, SCALE_WIDE + 4) == (u32(u64(r.wide) >> 32) & 0xff), "wide reads back wrong");
  CHECK(read64(h, SCALE_KEY) == r.key, "key reads back wrong");
}

static void scale_run(const ScaleRun& r, int in_rate, int out_rate, bool by_interrupt) {
  Host& h = scale_host;
  Kernel& k = scale_kernel;
  k.in.rate = in_rate;
  k.out.rate = out_rate;
  k.out.got.clear();
  std::vector<u32> want;
  u64 sum = 0;
  int64_t best = -1;
  u32 low = 0;
  for (u32 i = 0; i < r.n; i++) {
    u32 x = rng(), y = x * u32(r.factor) + u32(int32_t(r.bias));
    if (r.negate) y = -y;
    sum += y;
    low = x & 255;
    u32 z = (y ^ u32(r.wide >> 8)) + u32(r.key >> (i & 31)) + 3;
    if (int64_t(z) > best) best = z;
    want.push_back(z);
    k.in.queue.push_back(x);
  }
  scale_arguments(r);
  read(h, SCALE_TOTAL_VLD), read(h, SCALE_LOW_VLD), read(h, SCALE_LARGEST_VLD);
  CHECK(read(h, 0) & 4, "not idle before the run");
  write(h, 0x0, 1);
  if (by_interrupt) {
    until([&] { top.eval(); return interrupt_of_scale(); }, "the interrupt");
    CHECK(read(h, 0xc) & 1, "the interrupt's cause is not ap_done");
    write(h, 0xc, read(h, 0xc));  // toggles the bits that are set
    tick();
    CHECK(!interrupt_of_scale(), "the interrupt stays after it was cleared");
    CHECK((read(h, 0) & 0xe) == 0xe, "done, idle and ready are not all set at the end");
  } else {
    u64 start = cycle;
    u32 status;
    while (!((status = read(h, 0)) & 2)) CHECK(cycle - start < PATIENCE, "ap_done never came, status %x", status);
    CHECK(!(status & 1), "ap_start is still set at the end");
  }
  CHECK(!(read(h, 0) & 2), "reading does not clear ap_done");
  // every output beat was accepted before ap_done
  expect(k.out.got, want);
  CHECK(k.in.queue.empty(), "%zu beats were not read", k.in.queue.size());
  CHECK(read(h, SCALE_TOTAL_VLD) == 1, "total_ap_vld is not set");
  CHECK(read(h, SCALE_TOTAL_VLD) == 0, "reading does not clear total_ap_vld");
  CHECK(read(h, SCALE_LOW_VLD) == (r.n != 0), "low_ap_vld is wrong");
  CHECK(read(h, SCALE_LARGEST_VLD) == (r.n != 0), "largest_ap_vld is wrong");
  unsigned __int128 total = (unsigned __int128)sum << 60;
  u32 t[4];
  for (int i = 0; i < 4; i++) t[i] = read(h, SCALE_TOTAL + 4 * i);
  for (int i = 0; i < 4; i++)
    CHECK(t[i] == (u32(total >> (32 * i)) & (i == 3 ? 15u : ~0u)), "word %d of total is %08x", i, t[i]);
  if (r.n) {
    CHECK(read(h, SCALE_LOW) == low, "low is wrong");
    CHECK(read64(h, SCALE_LARGEST) == u64(best), "largest is wrong");
  }
  write(h, SCALE_TOTAL, 0x12345678);
  CHECK(read(h, SCALE_TOTAL) == t[0], "a result can be written");
}

static void scale_scenario() {
  reset(scale_kernel);
  scale_run({5, 3, false, 7, 0, 0}, 100, 100, false);
  scale_run({1, -3, true, -7, -(int64_t(1) << 39), 0x8000000000000001}, 100, 100, false);
  scale_run({0, 1, false, 0, 0, 0}, 100, 100, false);
  write(scale_host, 0x4, 1);
  write(scale_host, 0x8, 1);
  for (int i = 0; i < 40; i++) {
    int64_t wide = int64_t(u64(rng()) << 32 | rng()) >> 24;
    u64 key = u64(rng()) << 32 | rng();
    scale_run({u32(rng() % 200), int(rng()), bool(rng() & 1), int16_t(rng()), wide, key},
              20 + rng() % 81, 20 + rng() % 81, true);
  }
}

static void strobe_scenario() {
  Host& h = scale_host;
  reset(scale_kernel);
  for (int order = 0; order < 3; order++) {
    write(h, SCALE_FACTOR, 0, 15, order);
    write(h, SCALE_FACTOR, 0xaabbccdd, 5, order);
    CHECK(read(h, SCALE_FACTOR) == 0x00bb00dd, "strobes are not honoured");
  }
  write(h, 0x14, ~0u);
  CHECK(read(h, 0x14) == 0, "a reserved word holds a value");
  CHECK(read(h, 0) == 4, "control is %x after reset", read(h, 0));
}

static void auto_restart_scenario() {  // an endless series of runs over one instance
  Host& h = scale_host;
  Kernel& k = scale_kernel;
  reset(k);
  scale_arguments({3, 1, false, 0, 0, 0});
  std::vector<u32> want;
  for (u32 i = 0; i < 30; i++) k.in.queue.push_back(i), want.push_back(i + 3);
  write(h, 0, 0x81);
  until([&] { return k.out.got.size() == 30; }, "ten runs");
  expect(k.out.got, want);
  for (int i = 0; i < 30; i++) tick();  // the eleventh run has begun and waits for its input
  CHECK((read(h, 0) & 0x85) == 0x81, "it does not run on: %x", read(h, 0));
  write(h, 0, 0);  // the run that has begun is the last one
  for (u32 i = 0; i < 3; i++) k.in.queue.push_back(i), want.push_back(i + 3);
  until([&] { return read(h, 0) & 4; }, "the end");
  expect(k.out.got, want);
}

static void reset_scenario() {  // in the middle of runs; the next run knows nothing of it
  for (int i = 0; i < 20; i++) {
    reset(scale_kernel);
    scale_arguments({20, 1, false, 0, 0, 0});
    for (u32 k = 0; k < 20; k++) scale_kernel.in.queue.push_back(k);
    scale_kernel.out.rate = 30;
    write(scale_host, 0, 1);
    for (int wait = rng() % 60; wait > 0; wait--) tick();
    reset(scale_kernel);
    CHECK(read(scale_host, 0) == 4, "control is %x after a reset", read(scale_host, 0));
    CHECK(read(scale_host, SCALE_N) == 0 && read(scale_host, SCALE_TOTAL_VLD) == 0, "a reset leaves registers set");
    scale_run({u32(rng() % 20), 7, false, 1, 0, 0}, 60, 60, false);
  }
}

static void chain_scenario() {
  Host& h = running_sum_host;
  Kernel& k = running_sum_kernel;
  reset(k);
  u32 sum = 0;
  for (u32 run = 1; run <= 20; run++) {
    u32 n = 1 + rng() % 30;
    int step = int(rng() % 4096) - 2048;
    k.out.got.clear();
    k.in.rate = k.out.rate = 30 + rng() % 71;
    std::vector<u32> want;
    for (u32 i = 0; i < n; i++) {
      u32 x = rng();
      want.push_back(sum += x + u32(step));
      k.in.queue.push_back(x);
    }
    write(h, RUNNING_SUM_COUNT, n);
    write(h, RUNNING_SUM_STEP, u32(step));
    write(h, 0, 1);
    u64 start = cycle;
    while (!(read(h, 0) & 2)) CHECK(cycle - start < PATIENCE, "ap_done never came");
    expect(k.out.got, want);
    CHECK(read(h, 0) & 2, "ap_done does not hold until ap_continue");
    CHECK(read(h, RUNNING_SUM_SEEN) == run, "run %u counted as %u", run, read(h, RUNNING_SUM_SEEN));
    if (run % 3 == 0) {  // a start before ap_continue waits
      k.in.queue.push_back(5);
      write(h, RUNNING_SUM_COUNT, 1);
      write(h, 0, 1);
      for (int i = 0; i < 50; i++) tick();
      CHECK(k.out.got.size() == n, "the next run began before ap_continue");
      CHECK((read(h, 0) & 3) == 3, "start or done was lost: %x", read(h, 0));
      write(h, 0, 0x10);
      until([&] { return k.out.got.size() == n + 1; }, "the run after ap_continue");
      sum += 5 + u32(step);
      CHECK(k.out.got.back() == sum, "the run after ap_continue is wrong");
      until([&] { return read(h, 0) & 2; }, "its ap_done");
      write(h, 0, 0x10);
      CHECK(!(read(h, 0) & 2), "ap_done stays after ap_continue");
      run++;
      continue;
    }
    write(h, 0, 0x10);
    CHECK(!(read(h, 0) & 2), "ap_done stays after ap_continue");
    CHECK(read(h, 0) & 4, "not idle");
  }
}

// One run of a kernel with pins: cycles from ap_start to ap_done
template <class Pins> static void pins_runs(Kernel& k, Pins pins, bool chain) {
  reset(k);
  if (chain) pins.go_on.set(0);
  for (int run = 0; run < 30; run++) {
    k.in.rate = k.out.rate = run < 2 ? 100 : 20 + rng() % 81;
    k.out.got.clear();
    u32 x = 0;
    for (int i = 0; i < 4; i++) k.in.queue.push_back(x = rng());
    for (int wait = rng() % 8; wait > 0; wait--) {
      tick();
      CHECK(pins.idle.get() && !pins.done.get() && !pins.ready.get(), "not idle between runs");
      CHECK(k.out.got.empty(), "it runs without ap_start");
    }
    pins.start.set(1);
    top.eval();
    CHECK(!pins.idle.get(), "ap_idle although ap_start is high");
    u64 start = cycle;
    while (top.eval(), !pins.done.get()) {
      CHECK(cycle - start < PATIENCE, "ap_done never came");
      CHECK(!pins.ready.get() && !pins.idle.get(), "ready or idle inside the run");
      tick();
    }
    CHECK(pins.ready.get(), "ap_ready does not come with ap_done");
    CHECK(k.out.got.size() == 1 && k.out.got[0] == x + 1, "the run's result is wrong");
    bool held = chain && (run & 1);
    if (chain && !held) pins.go_on.set(1);
    tick();  // the handshake
    pins.start.set(0);
    if (chain && !held) pins.go_on.set(0);
    top.eval();
    CHECK(!pins.ready.get(), "ap_ready lasts longer than one cycle");
    CHECK(pins.done.get() == held, "ap_done %s", held ? "does not hold" : "lasts longer than one cycle");
    if (held) {
      pins.start.set(1);  // must wait
      for (int i = 0; i < 4; i++) k.in.queue.push_back(x = rng());
      for (int i = 0; i < 40; i++) {
        tick();
        CHECK(pins.done.get() && !pins.ready.get(), "ap_done does not hold until ap_continue");
      }
      CHECK(k.out.got.size() == 1, "the next run began before ap_continue");
      pins.go_on.set(1);
      tick();
      pins.go_on.set(0);
      top.eval();
      CHECK(!pins.done.get(), "ap_done stays after ap_continue");
      until([&] { top.eval(); return pins.done.get(); }, "the run after ap_continue");
      CHECK(k.out.got.size() == 2 && k.out.got[1] == x + 1, "the run after ap_continue is wrong");
      pins.go_on.set(1);
      tick();
      pins.go_on.set(0);
      pins.start.set(0);
      top.eval();
    }
    if (run == 0) printf("info %s: %d cycles from ap_start to ap_done\n", chain ? "pins_chain" : "pins_hs",
                         int(cycle - start));
  }
}

static void back_to_back_scenario() {  // ap_start stays high
  Kernel& k = pins_hs_kernel;
  reset(k);
  std::vector<u32> want;
  for (u32 i = 0; i < 80; i++) k.in.queue.push_back(i);
  for (u32 i = 0; i < 20; i++) want.push_back(4 * i + 4);
  pins_hs_pins.start.set(1);
  int done = 0;
  k.watch = [&] { done += int(pins_hs_pins.done.get()); };
  until([&] { return done == 20; }, "twenty runs");
  pins_hs_pins.start.set(0);
  k.watch = [] {};
  expect(k.out.got, want);
}

static void meter_scenario() {
  Host& h = meter_host;
  Kernel& k = meter_kernel;
  reset(k);
  CHECK(read(h, METER_BEATS_VLD) == 0, "beats_ap_vld is set before the first beat");
  std::vector<u32> want;
  for (u32 i = 0; i < 50; i++) {
    k.in.rate = k.out.rate = 40 + rng() % 61;
    u32 x = rng();
    want.push_back(x);
    k.in.queue.push_back(x);
    until([&] { return k.out.got.size() == i + 1; }, "a beat");
    CHECK(read(h, METER_BEATS_VLD) == 1 && read(h, METER_BEATS_VLD) == 0, "beats_ap_vld is wrong");
    CHECK(read64(h, METER_BEATS) == 0xfffffffeull + i + 1, "beats is %llx", (unsigned long long)read64(h, METER_BEATS));
  }
  expect(k.out.got, want);
  write(h, 0, 0x81);
  CHECK(read(h, 0) == 0 && read(h, 4) == 0 && read(h, 8) == 0 && read(h, 12) == 0, "there is block control");
}

#include "memory_scenarios.h"
#include "scalar_scenarios.h"

int main(int argc, char** argv) {
  rng.seed(argc > 1 ? atoi(argv[1]) : 1);
  connect();
  struct {
    const char* name;
    void (*run)();
  } scenarios[] = {
      {"strobe", strobe_scenario},
      {"scale", scale_scenario},
      {"auto_restart", auto_restart_scenario},
      {"reset", reset_scenario},
      {"chain", chain_scenario},
      {"pins_hs", [] { pins_runs(pins_hs_kernel, pins_hs_pins, false); }},
      {"pins_chain", [] { pins_runs(pins_chain_kernel, pins_chain_pins, true); }},
      {"back_to_back", back_to_back_scenario},
      {"meter", meter_scenario},
      {"memory", memory_scenario},
      {"narrow", narrow_scenario},
      {"move_bytes", move_scenario},
      {"tally", tally_scenario},
      {"relay", relay_scenario},
      {"taps", taps_scenario},
      {"wires_hs", wires_hs_scenario},
  };
  for (auto& s : scenarios) {
    try {
      s.run();
      printf("%s PASS\n", s.name);
    } catch (const Failure& f) {
      printf("%s FAIL %s\n", s.name, f.what.c_str());
    }
  }
  top.final();
}
