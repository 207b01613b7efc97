// Drives one verilated kernel that has one AXI4-Stream slave and one AXI4-Stream master.
//
// Built into a shared object per kernel and called through ctypes (device/cosim.py). Macros, given by the build:
//   DUT_IN, DUT_OUT   prefix of the ports of each stream, e.g. raw_in for raw_in_TDATA
//   DUT_BUS_BYTES     bytes of TDATA: a beat of 64 bytes crosses the bus in one word or several
//
// Every call returns; a failing assertion or $fatal in the RTL ends the run with RUN_FAULT and never the process.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "verilated_model.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define IN(signal) JOIN(DUT_IN, signal)
#define OUT(signal) JOIN(DUT_OUT, signal)

namespace {

constexpr std::size_t BEAT_BYTES = 64, WORD_BYTES = DUT_BUS_BYTES, BEAT_WORDS = BEAT_BYTES / WORD_BYTES;
constexpr std::uint64_t ALL_KEPT = ~std::uint64_t{0} >> (64 - WORD_BYTES);
// Cycles with nothing left to deliver, in which a surplus beat would still show up.
constexpr std::uint64_t DRAIN_CYCLES = 64;

}  // namespace

extern "C" {

// One batch. All pointers belong to the caller and must live until the state is not RUN_RUNNING.
struct axis_batch {
  const std::uint8_t *data;   // beats of all packets, 64 bytes each
  const std::uint64_t *keep;  // TKEEP per beat, or null for all ones
  const std::uint32_t *beats; // beats of each packet, all > 0
  const std::uint32_t *missing;  // words of the bus that each packet's last beat lacks, or null
  std::uint64_t packets;
  std::uint64_t max_packet_beats;  // an output packet longer than this has lost its TLAST
  std::uint64_t stuck_cycles;
  std::uint64_t timeout_cycles;  // 0: none
  double idle;                // probability that the source holds TVALID low for a cycle
  double stall;               // probability that the sink holds TREADY low for a cycle
  std::uint64_t seed;
};

struct axis_stats {
  std::uint64_t beats_in, packets_in, beats_out, packets_out;
  std::uint64_t first_in, last_out;  // cycle of the first beat accepted, of the last beat delivered
  std::uint64_t cycles;              // clock cycles since the start of the batch, with the drain
  std::uint64_t in_wait;             // 1: a word is offered and not accepted
  std::uint64_t out_wait;            // 1: the output is silent (TVALID low)
};

}  // extern "C"

namespace {

class Random {  // xorshift64*
 public:
  explicit Random(std::uint64_t seed) : state(seed * 0x9E3779B97F4A7C15ull + 0x1234567ull) {
    if (!state) state = 1;
  }
  bool below(std::uint64_t threshold) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return ((state * 0x2545F4914F6CDD1Dull) >> 32) < threshold;
  }
  static std::uint64_t threshold(double p) { return static_cast<std::uint64_t>(p * 4294967296.0); }

 private:
  std::uint64_t state;
};

struct Word {
  std::uint8_t data[WORD_BYTES];
  std::uint64_t keep;
  std::uint8_t last;
};

// A TDATA as bytes, whichever type Verilator has for its width.
template <std::size_t Words>
std::uint8_t *bytes_of(VlWide<Words> &data) {
  return reinterpret_cast<std::uint8_t *>(data.data());
}
std::uint8_t *bytes_of(QData &data) { return reinterpret_cast<std::uint8_t *>(&data); }

class Simulation : public Model {
 public:
  Simulation(std::uint64_t init_seed, std::uint64_t period_ps) : Model(init_seed, period_ps), random(1) { reset(); }

  void reset() {
    enter();
    state = RUN_DONE;
    in_valid = false;
    held = false;
    dut->IN(_TVALID) = 0;
    dut->OUT(_TREADY) = 0;
    hold_reset();
  }

  void start(const axis_batch &b) {
    batch = b;
    stats = {};
    output.clear();
    lengths.clear();
    spans.assign(2 * b.packets, 0);
    total_beats = 0;
    for (std::uint64_t i = 0; i < b.packets; i++) total_beats += b.beats[i];
    output.reserve(BEAT_BYTES * (total_beats + b.packets));
    random = Random(b.seed);
    idle = Random::threshold(b.idle);
    stall = Random::threshold(b.stall);
    word_at = 0;
    in_left = b.packets ? words_of(0) : 0;
    out_words = 0;
    quiet = 0;
    drained = 0;
    message.clear();
    state = b.packets ? RUN_RUNNING : RUN_DONE;
  }

  int step(std::uint64_t budget) {
    stopped.clear();
    try {
      while (state == RUN_RUNNING && budget--) cycle();
    } catch (const std::exception &e) {
      message = e.what();
      state = RUN_FAULT;
    }
    return state;
  }

  axis_stats stats{};
  std::vector<std::uint8_t> output;
  std::vector<std::uint32_t> lengths;
  std::vector<std::uint64_t> spans;  // per packet: cycle of its first beat in, cycle of its last beat out

 private:
  void drive() {
    if (!in_valid && stats.beats_in < total_beats && !(idle && random.below(idle))) {
      in_valid = true;
      const std::uint64_t keep = batch.keep ? batch.keep[word_at / BEAT_WORDS] : ~std::uint64_t{0};
      std::memcpy(bytes_of(dut->IN(_TDATA)), batch.data + WORD_BYTES * word_at, WORD_BYTES);
      dut->IN(_TKEEP) = keep >> (word_at % BEAT_WORDS * WORD_BYTES) & ALL_KEPT;
      dut->IN(_TLAST) = in_left == 1;
    } else if (!in_valid && dut->IN(_TVALID)) {
      // without TVALID the payload means nothing: make it something that must not be used
      std::memset(bytes_of(dut->IN(_TDATA)), 0xA5, WORD_BYTES);
      dut->IN(_TKEEP) = 0x5A5A5A5A5A5A5A5Aull & ALL_KEPT;
      dut->IN(_TLAST) = !dut->IN(_TLAST);
    }
    dut->IN(_TVALID) = in_valid;
    dut->OUT(_TREADY) = !(stall && random.below(stall));
  }

