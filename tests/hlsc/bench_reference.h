// Runs a kernel natively on pseudo-random streams and writes the vectors that bench_driver.cpp replays.
//
// A call takes what it needs from the front of long input tapes. A round is a number of calls, or fewer when a tape
// runs out: the call that found it empty is undone. So no program has to say how much it reads.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

namespace bench {

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

struct Beat {
  std::vector<uint32_t> data;
  std::vector<uint32_t> keep, strb, user, id, dest;
  uint32_t last = 0;
};

struct PortSpec {
  bool input;
  int data_bits, keep_bits, strb_bits;
  bool has_last;
  int user_bits, id_bits, dest_bits;
};

struct Spec {
  int rounds, calls, tape_beats;
  uint64_t seed;
  std::vector<PortSpec> ports;
  std::function<void(int port, long k, Rng& rng, Beat& beat)> stimulus;  // changes the default beat
};

// Data of different character per stretch: random bits, small 16-bit lanes, sparse bits, repeated words, extremes.
inline Beat default_beat(const PortSpec& p, long k, Rng& r, const Beat& previous) {
  Beat b;
  const int words = (p.data_bits + 31) / 32;
  const int style = (int)(k / 23 % 6);
  if (style == 3 && !previous.data.empty() && r.below(3)) {
    b.data = previous.data;
  } else {
    for (int i = 0; i < words; i++) {
      uint32_t w = r.next();
      if (style == 1) w = (uint16_t)((int)r.below(64) - 32) | (uint32_t)(uint16_t)((int)r.below(64) - 32) << 16;
      if (style == 2) w = r.below(4) ? 0 : 1u << r.below(32);
      if (style == 4) w = r.below(2) ? 0 : ~0u;
      b.data.push_back(w);
    }
  }
  auto trim = [](std::vector<uint32_t>& v, int bits) {
    if (bits % 32 && !v.empty()) v.back() &= (1u << (bits % 32)) - 1;
  };
  trim(b.data, p.data_bits);
  b.last = p.has_last && r.below(6) == 0;
  for (auto side : {std::make_pair(&b.keep, p.keep_bits), std::make_pair(&b.strb, p.strb_bits)}) {
    if (!side.second) continue;
    const int lanes = b.last ? 1 + r.below(side.second) : side.second;
    side.first->assign((side.second + 31) / 32, 0);
    for (int i = 0; i < lanes; i++) (*side.first)[i / 32] |= 1u << (i % 32);
  }
  typedef std::pair<std::vector<uint32_t>*, int> Side;
  for (auto side : {Side(&b.user, p.user_bits), Side(&b.id, p.id_bits), Side(&b.dest, p.dest_bits)}) {
    for (int i = 0; i < side.second; i += 32) side.first->push_back(r.next());
    if (side.second) trim(*side.first, side.second);
  }
  return b;
}

template <class T>
std::vector<uint32_t> to_words(const T& x) {
  std::vector<uint32_t> w;
  ap_uint<T::width> bits = x;
  for (int i = 0; i < T::width; i += 32) w.push_back(ap_uint<T::width>(bits >> (unsigned)i).to_uint());
  return w;
}
template <class T>
void from_words(T& x, const std::vector<uint32_t>& w) {
  ap_uint<T::width> bits = 0;
  for (size_t i = w.size(); i-- > 0;) {
    bits <<= 31u;
    bits <<= 1u;
    bits |= ap_uint<T::width>(w[i]);
  }
  x = bits;
}

template <class T>
struct Element {
  static T make(const Beat& b) {
    T x;
    from_words(x, b.data);
    return x;
  }
  static void flatten(const T& x, std::vector<uint32_t>& out) {
    for (uint32_t w : to_words(x)) out.push_back(w);
  }
};
template <class T, int U, int I, int D, unsigned char E, bool S>
struct Element<hls::axis<T, U, I, D, E, S>> {
  typedef hls::axis<T, U, I, D, E, S> A;
  template <class Side>
  static void set(Side& side, const std::vector<uint32_t>& w, std::true_type) {
    from_words(side, w);
  }
  template <class Side>
  static void set(Side&, const std::vector<uint32_t>&, std::false_type) {}
  template <class Side>
  static void get(const Side& side, std::vector<uint32_t>& out, std::true_type) {
    for (uint32_t w : to_words(side)) out.push_back(w);
  }
  template <class Side>
  static void get(const Side&, std::vector<uint32_t>&, std::false_type) {}
  static A make(const Beat& b) {
    A x;
    set(x.data, b.data, std::integral_constant<bool, A::data_bits != 0>());
    set(x.keep, b.keep, std::integral_constant<bool, A::keep_bits != 0>());
    set(x.strb, b.strb, std::integral_constant<bool, A::strb_bits != 0>());
    set(x.user, b.user, std::integral_constant<bool, A::user_bits != 0>());
    set(x.id, b.id, std::integral_constant<bool, A::id_bits != 0>());
    set(x.dest, b.dest, std::integral_constant<bool, A::dest_bits != 0>());
    set(x.last, {b.last}, std::integral_constant<bool, A::last_bits != 0>());
    return x;
  }
  static void flatten(const A& x, std::vector<uint32_t>& out) {
    get(x.data, out, std::integral_constant<bool, A::data_bits != 0>());
    get(x.keep, out, std::integral_constant<bool, A::keep_bits != 0>());
    get(x.strb, out, std::integral_constant<bool, A::strb_bits != 0>());
    get(x.user, out, std::integral_constant<bool, A::user_bits != 0>());
    get(x.id, out, std::integral_constant<bool, A::id_bits != 0>());
    get(x.dest, out, std::integral_constant<bool, A::dest_bits != 0>());
    get(x.last, out, std::integral_constant<bool, A::last_bits != 0>());
  }
};

template <class T>
struct Tape {
  hls::stream<T> stream{"tape"};
  std::vector<T> beats;   // input: what was put on the tape
  std::vector<T> output;  // output: all that came out
};

inline void put_word(FILE* f, uint32_t w) { fwrite(&w, 4, 1, f); }

template <class... T, size_t... I>
void run_streams(const char* name, void (*top)(hls::stream<T>&...), const Spec& spec, FILE* f,
                 std::index_sequence<I...>) {
  Rng rng{spec.seed * 0x9E3779B97F4A7C15ull + 77};
  std::tuple<Tape<T>...> tapes;
  auto fill = [&](int index, auto& tape) {
    typedef typename std::decay<decltype(tape.beats)>::type::value_type E;
    const PortSpec& p = spec.ports[index];
    if (!p.input) return;
    Beat b;
    for (long k = 0; k < spec.tape_beats; k++) {
      b = default_beat(p, k, rng, b);
      if (spec.stimulus) spec.stimulus(index, k, rng, b);
      E x = Element<E>::make(b);
      tape.beats.push_back(x);
      tape.stream.write(x);
    }
  };
  int dummy[] = {(fill(I, std::get<I>(tapes)), 0)...};
  (void)dummy;
  size_t before[sizeof...(T)], after[sizeof...(T)];
  auto level = [&](int index, auto& tape) {
    return spec.ports[index].input ? tape.beats.size() - tape.stream.size() : tape.output.size() + tape.stream.size();
  };
  put_word(f, spec.rounds);
  bool dry = false;
  for (int r = 0; r < spec.rounds; r++) {
    size_t start[] = {level(I, std::get<I>(tapes))...};
    memcpy(before, start, sizeof start);
    for (int c = 0; c < spec.calls && !dry; c++) {
      try {
        top(std::get<I>(tapes).stream...);
      } catch (const std::runtime_error&) {  // a tape ran out: this call never happened
        dry = true;
        if (r == 0 && c == 0) {
          fprintf(stderr, "%s: the first call needs more than %d beats\n", name, spec.tape_beats);
          exit(3);
        }
        break;
      }
      size_t now[] = {level(I, std::get<I>(tapes))...};
      memcpy(before, now, sizeof now);
      if (c + 1 < spec.calls) continue;
    }
    memcpy(after, before, sizeof after);
    auto emit = [&](int index, auto& tape) {
      if (!spec.ports[index].input)
        while (!tape.stream.empty()) tape.output.push_back(tape.stream.read());
      auto& beats = spec.ports[index].input ? tape.beats : tape.output;
      typedef typename std::decay<decltype(tape.beats)>::type::value_type E;
      put_word(f, after[index] - start[index]);
      for (size_t k = start[index]; k < after[index]; k++) {
        std::vector<uint32_t> words;
        Element<E>::flatten(beats[k], words);
        for (uint32_t w : words) put_word(f, w);
      }
    };
    int dummy2[] = {(emit(I, std::get<I>(tapes)), 0)...};
    (void)dummy2;
  }
}

template <class... T>
void run(const char* name, void (*top)(hls::stream<T>&...), const Spec& spec, FILE* f) {
  run_streams(name, top, spec, f, std::index_sequence_for<T...>());
}

}  // namespace bench
