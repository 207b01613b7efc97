// Drives every kernel of one Verilator build at once, each with its own traffic, and compares word by word.
//
// Usage: Vbench vectors.bin seed. The vectors come from bench_reference.h. Prints one JSON line per program.
// Round 0 is full speed; then the outputs stall, then the inputs idle, then both, with patterns that change.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "Vbench.h"
#include "verilated.h"

static const int WATCHDOG_CYCLES = 3000;  // without any handshake
static const int RELENT_CYCLES = 800;     // without any handshake: stop adding idle cycles and stalls
static const int DRAIN_CYCLES = 60;

struct Rng {
  uint64_t s;
  uint32_t next() {
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return (uint32_t)(s >> 24);
  }
  uint32_t below(uint32_t n) { return next() % n; }
};

struct Field {
  void* at;
  int bits;
  int words() const { return (bits + 31) / 32; }
  int bytes() const { return bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : bits <= 64 ? 8 : 4 * words(); }
  void drive(const uint32_t* w) const {
    uint32_t padded[2] = {w[0], words() > 1 ? w[1] : 0};
    memcpy(at, words() <= 2 ? padded : w, bytes());
  }
  void sample(uint32_t* w) const {
    uint32_t padded[2] = {0, 0};
    if (words() <= 2) {
      memcpy(padded, at, bytes());
      memcpy(w, padded, 4 * words());
    } else {
      memcpy(w, at, bytes());
    }
  }
};

// When a port is willing: a probability, or on and off stretches of random length.
struct Pattern {
  int kind = 0, percent = 100, on = 1, off = 1, until = 0, left = 0;
  bool state = true;
  void redraw(Rng& r, int now, bool full_speed) {
    kind = full_speed ? 0 : (int)r.below(6);
    percent = r.below(3) == 0 ? 5 + r.below(20) : 30 + r.below(70);
    on = 1 + r.below(r.below(2) ? 4 : 60);
    off = 1 + r.below(kind == 5 ? 350 : 30);
    until = now + 60 + r.below(400);
    left = 0;
  }
  bool willing(Rng& r) {
    if (kind == 0) return true;
    if (kind <= 2) return (int)r.below(100) < percent;
    if (left-- <= 0) {
      state = !state;
      left = r.below(state ? on : off);
    }
    return state;
  }
};

struct Port {
  const char* name;
  bool input;
  std::vector<Field> fields;
  CData* valid;
  CData* ready;
  int after, per;  // input: beat k is offered only when port `after` has moved (k + 1) * per beats; after < 0: at once
  std::vector<std::vector<uint32_t>> rounds;  // beats of each round, back to back
  Pattern pattern;
  size_t at = 0;
  bool held = false;           // input: TVALID is up and waits; output: the last cycle ended with TVALID and no TREADY
  std::vector<uint32_t> last;  // the payload that has to stay
  int words() const {
    int n = 0;
    for (auto& f : fields) n += f.words();
    return n;
  }
  size_t beats(int round) const { return rounds[round].size() / words(); }
};

struct Program {
  const char* name;
  CData* reset_n;
  bool reset_test;  // round 1 is interrupted by a reset and then sent again
  std::vector<Port> ports;
  Rng rng{1};
  int round = 0, idle = 0, drain = -1, round_start = 0, resets = 0, reset_at = -1, reset_left = 0;
  int first_out = -1, last_out = -1, first_in = -1, last_in = -1;
  bool finished = false;
  std::string verdict, note, cycles;
};

#include "bench_table.h"  // std::vector<Program> table(Vbench&)

static std::string hex(const std::vector<uint32_t>& words) {
  std::string s;
  char part[9];
  for (size_t i = words.size(); i-- > 0;) {
    snprintf(part, sizeof part, "%08x", words[i]);
    s += part;
  }
  return s;
}