  std::uint64_t words_of(std::uint64_t packet) const {
    return BEAT_WORDS * batch.beats[packet] - (batch.missing ? batch.missing[packet] : 0);
  }

  void accept() {
    if (in_left == words_of(stats.packets_in)) spans[2 * stats.packets_in] = stats.cycles;
    if (word_at++ == 0) stats.first_in = stats.cycles;
    in_valid = false;
    if (--in_left == 0) {
      if (batch.missing) word_at += batch.missing[stats.packets_in];
      if (++stats.packets_in < batch.packets) in_left = words_of(stats.packets_in);
    }
    stats.beats_in = word_at / BEAT_WORDS;
  }

  void broken(const std::string &text) {
    message = text;
    state = RUN_PROTOCOL;
  }

  void deliver() {
    if (stats.packets_out == batch.packets) return broken("a beat after the last packet");
    if (word_at == 0) return broken("output before any input");
    const std::uint8_t *data = bytes_of(dut->OUT(_TDATA));
    output.insert(output.end(), data, data + WORD_BYTES);
    if (dut->OUT(_TKEEP) != ALL_KEPT) return broken("TKEEP is not all ones");
    ++out_words;
    stats.beats_out = output.size() / BEAT_BYTES;
    stats.last_out = stats.cycles;
    if (out_words > BEAT_WORDS * batch.max_packet_beats)
      return broken("no TLAST within " + std::to_string(batch.max_packet_beats) + " beats");
    if (dut->OUT(_TLAST)) {
      if (out_words % BEAT_WORDS) return broken("TLAST inside a beat, at word " + std::to_string(out_words));
      spans[2 * stats.packets_out + 1] = stats.cycles;
      lengths.push_back(static_cast<std::uint32_t>(out_words / BEAT_WORDS));
      stats.packets_out++;
      out_words = 0;
    }
  }

  // TVALID and the payload must stay until TREADY.
  void check_stable(bool valid, bool fire) {
    if (held) {
      if (!valid) return broken("TVALID fell before TREADY");
      if (std::memcmp(bytes_of(dut->OUT(_TDATA)), waiting.data, WORD_BYTES) ||
          dut->OUT(_TKEEP) != waiting.keep || dut->OUT(_TLAST) != waiting.last)
        return broken("TDATA, TKEEP or TLAST changed while TVALID waited for TREADY");
    }
    held = valid && !fire;
    if (held) {
      std::memcpy(waiting.data, bytes_of(dut->OUT(_TDATA)), WORD_BYTES);
      waiting.keep = dut->OUT(_TKEEP);
      waiting.last = dut->OUT(_TLAST);
    }
  }

  void cycle() {
    drive();
    low();
    const bool in_fire = in_valid && dut->IN(_TREADY);
    const bool out_valid = dut->OUT(_TVALID);
    const bool out_fire = out_valid && dut->OUT(_TREADY);
    check_stable(out_valid, out_fire);
    if (in_fire) accept();
    if (out_fire && state == RUN_RUNNING) deliver();
    high();
    stats.cycles++;
    stats.in_wait = in_valid;
    stats.out_wait = !out_valid;
    if (!stopped.empty()) throw Fault(stopped);
    if (state != RUN_RUNNING) return;

    if (stats.packets_out == batch.packets && stats.beats_in == total_beats) {
      if (++drained > DRAIN_CYCLES) state = RUN_DONE;
      return;
    }
    quiet = (in_fire || out_fire) ? 0 : quiet + 1;
    if (quiet >= batch.stuck_cycles)
      state = RUN_STUCK;
    else if (batch.timeout_cycles && stats.cycles >= batch.timeout_cycles)
      state = RUN_EXPIRED;
  }

  Random random;
  axis_batch batch{};
  int state = RUN_DONE;
  std::uint64_t total_beats = 0, word_at = 0, in_left = 0, out_words = 0, quiet = 0, drained = 0, idle = 0, stall = 0;
  bool in_valid = false;
  bool held = false;
  Word waiting{};
};

}  // namespace

// Returns null if the model cannot start.
EXPORT Model *axis_new(std::uint64_t init_seed, std::uint64_t period_ps) {
  try {
    return new Simulation(init_seed, period_ps);
  } catch (const std::exception &) {
    return nullptr;
  }
}
// Returns 0, or RUN_FAULT.
EXPORT int axis_reset(Simulation *s) {
  try {
    s->reset();
    return 0;
  } catch (const std::exception &e) {
    s->message = e.what();
    return RUN_FAULT;
  }
}
EXPORT void axis_start(Simulation *s, const axis_batch *batch) {
  s->enter();
  s->start(*batch);
}
EXPORT int axis_step(Simulation *s, std::uint64_t cycles) {
  s->enter();
  return s->step(cycles);
}
EXPORT void axis_get_stats(const Simulation *s, axis_stats *stats) { *stats = s->stats; }
EXPORT const std::uint8_t *axis_output(const Simulation *s) { return s->output.data(); }
EXPORT const std::uint32_t *axis_lengths(const Simulation *s) { return s->lengths.data(); }
EXPORT const std::uint64_t *axis_spans(const Simulation *s) { return s->spans.data(); }
