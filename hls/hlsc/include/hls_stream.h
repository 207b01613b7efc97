// hls::stream for the two ways this project builds a kernel.
//
// With HLSC defined (only hlsc's own front end does so) a stream is one machine word at the port's
// address: read() and write() are volatile accesses of it, so the optimiser keeps their number and order
// and hlsc turns each into a FIFO handshake. An element of any type is packed into one wide word.
//
// Otherwise (C simulation) a stream is a queue. A read of an empty queue is an error of the kernel or of its
// test bench, reported by name. That mode needs nothing of ap_int.h, so it works with any of them.
#pragma once

#ifdef HLSC

namespace hls {
namespace detail {

// ---- width of a scalar -------------------------------------------------------------------------------
template <class T> struct scalar_bits { static constexpr int value = 0; };  // 0: not a scalar
template <int N> struct scalar_bits<unsigned _BitInt(N)> { static constexpr int value = N; };
template <int N> struct scalar_bits<_BitInt(N)> { static constexpr int value = N; };
template <> struct scalar_bits<bool> { static constexpr int value = 1; };
#define HLSC_SCALAR(T) template <> struct scalar_bits<T> { static constexpr int value = 8 * sizeof(T); }
HLSC_SCALAR(char); HLSC_SCALAR(signed char); HLSC_SCALAR(unsigned char);
HLSC_SCALAR(short); HLSC_SCALAR(unsigned short); HLSC_SCALAR(int); HLSC_SCALAR(unsigned int);
HLSC_SCALAR(long); HLSC_SCALAR(unsigned long); HLSC_SCALAR(long long); HLSC_SCALAR(unsigned long long);
#undef HLSC_SCALAR

template <class T> struct array_of { static constexpr int size = 0; using element = void; };
template <class T, decltype(sizeof(0)) N> struct array_of<T[N]> {
  static constexpr int size = N;
  using element = T;
};

// ---- visit the scalars of an element, first field first -----------------------------------------------
// `f(x)` is called once per scalar. Aggregates are opened by structured bindings.
template <class T, class F> constexpr void each_scalar(T &x, F &&f);

template <class F, class... M> constexpr void each_member(F &&f, M &...m) { (each_scalar(m, f), ...); }

template <class T, class F> constexpr void each_scalar(T &x, F &&f) {
  if constexpr (scalar_bits<T>::value != 0 || __is_enum(T)) {
    f(x);
  } else if constexpr (array_of<T>::size != 0) {
#pragma clang loop unroll(full)
    for (int i = 0; i < array_of<T>::size; i++) each_scalar(x[i], f);
  } else if constexpr (__is_empty(T)) {
    // a side channel that is not enabled
  } else {
    constexpr int members = __builtin_structured_binding_size(T);
    static_assert(members <= 16, "a stream element may have at most 16 members per struct");
    if constexpr (members == 1) { auto &[a] = x; each_member(f, a); }
    else if constexpr (members == 2) { auto &[a, b] = x; each_member(f, a, b); }
    else if constexpr (members == 3) { auto &[a, b, c] = x; each_member(f, a, b, c); }
    else if constexpr (members == 4) { auto &[a, b, c, d] = x; each_member(f, a, b, c, d); }
    else if constexpr (members == 5) { auto &[a, b, c, d, e] = x; each_member(f, a, b, c, d, e); }
    else if constexpr (members == 6) { auto &[a, b, c, d, e, g] = x; each_member(f, a, b, c, d, e, g); }
    else if constexpr (members == 7) {
      auto &[a, b, c, d, e, g, h] = x; each_member(f, a, b, c, d, e, g, h);
    } else if constexpr (members == 8) {
      auto &[a, b, c, d, e, g, h, i] = x; each_member(f, a, b, c, d, e, g, h, i);
    } else if constexpr (members == 9) {
      auto &[a, b, c, d, e, g, h, i, j] = x; each_member(f, a, b, c, d, e, g, h, i, j);
    } else if constexpr (members == 10) {
      auto &[a, b, c, d, e, g, h, i, j, k] = x; each_member(f, a, b, c, d, e, g, h, i, j, k);
    } else if constexpr (members == 11) {
      auto &[a, b, c, d, e, g, h, i, j, k, l] = x; each_member(f, a, b, c, d, e, g, h, i, j, k, l);
    } else if constexpr (members == 12) {
      auto &[a, b, c, d, e, g, h, i, j, k, l, m] = x; each_member(f, a, b, c, d, e, g, h, i, j, k, l, m);
    } else if constexpr (members == 13) {
      auto &[a, b, c, d, e, g, h, i, j, k, l, m, n] = x;
      each_member(f, a, b, c, d, e, g, h, i, j, k, l, m, n);
    } else if constexpr (members == 14) {
      auto &[a, b, c, d, e, g, h, i, j, k, l, m, n, o] = x;
      each_member(f, a, b, c, d, e, g, h, i, j, k, l, m, n, o);
    } else if constexpr (members == 15) {
      auto &[a, b, c, d, e, g, h, i, j, k, l, m, n, o, p] = x;
      each_member(f, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p);
    } else if constexpr (members == 16) {
      auto &[a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q] = x;
      each_member(f, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q);
    }
  }
}

template <class T> constexpr int bits_of_scalar() {
  if constexpr (__is_enum(T)) return scalar_bits<__underlying_type(T)>::value;
  else return scalar_bits<T>::value;
}

template <class T> constexpr int count_bits() {
  int n = 0;
  T sample{};
  each_scalar(sample, [&]<class S>(S &) { n += bits_of_scalar<S>(); });
  return n;
}

template <class T> struct bits_of { static constexpr int value = count_bits<T>(); };

template <int WordBits_, class T> inline unsigned _BitInt(WordBits_) pack(const T &element) {
  unsigned _BitInt(WordBits_) word = 0;
  int at = 0;
  each_scalar(const_cast<T &>(element), [&]<class S>(S &x) {
    word |= (unsigned _BitInt(WordBits_))(unsigned _BitInt(bits_of_scalar<S>()))x << at;
    at += bits_of_scalar<S>();
  });
  return word;
}

template <int WordBits_, class T> inline T unpack(unsigned _BitInt(WordBits_) word) {
  T element;
  int at = 0;
  each_scalar(element, [&]<class S>(S &x) {
    x = (S)(unsigned _BitInt(bits_of_scalar<S>()))(word >> at);
    at += bits_of_scalar<S>();
  });
  return element;
}

template <class T> struct never { static constexpr bool value = false; };

}  // namespace detail

// Tells hlsc the logical width, the depth (0: not given) and the name of a stream declared in a dataflow region.
extern "C" void hlsc_declare_stream(void *stream, int bits, int depth, const char *name);

template <class T, int Depth_ = 0> class stream;

template <class T> class stream<T, 0> {
 public:
  static constexpr int bits = detail::bits_of<T>::value;
  stream() { hlsc_declare_stream(this, bits, 0, ""); }
  explicit stream(const char *name) { hlsc_declare_stream(this, bits, 0, name); }
  stream(const stream &) = delete;
  stream &operator=(const stream &) = delete;

  T read() { return detail::unpack<bits, T>(port); }
  void read(T &x) { x = read(); }
  void write(const T &x) { port = detail::pack<bits, T>(x); }
  void operator>>(T &x) { x = read(); }
  void operator<<(const T &x) { write(x); }

  // A kernel's result must not depend on timing, so the tests of a stream's state have no hardware here. hlsc
  // takes its refusal from these sentences: construct, reason, what to write instead.
  template <class U = T> bool empty() const {
    static_assert(detail::never<U>::value,
                  "hls::stream::empty(): its result would depend on timing; instead: use blocking reads, or send what ends the data in the data");
    return false;
  }
  template <class U = T> bool full() const {
    static_assert(detail::never<U>::value,
                  "hls::stream::full(): its result would depend on timing; instead: use blocking writes");
    return false;
  }
  template <class U = T> int size() const {
    static_assert(detail::never<U>::value,
                  "hls::stream::size(): its result would depend on timing; instead: count the elements in the kernel");
    return 0;
  }
  template <class U = T> bool read_nb(U &) {
    static_assert(detail::never<U>::value,
                  "hls::stream::read_nb(): its result would depend on timing; instead: use blocking reads");
    return false;
  }
  template <class U = T> bool write_nb(const U &) {
    static_assert(detail::never<U>::value,
                  "hls::stream::write_nb(): its result would depend on timing; instead: use blocking writes");
    return false;
  }

 protected:
  stream(int depth, const char *name) { hlsc_declare_stream(this, bits, depth, name); }

 private:
  unsigned _BitInt(bits) volatile port;
};

template <class T, int Depth_> class stream : public stream<T, 0> {
 public:
  stream() : stream<T, 0>(Depth_, "") {}
  explicit stream(const char *name) : stream<T, 0>(Depth_, name) {}
};

}  // namespace hls