static void finish(Program& p, const char* verdict, const std::string& note) {
  p.verdict = verdict;
  p.note = note;
  p.finished = true;
  *p.reset_n = 0;
  for (auto& port : p.ports) *(port.input ? port.valid : port.ready) = 0;
}

static std::string progress(const Program& p) {
  std::string s = "round " + std::to_string(p.round);
  for (auto& port : p.ports)
    s += std::string(", ") + port.name + " " + std::to_string(port.at) + "/" + std::to_string(port.beats(p.round));
  return s;
}

static void begin_round(Program& p, int now) {
  p.round_start = now;
  p.first_out = p.last_out = p.first_in = p.last_in = -1;
  p.idle = 0;
  p.drain = -1;
  for (auto& port : p.ports) {
    port.at = 0;
    port.held = false;
    port.pattern = Pattern();
    port.pattern.until = 0;
  }
}

static bool full_speed(const Program& p, const Port& port) {
  return p.round == 0 || (p.round == 1 && port.input) || (p.round == 2 && !port.input);
}

static void drive(Program& p, int now) {
  if (p.finished) return;
  if (p.reset_left > 0) return;
  for (auto& port : p.ports) {
    if (now >= port.pattern.until) port.pattern.redraw(p.rng, now, full_speed(p, port));
    bool willing = p.idle > RELENT_CYCLES || port.pattern.willing(p.rng);
    if (port.input) {
      if (!port.held) {
        bool more = port.at < port.beats(p.round);
        if (port.after >= 0) more &= p.ports[port.after].at / port.per > port.at;
        *port.valid = more && willing;
        if (more) {  // the payload is arbitrary while TVALID is low
          const uint32_t* w = &port.rounds[p.round][port.at * port.words()];
          for (auto& f : port.fields) {
            std::vector<uint32_t> junk(f.words());
            for (int i = 0; i < f.words(); i++) junk[i] = p.rng.next();
            if (f.bits % 32) junk.back() &= (1u << (f.bits % 32)) - 1;
            f.drive(*port.valid ? w : junk.data());
            w += f.words();
          }
        }
      }
    } else {
      *port.ready = p.drain >= 0 || willing;
    }
  }
}

static void sample(Program& p, int now) {
  if (p.finished) return;
  if (p.reset_left > 0) {
    if (--p.reset_left == 0) {
      *p.reset_n = 1;
      begin_round(p, now + 1);
    }
    return;
  }
  bool moved = false;
  for (auto& port : p.ports) {
    const bool valid = *port.valid, ready = *port.ready;
    if (port.input) {
      port.held = valid && !ready;
      if (valid && ready) {
        port.at++;
        moved = true;
        p.last_in = now;
        if (p.first_in < 0) p.first_in = now;
      }
      continue;
    }
    if (port.held && !valid) return finish(p, "TVALID_DROPPED", std::string(port.name) + ", " + progress(p));
    if (!valid) continue;
    std::vector<uint32_t> payload(port.words());
    uint32_t* w = payload.data();
    for (auto& f : port.fields) {
      f.sample(w);
      w += f.words();
    }
    if (port.held && payload != port.last)
      return finish(p, "PAYLOAD_CHANGED",
                    std::string(port.name) + ": " + hex(port.last) + " then " + hex(payload) + ", " + progress(p));
    port.held = !ready;
    port.last = payload;
    if (!ready) continue;
    if (port.at >= port.beats(p.round))
      return finish(p, "EXTRA_OUTPUT", std::string(port.name) + ": " + hex(payload) + ", " + progress(p));
    auto from = port.rounds[p.round].begin() + port.at * port.words();
    std::vector<uint32_t> want(from, from + port.words());
    if (want != payload)
      return finish(p, "MISMATCH",
                    std::string(port.name) + " beat " + std::to_string(port.at) + ": got " + hex(payload) +
                        ", expected " + hex(want) + ", " + progress(p));
    port.at++;
    moved = true;
    p.last_out = now;
    if (p.first_out < 0) p.first_out = now;
  }
  p.idle = moved ? 0 : p.idle + 1;
  if (p.drain >= 0) {
    if (--p.drain < 0) {
      if (++p.round == (int)p.ports[0].rounds.size()) {
        p.round--;
        return finish(p, "PASS", "");
      }
      begin_round(p, now + 1);
    }
    return;
  }
  bool all = true;
  size_t total = 0;
  for (auto& port : p.ports) {
    all &= port.at == port.beats(p.round);
    total += port.at;
  }
  if (p.reset_at < 0) p.reset_at = 3 + p.rng.below(150);
  if (p.reset_test && p.round == 1 && p.resets < 6 && !all && now - p.round_start == p.reset_at) {
    p.resets++;
    p.reset_at = -1;
    p.reset_left = 4;
    *p.reset_n = 0;
    for (auto& port : p.ports) {
      *(port.input ? port.valid : port.ready) = 0;
      port.held = false;
    }
    return;
  }
  if (all) {
    char text[160];
    snprintf(text, sizeof text, "%s{\"cycles\": %d, \"in\": [%d, %d], \"out\": [%d, %d]}",
             p.cycles.empty() ? "" : ", ", now + 1 - p.round_start, p.first_in - p.round_start,
             p.last_in - p.round_start, p.first_out - p.round_start, p.last_out - p.round_start);
    p.cycles += text;
    p.drain = DRAIN_CYCLES + (p.round + 1 == (int)p.ports[0].rounds.size() ? 300 : 0);
    p.idle = 0;
  } else if (p.idle > WATCHDOG_CYCLES) {
    finish(p, "HANG", progress(p));
  }
}

static void load(std::vector<Program>& programs, const char* path) {
  FILE* f = fopen(path, "rb");
  if (!f) {
    fprintf(stderr, "cannot open %s\n", path);
    exit(2);
  }
  auto word = [&] {
    uint32_t w = 0;
    if (fread(&w, 4, 1, f) != 1) {
      fprintf(stderr, "%s ends early\n", path);
      exit(2);
    }
    return w;
  };
  for (auto& p : programs) {
    const uint32_t rounds = word();
    for (uint32_t r = 0; r < rounds; r++)
      for (auto& port : p.ports) {
        std::vector<uint32_t> beats((size_t)word() * port.words());
        for (auto& w : beats) w = word();
        port.rounds.push_back(beats);
      }
  }
  fclose(f);
}

int main(int argc, char** argv) {
  VerilatedContext context;
  const uint64_t seed = argc > 2 ? strtoull(argv[2], nullptr, 0) : 1;
  context.randReset(2);  // registers without reset start random
  context.randSeed((int)(seed % 1000000) + 1);
  Vbench top(&context);
  std::vector<Program> programs = table(top);
  load(programs, argv[1]);
  for (size_t i = 0; i < programs.size(); i++) {
    programs[i].rng.s = (seed + 1) * 0x9E3779B97F4A7C15ull + i * 0xBF58476D1CE4E5B9ull + 1;
    *programs[i].reset_n = 0;
    for (auto& port : programs[i].ports) *(port.input ? port.valid : port.ready) = 0;
  }
  top.clk = 0;
  auto tick = [&] {
    top.clk = 1;
    top.eval();
    top.clk = 0;
    top.eval();
  };
  for (int i = 0; i < 8; i++) tick();
  for (auto& p : programs) {
    *p.reset_n = 1;
    begin_round(p, 0);
  }
  bool running = true;
  for (int now = 0; running; now++) {
    for (auto& p : programs) drive(p, now);
    top.eval();
    for (auto& p : programs) sample(p, now);
    tick();
    running = false;
    for (auto& p : programs) running |= !p.finished;
  }
  for (auto& p : programs)
    printf("{\"name\": \"%s\", \"verdict\": \"%s\", \"note\": \"%s\", \"rounds\": [%s]}\n", p.name, p.verdict.c_str(),
           p.note.c_str(), p.cycles.c_str());
  return 0;
}