#else  // C simulation

#include <cstddef>
#include <deque>
#include <stdexcept>
#include <string>

namespace hls {

template <class T, int Depth_ = 0> class stream;

template <class T> class stream<T, 0> {
 public:
  stream() : label("unnamed") {}
  explicit stream(const char *name) : label(name) {}
  stream(const stream &) = delete;
  stream &operator=(const stream &) = delete;

  T read() {
    if (queue.empty()) throw std::runtime_error("read from empty stream '" + label + "'");
    T x = queue.front();
    queue.pop_front();
    return x;
  }
  void read(T &x) { x = read(); }
  void write(const T &x) { queue.push_back(x); }
  void operator>>(T &x) { x = read(); }
  void operator<<(const T &x) { write(x); }

  bool empty() const { return queue.empty(); }
  bool full() const { return false; }
  std::size_t size() const { return queue.size(); }
  const std::string &name() const { return label; }
  bool read_nb(T &x) {
    if (queue.empty()) return false;
    x = read();
    return true;
  }
  bool write_nb(const T &x) {
    write(x);
    return true;
  }

 private:
  std::deque<T> queue;
  std::string label;
};

template <class T, int Depth_> class stream : public stream<T, 0> {
 public:
  using stream<T, 0>::stream;
};

}  // namespace hls

#endif
