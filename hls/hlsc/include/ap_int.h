// ap_int.h: arbitrary-width integers with the operator rules of Vitis HLS (UG1399), over clang's _BitInt.
//
// `ap_uint<N>` and `ap_int<N>` hold one public member `v` (`unsigned _BitInt(N)` / `_BitInt(N)`) and, inlined at
// -O2, leave nothing but plain LLVM integer operations. Sources written against this header compile unchanged
// against Xilinx's ap_types (g++, Vitis HLS); tests/hlsc/test_ap_int.py compares the two, result widths and signs
// included.
//
// Rules worth remembering
//  * Results grow: + and - by one bit, * to the sum of the widths; - is always signed; & | ^ % keep the rules of
//    UG1399. Conversion to a narrower type keeps the low bits.
//  * << and >> return the type of the left operand. An amount of N or more gives 0 (or the sign fill). A negative
//    amount shifts the other way: an `int` amount therefore costs two shifters unless it is known not to be
//    negative. Use an unsigned amount. Amounts held in a type wider than 32 bits use their low 32 bits, except a
//    native 64-bit amount in << and >>.
//  * Comparisons of mixed sign follow C (and ap_types): mathematical below 32 bits, otherwise the unsigned operand
//    wins if it is at least as wide.
//  * The implicit conversion to a native type (`if (x)`, `x ? :`, `x && y`, array index) goes through 64 bits.
//    Use `x != 0` for a wider value.
//  * `range()` has the *type* width of its parent, since its bounds may be variables: an expression with a range is
//    as wide as with the whole word. Assign it to an `ap_uint` of the right width first. Reversed bounds
//    (hi < lo) are not supported; use `reverse()`.
//  * Not supported, each with a message where the compiler meets it: strings, floating point, reductions and
//    |= &= ^= on ranges (wrong in ap_types), arithmetic of a concatenation with an ap type and its assignment to a
//    range when wider than 64 bits (truncated there), signed % wider unsigned above 64 bits.
//  * Where the C model of ap_types is wrong against UG1399 this header is right: nand_reduce() and to_bool() above 64
//    bits, xor_reduce() of an ap_int of up to 64 bits, lrotate()/rrotate() of an ap_int.
//  * Off the HLS path (HLSC not defined) a default-constructed value is zero and indexes are checked.
#ifndef __clang__
#include_next <ap_int.h>  // g++ has no _BitInt in C++: it finds Xilinx's ap_types later on the include path
#else
#ifndef HLSC_AP_INT_H
#define HLSC_AP_INT_H

#ifndef HLSC
#include <stdio.h>
#include <stdlib.h>
#endif

template <int N>
struct ap_int;
template <int N>
struct ap_uint;
template <int N, bool S>
struct ap_int_base;
template <int N, bool S, bool Const>
struct ap_range_ref;
template <int N, bool S, bool Const>
struct ap_bit_ref;
template <class A, class B>
struct ap_concat_ref;

namespace ap_detail {

#define HLSC_AP_FN inline constexpr __attribute__((always_inline))

#ifdef HLSC
HLSC_AP_FN void check(bool, const char*, int, int) {}
#else
[[noreturn]] inline void fail(const char* what, int a, int b) {
  fprintf(stderr, "ap_int.h: %s (%d, %d)\n", what, a, b);
  abort();
}
HLSC_AP_FN void check(bool ok, const char* what, int a, int b) {
  if (!ok) fail(what, a, b);
}
#endif

template <bool C, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
  typedef T type;
};
template <class T>
struct dependent_false {
  static constexpr bool value = false;
};
template <class T>
struct bare {
  typedef T type;
};
template <class T>
struct bare<const T> {
  typedef T type;
};
template <class T>
struct bare<T&> : bare<T> {};
template <class T>
struct bare<T&&> : bare<T> {};
template <class T>
struct is_const_object {  // of a forwarding reference's deduced type: rvalues count as const
  static constexpr bool value = true;
};
template <class T>
struct is_const_object<T&> {
  static constexpr bool value = false;
};
template <class T>
struct is_const_object<const T&> {
  static constexpr bool value = true;
};

// stored<N, S>: the member `v`. number<N, S>: the type arithmetic is done in. They differ for ap_int<1> alone,
// as C++ has no signed _BitInt(1).
template <int N, bool S>
struct types {
  static_assert(N >= 1, "ap_int/ap_uint: the width must be at least 1");
  typedef unsigned _BitInt(N) stored;
  typedef unsigned _BitInt(N) number;
};
template <int N>
struct types<N, true> {
  static_assert(N >= 1, "ap_int/ap_uint: the width must be at least 1");
  typedef _BitInt(N) stored;
  typedef _BitInt(N) number;
};
template <>
struct types<1, true> {
  typedef unsigned _BitInt(1) stored;
  typedef _BitInt(2) number;
};
template <int N, bool S>
using stored = typename types<N, S>::stored;
template <int N, bool S>
using number = typename types<N, S>::number;
template <int N>
using bits = unsigned _BitInt(N);

template <int N, bool S>
struct ap_of {
  typedef ap_uint<N> type;
};
template <int N>
struct ap_of<N, true> {
  typedef ap_int<N> type;
};
template <int N, bool S>
using ap_t = typename ap_of<N, S>::type;

constexpr int max(int a, int b) { return a > b ? a : b; }
constexpr int min(int a, int b) { return a < b ? a : b; }

// ---- operands -------------------------------------------------------------------------------------------------
enum kind { NONE, NATIVE, INT, RANGE, BIT, CONCAT };

// W, S: width and sign of the value. TS: sign that counts for the result type (a range is unsigned as a value, yet
// ap_types forms the result type from its parent's sign).
template <int W_, bool S_, kind K_, bool TS_ = S_>
struct operand {
  static constexpr int W = W_;
  static constexpr bool S = S_;
  static constexpr bool TS = TS_;
  static constexpr kind K = K_;
};
struct no_operand {
  static constexpr int W = 1;
  static constexpr bool S = false;
  static constexpr bool TS = false;
  static constexpr kind K = NONE;
};

no_operand probe(...);
template <int N, bool S>
operand<N, S, INT> probe(const ap_int_base<N, S>*);
template <int N, bool S, bool C>
operand<N, false, RANGE, S> probe(const ap_range_ref<N, S, C>*);
template <int N, bool S, bool C>
operand<1, false, BIT> probe(const ap_bit_ref<N, S, C>*);
template <class A, class B>
operand<A::W + B::W, false, CONCAT> probe(const ap_concat_ref<A, B>*);

template <class T, bool Enum = __is_enum(T)>
struct traits_of {
  typedef decltype(probe((const T*)nullptr)) type;
};
template <class T>
struct traits_of<T, true> {  // unscoped enumerations count as the native type they promote to
  template <class U>
  static typename traits_of<decltype(+U())>::type f(int);
  template <class U>
  static no_operand f(...);
  typedef decltype(f<T>(0)) type;
};
#define HLSC_AP_NATIVE(T, W, S) \
  template <>                   \
  struct traits_of<T, false> {  \
    typedef operand<W, S, NATIVE> type; \
  };
HLSC_AP_NATIVE(bool, 1, false)
HLSC_AP_NATIVE(char, 8, (char(-1) < 0))
HLSC_AP_NATIVE(signed char, 8, true)
HLSC_AP_NATIVE(unsigned char, 8, false)
HLSC_AP_NATIVE(short, 16, true)
HLSC_AP_NATIVE(unsigned short, 16, false)
HLSC_AP_NATIVE(int, 32, true)
HLSC_AP_NATIVE(unsigned, 32, false)
HLSC_AP_NATIVE(long, 8 * sizeof(long), true)
HLSC_AP_NATIVE(unsigned long, 8 * sizeof(long), false)
HLSC_AP_NATIVE(long long, 64, true)
HLSC_AP_NATIVE(unsigned long long, 64, false)
#undef HLSC_AP_NATIVE
template <class T>
using traits = typename traits_of<typename bare<T>::type>::type;
template <class T>
constexpr kind kind_of = traits<T>::K;

template <int N, bool S>
HLSC_AP_FN number<N, S> value(const ap_int_base<N, S>& x) {
  if constexpr (N == 1 && S)
    return x.v ? -1 : 0;
  else
    return x.v;
}
template <int N, bool S, bool C>
HLSC_AP_FN bits<N> value(const ap_range_ref<N, S, C>& x) {
  return x.raw();
}
template <int N, bool S, bool C>
HLSC_AP_FN bits<1> value(const ap_bit_ref<N, S, C>& x) {
  return x.raw();
}
template <class A, class B>
HLSC_AP_FN bits<A::W + B::W> value(const ap_concat_ref<A, B>& x) {
  return x.raw();
}
template <class T, typename enable_if<kind_of<T> == NATIVE, int>::type = 0>
HLSC_AP_FN number<traits<T>::W, traits<T>::S> value(const T& x) {
  return (number<traits<T>::W, traits<T>::S>)x;
}

template <int N, bool S, class V>
HLSC_AP_FN ap_t<N, S> pack(V x) {
  ap_t<N, S> r;
  r.v = (stored<N, S>)x;
  return r;
}

// ---- shifts ---------------------------------------------------------------------------------------------------
template <int N, bool S>
HLSC_AP_FN number<N, S> shift_left(number<N, S> x, unsigned long long by) {
  return by < (unsigned)N ? (number<N, S>)(stored<N, S>)((bits<N>)x << (unsigned)by) : (number<N, S>)0;
}
template <int N, bool S>
HLSC_AP_FN number<N, S> shift_right(number<N, S> x, unsigned long long by) {
  if constexpr (S)
    return x >> (by < (unsigned)N ? (unsigned)by : (unsigned)(N - 1));
  else
    return by < (unsigned)N ? x >> (unsigned)by : (number<N, S>)0;
}
template <bool Left, int N, bool S, class V, int W2, bool S2, bool Low32>
HLSC_AP_FN number<N, S> shift(V x, number<W2, S2> by) {
  if constexpr (S2) {
    const bool back = by < 0;
    constexpr int U = W2 == 1 ? 2 : W2;
    bits<U> wide = back ? (bits<U>)(0 - (bits<U>)by) : (bits<U>)by;
    unsigned long long n = Low32 ? (unsigned)wide : (unsigned long long)wide;
    return Left != back ? shift_left<N, S>(x, n) : shift_right<N, S>(x, n);
  } else {
    unsigned long long n = Low32 ? (unsigned)by : (unsigned long long)by;
    return Left ? shift_left<N, S>(x, n) : shift_right<N, S>(x, n);
  }
}

// ---- division -------------------------------------------------------------------------------------------------
template <bool Rem, int W, bool S, int W2, bool S2>
HLSC_AP_FN auto divide(number<W, S> a, number<W2, S2> b) {
  static_assert(!Rem || !S || S2 || W2 <= W || W2 <= 64,
                "signed % wider unsigned above 64 bits has no agreed meaning: cast the operands first");
  constexpr int m = S || S2;
  constexpr int wide = max(W, W2) + m;
  constexpr bool sign = W > W2 ? S : W2 > W ? S2 : S || S2;
  typedef number<wide, sign> T;
  if constexpr (!Rem)
    return (T)((T)a / (T)b);
  else if constexpr (S && sign)
    return (T)((T)a % (T)b);
  else
    return (bits<wide>)((bits<wide>)(T)a % (bits<wide>)(T)b);
}

// ---- comparison -----------------------------------------------------------------------------------------------
template <int W, bool S, int W2, bool S2>
HLSC_AP_FN bool equal(number<W, S> a, number<W2, S2> b) {
  constexpr int w = W == W2 && W < 64 ? W + 1 : max(max(W, W2), 32);  // equal widths: mathematical
  return (bits<w>)a == (bits<w>)b;
}
template <int W, bool S, int W2, bool S2>
HLSC_AP_FN bool less(number<W, S> a, number<W2, S2> b) {
  constexpr int w = max(W, W2) + 1;
  constexpr bool mathematical =
      S == S2 || (W < 32 && W2 < 32) || (S ? W > W2 : W2 > W);
  if constexpr (mathematical)
    return (_BitInt(w))a < (_BitInt(w))b;
  else
    return (bits<w>)a < (bits<w>)b;
}

// ---- result types (UG1399, "Arithmetic Operators") --------------------------------------------------------------
template <int W, bool S, int W2, bool S2>
struct result {
  static constexpr int grown = max(W + (S2 && !S), W2 + (S && !S2));
  typedef operand<W + W2, S || S2, INT> mul;
  typedef operand<grown + 1, S || S2, INT> add;
  typedef operand<grown + 1, true, INT> sub;
  typedef operand<grown, S || S2, INT> logic;
  typedef operand<W + S2, S || S2, INT> div;
  typedef operand<min(W, W2 + (!S2 && S)), S, INT> rem;
};
// The pair of operands that decides the result type, in ap_types' order.
template <class A, class B, kind KA = A::K, kind KB = B::K>
struct pairing {
  static constexpr bool ok = false;
};
template <class A, class B>
struct pairing_ok {
  static constexpr bool ok = true;
  typedef result<A::W, A::TS, B::W, B::TS> type;
};
template <class A, class B>
struct pairing_value {
  static constexpr bool ok = true;
  typedef result<A::W, A::S, B::W, B::S> type;
};
template <class A, class B>
struct pairing<A, B, INT, INT> : pairing_ok<A, B> {};
template <class A, class B>
struct pairing<A, B, INT, NATIVE> : pairing_ok<A, B> {};
template <class A, class B>
struct pairing<A, B, NATIVE, INT> : pairing_ok<B, A> {};
template <class A, class B>
struct pairing<A, B, INT, RANGE> : pairing_ok<A, B> {};
template <class A, class B>
struct pairing<A, B, RANGE, INT> : pairing_ok<A, B> {};
template <class A, class B>
struct pairing<A, B, INT, BIT> : pairing_ok<A, B> {};
template <class A, class B>
struct pairing<A, B, BIT, INT> : pairing_ok<A, B> {};
template <class A, class B>
struct pairing<A, B, RANGE, RANGE> : pairing_value<A, B> {};
template <class A, class B>
struct pairing<A, B, RANGE, NATIVE> : pairing_value<A, B> {};
template <class A, class B>
struct pairing<A, B, NATIVE, RANGE> : pairing_value<A, B> {};
template <class A, class B>
struct pairing<A, B, RANGE, BIT> : pairing_value<A, B> {};
template <class A, class B>
struct pairing<A, B, BIT, RANGE> : pairing_value<A, B> {};
template <class A, class B>
struct pairing<A, B, CONCAT, CONCAT> : pairing_value<A, B> {};

template <class A, class B>
using pair_t = pairing<traits<A>, traits<B>>;
template <class A, class B>
constexpr bool concat_with_ap = (kind_of<A> == CONCAT && (kind_of<B> == INT || kind_of<B> == RANGE)) ||
                                (kind_of<B> == CONCAT && (kind_of<A> == INT || kind_of<A> == RANGE));
template <class A, class B>
constexpr bool comparable = kind_of<A> == INT   ? kind_of<B> != NONE
                            : kind_of<B> == INT ? kind_of<A> != NONE
                                                : (kind_of<A> == RANGE && kind_of<B> == NATIVE) ||
                                                      (kind_of<A> == CONCAT && kind_of<B> == NATIVE) ||
                                                      (kind_of<A> == RANGE && kind_of<B> == RANGE);
template <class A, class B>
constexpr bool shiftable =
    (kind_of<A> == INT && kind_of<B> != NONE && kind_of<B> != CONCAT) ||
    (kind_of<A> == RANGE && (kind_of<B> == INT || kind_of<B> == NATIVE || kind_of<B> == RANGE)) ||
    (kind_of<A> == BIT && kind_of<B> == INT) || (kind_of<A> == CONCAT && (kind_of<B> == NATIVE || kind_of<B> == CONCAT));
template <class A, class B>
constexpr bool assignable = kind_of<A> == INT && kind_of<B> != NONE;

}  // namespace ap_detail

#define HLSC_AP_ENABLE(cond) typename ap_detail::enable_if<(cond), int>::type = 0

// ---- references -----------------------------------------------------------------------------------------------
#define HLSC_AP_TO_NATIVE(CONST_VALUE)                                                          \
  HLSC_AP_FN int to_int() const { return (int)(CONST_VALUE); }                                  \
  HLSC_AP_FN unsigned to_uint() const { return (unsigned)(CONST_VALUE); }                       \
  HLSC_AP_FN long to_long() const { return (long)(CONST_VALUE); }                               \
  HLSC_AP_FN unsigned long to_ulong() const { return (unsigned long)(CONST_VALUE); }            \
  HLSC_AP_FN long long to_int64() const { return (long long)(CONST_VALUE); }                    \
  HLSC_AP_FN unsigned long long to_uint64() const { return (unsigned long long)(CONST_VALUE); }

#define HLSC_AP_REFUSE(name, text)      \
  template <class T = void>             \
  bool name() const {                   \
    static_assert(ap_detail::dependent_false<T>::value, text); \
    return false;                       \
  }

#define HLSC_AP_CHECK_CONCAT(T)                                                                                 \
  static_assert(ap_detail::kind_of<T> != ap_detail::CONCAT || ap_detail::traits<T>::W <= 64,                    \
                "Xilinx's headers truncate a concatenation to 64 bits when it is assigned to a range or a bit: " \
                "assign it to an ap_uint first")

/// A slice of an ap_int_base<N, S>; as a value an ap_uint<N>.
template <int N, bool S, bool Const>
struct ap_range_ref {
  static constexpr int W = N;
  typedef ap_int_base<N, S> parent_type;
  parent_type* parent;
  int hi, lo;

  HLSC_AP_FN ap_range_ref(parent_type* p, int h, int l) : parent(p), hi(h), lo(l) {
    ap_detail::check(0 <= l && l <= h && h < N, "range() out of bounds or reversed", h, l);
  }
  HLSC_AP_FN ap_range_ref(const ap_range_ref& o) : parent(o.parent), hi(o.hi), lo(o.lo) {}

  HLSC_AP_FN int length() const { return hi - lo + 1; }
  HLSC_AP_FN ap_detail::bits<N> mask() const {  // length() ones
    return (ap_detail::bits<N>)~(ap_detail::bits<N>)0 >> (unsigned)(N - 1 - (hi - lo));
  }
  HLSC_AP_FN ap_detail::bits<N> raw() const {
    return (ap_detail::bits<N>)((ap_detail::bits<N>)parent->v >> (unsigned)lo) & mask();
  }
  HLSC_AP_FN void put(ap_detail::bits<N> x) const {
    static_assert(!Const, "assignment to a range of a constant ap_int/ap_uint");
    const ap_detail::bits<N> m = (ap_detail::bits<N>)(mask() << (unsigned)lo);
    const ap_detail::bits<N> moved = (ap_detail::bits<N>)(x << (unsigned)lo);
    parent->v = (ap_detail::stored<N, S>)(((ap_detail::bits<N>)parent->v & ~m) | (moved & m));
  }
  HLSC_AP_FN ap_uint<N> get() const { return ap_detail::pack<N, false>(raw()); }
  HLSC_AP_FN operator unsigned long long() const { return (unsigned long long)raw(); }
  HLSC_AP_TO_NATIVE(raw())

  HLSC_AP_FN ap_range_ref& operator=(const ap_range_ref& x) {
    put(x.raw());
    return *this;
  }
  template <class T, HLSC_AP_ENABLE(ap_detail::kind_of<T> != ap_detail::NONE)>
  HLSC_AP_FN ap_range_ref& operator=(const T& x) {
    HLSC_AP_CHECK_CONCAT(T);
    put((ap_detail::bits<N>)ap_detail::value(x));
    return *this;
  }

#define HLSC_AP_TOP_BIT " of a range misses its top bit in Xilinx's C model: copy into an ap_uint first"
  HLSC_AP_REFUSE(and_reduce, "and_reduce()" HLSC_AP_TOP_BIT)
  HLSC_AP_REFUSE(or_reduce, "or_reduce()" HLSC_AP_TOP_BIT)
  HLSC_AP_REFUSE(xor_reduce, "xor_reduce()" HLSC_AP_TOP_BIT)
#undef HLSC_AP_TOP_BIT
#define HLSC_AP_REFUSE_ASSIGN(op)                                                                                    \
  template <class T>                                                                                                \
  ap_range_ref& operator op(const T&) {                                                                             \
    static_assert(ap_detail::dependent_false<T>::value,                                                             \
                  #op " on a range changes the whole word in Xilinx's headers: write it as an assignment");          \
    return *this;                                                                                                   \
  }
  HLSC_AP_REFUSE_ASSIGN(|=)
  HLSC_AP_REFUSE_ASSIGN(&=)
  HLSC_AP_REFUSE_ASSIGN(^=)
#undef HLSC_AP_REFUSE_ASSIGN
};

/// One bit of an ap_int_base<N, S>; as a value a bool.
template <int N, bool S, bool Const>
struct ap_bit_ref {
  static constexpr int W = 1;
  typedef ap_int_base<N, S> parent_type;
  parent_type* parent;
  int index;

  HLSC_AP_FN ap_bit_ref(parent_type* p, int i) : parent(p), index(i) {
    ap_detail::check(0 <= i && i < N, "bit index out of bounds", i, N);
  }
  HLSC_AP_FN ap_bit_ref(const ap_bit_ref& o) : parent(o.parent), index(o.index) {}

  HLSC_AP_FN int length() const { return 1; }
  HLSC_AP_FN ap_detail::bits<1> raw() const {
    return (ap_detail::bits<1>)((ap_detail::bits<N>)parent->v >> (unsigned)index);
  }
  HLSC_AP_FN void put(ap_detail::bits<1> x) const {
    static_assert(!Const, "assignment to a bit of a constant ap_int/ap_uint");
    typedef ap_detail::bits<N> B;
    const B m = (B)((B)1 << (unsigned)index);
    parent->v = (ap_detail::stored<N, S>)(((B)parent->v & ~m) | (B)((B)x << (unsigned)index));
  }
  HLSC_AP_FN operator bool() const { return raw() != 0; }
  HLSC_AP_FN bool to_bool() const { return raw() != 0; }
  HLSC_AP_FN bool get() const { return raw() != 0; }
  HLSC_AP_FN bool operator~() const { return raw() == 0; }

  HLSC_AP_FN ap_bit_ref& operator=(const ap_bit_ref& x) {
    put(x.raw());
    return *this;
  }
  template <class T, HLSC_AP_ENABLE(ap_detail::kind_of<T> != ap_detail::NONE)>
  HLSC_AP_FN ap_bit_ref& operator=(const T& x) {
    HLSC_AP_CHECK_CONCAT(T);
    put(ap_detail::value(x) != 0 ? (ap_detail::bits<1>)1 : (ap_detail::bits<1>)0);
    return *this;
  }
};

namespace ap_detail {
// A whole ap_int_base as one side of a concatenation.
template <int N, bool S, bool Const>
struct whole_ref {
  static constexpr int W = N;
  ap_int_base<N, S>* parent;
  HLSC_AP_FN int length() const { return N; }
  HLSC_AP_FN bits<N> raw() const { return (bits<N>)parent->v; }
  HLSC_AP_FN void put(bits<N> x) const {
    static_assert(!Const, "assignment to a constant or temporary inside a concatenation");
    parent->v = (stored<N, S>)x;
  }
};
template <bool Const, int N, bool S>
HLSC_AP_FN whole_ref<N, S, Const> side(const ap_int_base<N, S>& x) {
  return whole_ref<N, S, Const>{const_cast<ap_int_base<N, S>*>(&x)};
}
template <bool, int N, bool S, bool C>
HLSC_AP_FN ap_range_ref<N, S, C> side(const ap_range_ref<N, S, C>& x) {
  return x;
}
template <bool, int N, bool S, bool C>
HLSC_AP_FN ap_bit_ref<N, S, C> side(const ap_bit_ref<N, S, C>& x) {
  return x;
}
template <bool, class A, class B>
HLSC_AP_FN ap_concat_ref<A, B> side(const ap_concat_ref<A, B>& x) {
  return x;
}
}  // namespace ap_detail

/// `(a, b)`: a above b. Readable as an ap_uint, assignable where both sides are.
template <class A, class B>
struct ap_concat_ref {
  static constexpr int W = A::W + B::W;
  A a;
  B b;

  HLSC_AP_FN ap_concat_ref(const A& x, const B& y) : a(x), b(y) {}
  HLSC_AP_FN ap_concat_ref(const ap_concat_ref& o) : a(o.a), b(o.b) {}

  HLSC_AP_FN int length() const { return a.length() + b.length(); }
  HLSC_AP_FN ap_detail::bits<W> raw() const {
    typedef ap_detail::bits<W> R;
    return (R)((R)a.raw() << (unsigned)b.length()) | (R)b.raw();
  }
  HLSC_AP_FN void put(ap_detail::bits<W> x) const {
    a.put((ap_detail::bits<A::W>)(ap_detail::bits<W>)(x >> (unsigned)b.length()));
    b.put((ap_detail::bits<B::W>)x);
  }
  HLSC_AP_FN ap_uint<W> get() const { return ap_detail::pack<W, false>(raw()); }
  HLSC_AP_FN operator unsigned long long() const { return (unsigned long long)raw(); }

  HLSC_AP_FN ap_concat_ref& operator=(const ap_concat_ref& x) {
    put(x.raw());
    return *this;
  }
  template <class T, HLSC_AP_ENABLE(ap_detail::kind_of<T> != ap_detail::NONE)>
  HLSC_AP_FN ap_concat_ref& operator=(const T& x) {
    put((ap_detail::bits<W>)ap_detail::value(x));
    return *this;
  }
};

// ---- the value ------------------------------------------------------------------------------------------------
template <int N, bool S>
struct ap_int_base {
  static constexpr int width = N;
  static constexpr bool is_signed = S;
  typedef ap_detail::stored<N, S> raw;
  typedef ap_detail::bits<N> bits;

#ifdef HLSC
  raw v;
  ap_int_base() = default;
#else
  raw v = 0;
  constexpr ap_int_base() = default;
#endif
  template <class T, HLSC_AP_ENABLE(ap_detail::kind_of<T> != ap_detail::NONE)>
  HLSC_AP_FN ap_int_base(const T& x) : v((raw)ap_detail::value(x)) {}
  template <int M>
  HLSC_AP_FN explicit ap_int_base(unsigned _BitInt(M) x) : v((raw)x) {}
  template <int M>
  HLSC_AP_FN explicit ap_int_base(_BitInt(M) x) : v((raw)x) {}
  template <class T, typename ap_detail::enable_if<__is_floating_point(T), long>::type = 0>
  ap_int_base(T) {
    static_assert(ap_detail::dependent_false<T>::value, "ap_int/ap_uint from floating point is not supported");
  }
  template <class T, typename ap_detail::enable_if<__is_same(T, char), short>::type = 0>
  ap_int_base(const T*, signed char = 0) {
    static_assert(ap_detail::dependent_false<T>::value, "ap_int/ap_uint from a string is not supported");
  }

  template <class T, HLSC_AP_ENABLE(ap_detail::kind_of<T> != ap_detail::NONE)>
  HLSC_AP_FN ap_int_base& operator=(const T& x) {
    v = (raw)ap_detail::value(x);
    return *this;
  }
  // spelled out, so that a copy is a load and a store of one integer: LLVM turns those into registers, but not a
  // memcpy whose source was chosen by ?:
  HLSC_AP_FN ap_int_base(const ap_int_base& x) : v(x.v) {}
  HLSC_AP_FN ap_int_base& operator=(const ap_int_base& x) {
    v = x.v;
    return *this;
  }

  // conversion to native types
  template <bool Signed, class Dummy = void>
  struct native {
    typedef long long type;
  };
  template <class Dummy>
  struct native<false, Dummy> {
    typedef unsigned long long type;
  };
  HLSC_AP_FN operator typename native<S>::type() const { return (typename native<S>::type)ap_detail::value(*this); }
  HLSC_AP_TO_NATIVE(ap_detail::value(*this))
  HLSC_AP_FN bool to_bool() const { return v != 0; }
  HLSC_AP_FN char to_char() const { return (char)ap_detail::value(*this); }
  HLSC_AP_FN signed char to_schar() const { return (signed char)ap_detail::value(*this); }
  HLSC_AP_FN unsigned char to_uchar() const { return (unsigned char)ap_detail::value(*this); }
  HLSC_AP_FN short to_short() const { return (short)ap_detail::value(*this); }
  HLSC_AP_FN unsigned short to_ushort() const { return (unsigned short)ap_detail::value(*this); }
  HLSC_AP_REFUSE(to_double, "conversion to floating point is not supported")
  HLSC_AP_REFUSE(to_float, "conversion to floating point is not supported")
  HLSC_AP_REFUSE(to_string, "to_string() is not supported")

  // properties
  HLSC_AP_FN int length() const { return N; }
  HLSC_AP_FN bool iszero() const { return v == 0; }
  HLSC_AP_FN bool is_zero() const { return v == 0; }
  HLSC_AP_FN bool sign() const { return S && test(N - 1); }
  HLSC_AP_FN int countLeadingZeros() const { return __builtin_clzg((bits)v, N); }
  HLSC_AP_FN bool and_reduce() const { return (bits)v == (bits) ~(bits)0; }
  HLSC_AP_FN bool nand_reduce() const { return !and_reduce(); }
  HLSC_AP_FN bool or_reduce() const { return v != 0; }
  HLSC_AP_FN bool nor_reduce() const { return v == 0; }
  HLSC_AP_FN bool xor_reduce() const { return __builtin_popcountg((bits)v) & 1; }
  HLSC_AP_FN bool xnor_reduce() const { return !xor_reduce(); }

  // bits
  HLSC_AP_FN bool test(int i) const { return ap_bit_ref<N, S, true>(const_cast<ap_int_base*>(this), i); }
  HLSC_AP_FN bool get_bit(int i) const { return test(i); }
  HLSC_AP_FN void set_bit(int i, bool x) { ap_bit_ref<N, S, false>(this, i).put(x); }
  HLSC_AP_FN void set(int i, bool x) { set_bit(i, x); }
  HLSC_AP_FN void set(int i) { set_bit(i, true); }
  HLSC_AP_FN void clear(int i) { set_bit(i, false); }
  HLSC_AP_FN void invert(int i) { set_bit(i, !test(i)); }
  HLSC_AP_FN void b_not() { v = (raw)(bits) ~(bits)v; }
  HLSC_AP_FN ap_int_base& reverse() {
    v = (raw)__builtin_elementwise_bitreverse((bits)v);
    return *this;
  }
  HLSC_AP_FN ap_int_base& lrotate(int n) {
    ap_detail::check(0 <= n && n < N, "rotation out of bounds", n, N);
    if constexpr (N > 1)
      v = (raw)(bits)((bits)((bits)v << (unsigned)n) | (bits)((bits)((bits)v >> 1) >> (unsigned)(N - 1 - n)));
    return *this;
  }
  HLSC_AP_FN ap_int_base& rrotate(int n) {
    ap_detail::check(0 <= n && n < N, "rotation out of bounds", n, N);
    if constexpr (N > 1)
      v = (raw)(bits)((bits)((bits)v >> (unsigned)n) | (bits)((bits)((bits)v << 1) << (unsigned)(N - 1 - n)));
    return *this;
  }
  HLSC_AP_FN ap_bit_ref<N, S, false> operator[](int i) { return {this, i}; }
  HLSC_AP_FN bool operator[](int i) const { return test(i); }
  HLSC_AP_FN ap_bit_ref<N, S, false> bit(int i) { return {this, i}; }
  HLSC_AP_FN bool bit(int i) const { return test(i); }
  HLSC_AP_FN ap_range_ref<N, S, false> range(int hi, int lo) { return {this, hi, lo}; }
  HLSC_AP_FN ap_range_ref<N, S, true> range(int hi, int lo) const { return {const_cast<ap_int_base*>(this), hi, lo}; }
  HLSC_AP_FN ap_range_ref<N, S, false> range() { return {this, N - 1, 0}; }
  HLSC_AP_FN ap_range_ref<N, S, true> range() const { return {const_cast<ap_int_base*>(this), N - 1, 0}; }
  HLSC_AP_FN ap_range_ref<N, S, false> operator()(int hi, int lo) { return {this, hi, lo}; }
  HLSC_AP_FN ap_range_ref<N, S, true> operator()(int hi, int lo) const {
    return {const_cast<ap_int_base*>(this), hi, lo};
  }
  template <int M, bool T>
  HLSC_AP_FN auto concat(const ap_int_base<M, T>& low) const {
    return ap_concat_ref<ap_detail::whole_ref<N, S, true>, ap_detail::whole_ref<M, T, true>>(
        ap_detail::side<true>(*this), ap_detail::side<true>(low));
  }
  template <int M, bool T>
  HLSC_AP_FN auto concat(ap_int_base<M, T>& low) {
    return ap_concat_ref<ap_detail::whole_ref<N, S, false>, ap_detail::whole_ref<M, T, false>>(
        ap_detail::side<false>(*this), ap_detail::side<false>(low));
  }

  // unary operators
  HLSC_AP_FN ap_detail::ap_t<N, S> operator+() const { return ap_detail::pack<N, S>(v); }
  HLSC_AP_FN auto operator-() const {
    constexpr int w = ap_detail::result<N, S, 1, false>::sub::W;
    return ap_detail::pack<w, true>((_BitInt(w))(0 - (_BitInt(w))ap_detail::value(*this)));
  }
  HLSC_AP_FN ap_detail::ap_t<N, S> operator~() const { return ap_detail::pack<N, S>((bits) ~(bits)v); }
  HLSC_AP_FN bool operator!() const { return v == 0; }
  HLSC_AP_FN ap_int_base& operator++() {
    v = (raw)(bits)((bits)v + (bits)1);
    return *this;
  }
  HLSC_AP_FN ap_int_base& operator--() {
    v = (raw)(bits)((bits)v - (bits)1);
    return *this;
  }
  HLSC_AP_FN ap_detail::ap_t<N, S> operator++(int) {
    auto old = ap_detail::pack<N, S>(v);
    ++*this;
    return old;
  }
  HLSC_AP_FN ap_detail::ap_t<N, S> operator--(int) {
    auto old = ap_detail::pack<N, S>(v);
    --*this;
    return old;
  }
};

#define HLSC_AP_CLASS(name, S)                                                                         \
  template <int N>                                                                                    \
  struct name : ap_int_base<N, S> {                                                                   \
    typedef ap_int_base<N, S> Base;                                                                   \
    name() = default;                                                                                 \
    name(const name&) = default;                                                                      \
    name& operator=(const name&) = default;                                                           \
    template <class T, HLSC_AP_ENABLE(ap_detail::kind_of<T> != ap_detail::NONE)>                      \
    HLSC_AP_FN name(const T& x) : Base(x) {}                                                          \
    template <int M>                                                                                  \
    HLSC_AP_FN explicit name(unsigned _BitInt(M) x) : Base(x) {}                                      \
    template <int M>                                                                                  \
    HLSC_AP_FN explicit name(_BitInt(M) x) : Base(x) {}                                               \
    template <class T, typename ap_detail::enable_if<__is_floating_point(T), long>::type = 0>         \
    name(T x) : Base(x) {}                                                                            \
    template <class T, typename ap_detail::enable_if<__is_same(T, char), short>::type = 0>            \
    name(const T* x, signed char radix = 0) : Base(x, radix) {}                                       \
    template <class T, HLSC_AP_ENABLE(ap_detail::kind_of<T> != ap_detail::NONE)>                      \
    HLSC_AP_FN name& operator=(const T& x) {                                                          \
      Base::operator=(x);                                                                             \
      return *this;                                                                                   \
    }                                                                                                 \
  };
HLSC_AP_CLASS(ap_uint, false)
HLSC_AP_CLASS(ap_int, true)
#undef HLSC_AP_CLASS

// ---- binary operators -----------------------------------------------------------------------------------------
#define HLSC_AP_ARITHMETIC(op, rule)                                                                               \
  template <class A, class B, HLSC_AP_ENABLE((ap_detail::pair_t<A, B>::ok))>                                        \
  HLSC_AP_FN auto operator op(const A& a, const B& b) {                                                             \
    typedef typename ap_detail::pair_t<A, B>::type::rule R;                                                         \
    typedef ap_detail::traits<A> TA;                                                                                \
    typedef ap_detail::traits<B> TB;                                                                                \
    typedef typename ap_detail::result<TA::W, TA::S, TB::W, TB::S>::rule V; /* rule applied to the values */        \
    typedef ap_detail::number<V::W, V::S> T;                                                                        \
    return ap_detail::pack<R::W, R::S>((T)((T)ap_detail::value(a) op(T) ap_detail::value(b)));                      \
  }                                                                                                                 \
  HLSC_AP_REFUSE_CONCAT(op)
#define HLSC_AP_REFUSE_CONCAT(op)                                                                                   \
  template <class A, class B, typename ap_detail::enable_if<ap_detail::concat_with_ap<A, B>, long>::type = 0>       \
  int operator op(const A&, const B&) {                                                                             \
    static_assert(ap_detail::dependent_false<A>::value,                                                             \
                  #op " of a concatenation and an ap type: assign the concatenation to an ap_uint first "           \
                      "(Xilinx's headers truncate it to 64 bits)");                                                 \
    return 0;                                                                                                       \
  }
HLSC_AP_ARITHMETIC(+, add)
HLSC_AP_ARITHMETIC(-, sub)
HLSC_AP_ARITHMETIC(*, mul)
HLSC_AP_ARITHMETIC(&, logic)
HLSC_AP_ARITHMETIC(|, logic)
HLSC_AP_ARITHMETIC(^, logic)
#undef HLSC_AP_ARITHMETIC

#define HLSC_AP_DIVISION(op, rule, remainder)                                                                       \
  template <class A, class B, HLSC_AP_ENABLE((ap_detail::pair_t<A, B>::ok))>                                        \
  HLSC_AP_FN auto operator op(const A& a, const B& b) {                                                             \
    typedef typename ap_detail::pair_t<A, B>::type::rule R;                                                         \
    typedef ap_detail::traits<A> TA;                                                                                \
    typedef ap_detail::traits<B> TB;                                                                                \
    typedef typename ap_detail::result<TA::W, TA::S, TB::W, TB::S>::rule V;                                         \
    return ap_detail::pack<R::W, R::S>(ap_detail::value(ap_detail::pack<V::W, V::S>(                                \
        ap_detail::divide<remainder, TA::W, TA::S, TB::W, TB::S>(ap_detail::value(a), ap_detail::value(b)))));      \
  }                                                                                                                 \
  HLSC_AP_REFUSE_CONCAT(op)
HLSC_AP_DIVISION(/, div, false)
HLSC_AP_DIVISION(%, rem, true)
#undef HLSC_AP_DIVISION

#define HLSC_AP_SHIFT(op, left)                                                                                     \
  template <class A, class B, HLSC_AP_ENABLE((ap_detail::shiftable<A, B>))>                                         \
  HLSC_AP_FN auto operator op(const A& a, const B& b) {                                                             \
    typedef ap_detail::traits<A> TA;                                                                                \
    typedef ap_detail::traits<B> TB;                                                                                \
    constexpr bool sign = TB::K == ap_detail::INT ? TA::TS : TA::S;                                                 \
    constexpr bool low32 = TA::K != ap_detail::INT || TB::K != ap_detail::NATIVE;                                   \
    return ap_detail::pack<TA::W, sign>(                                                                            \
        ap_detail::shift<left, TA::W, TA::S, ap_detail::number<TA::W, TA::S>, TB::W, TB::S, low32>(                 \
            ap_detail::value(a), ap_detail::value(b)));                                                             \
  }                                                                                                                 \
  HLSC_AP_REFUSE_CONCAT(op)
HLSC_AP_SHIFT(<<, true)
HLSC_AP_SHIFT(>>, false)
#undef HLSC_AP_SHIFT
#undef HLSC_AP_REFUSE_CONCAT

#define HLSC_AP_COMPARE(op, expression)                                                                             \
  template <class A, class B, HLSC_AP_ENABLE((ap_detail::comparable<A, B>))>                                        \
  HLSC_AP_FN bool operator op(const A& a, const B& b) {                                                             \
    typedef ap_detail::traits<A> TA;                                                                                \
    typedef ap_detail::traits<B> TB;                                                                                \
    const auto x = ap_detail::value(a);                                                                             \
    const auto y = ap_detail::value(b);                                                                             \
    return expression;                                                                                              \
  }
#define HLSC_AP_EQUAL ap_detail::equal<TA::W, TA::S, TB::W, TB::S>(x, y)
#define HLSC_AP_LESS ap_detail::less<TA::W, TA::S, TB::W, TB::S>(x, y)
#define HLSC_AP_GREATER ap_detail::less<TB::W, TB::S, TA::W, TA::S>(y, x)
HLSC_AP_COMPARE(==, (HLSC_AP_EQUAL))
HLSC_AP_COMPARE(!=, !(HLSC_AP_EQUAL))
HLSC_AP_COMPARE(<, (HLSC_AP_LESS))
HLSC_AP_COMPARE(>, (HLSC_AP_GREATER))
HLSC_AP_COMPARE(<=, !(HLSC_AP_GREATER))
HLSC_AP_COMPARE(>=, !(HLSC_AP_LESS))
#undef HLSC_AP_COMPARE
#undef HLSC_AP_EQUAL
#undef HLSC_AP_LESS
#undef HLSC_AP_GREATER

// ---- compound assignment ---------------------------------------------------------------------------------------
namespace ap_detail {
// ranges and concatenations reach a compound assignment through their 64-bit conversion, as in ap_types
template <class T>
HLSC_AP_FN decltype(auto) assigned(const T& x) {
  if constexpr (kind_of<T> == RANGE || kind_of<T> == CONCAT)
    return (unsigned long long)x;
  else if constexpr (kind_of<T> == BIT)
    return (bool)x;
  else
    return (x);
}
}  // namespace ap_detail

#define HLSC_AP_ASSIGN(op, operation)                                                         \
  template <class A, class B, HLSC_AP_ENABLE((ap_detail::assignable<A, B>))>                  \
  HLSC_AP_FN A& operator op(A& a, const B& b) {                                               \
    typedef ap_detail::bits<ap_detail::traits<A>::W> U;                                       \
    a.v = (typename A::raw)(U)((U)a.v operation(U) ap_detail::value(ap_detail::assigned(b))); \
    return a;                                                                                 \
  }
HLSC_AP_ASSIGN(+=, +)
HLSC_AP_ASSIGN(-=, -)
HLSC_AP_ASSIGN(*=, *)
HLSC_AP_ASSIGN(&=, &)
HLSC_AP_ASSIGN(|=, |)
HLSC_AP_ASSIGN(^=, ^)
#undef HLSC_AP_ASSIGN
#define HLSC_AP_ASSIGN(op, operation)                                        \
  template <class A, class B, HLSC_AP_ENABLE((ap_detail::assignable<A, B>))> \
  HLSC_AP_FN A& operator op(A& a, const B& b) {                              \
    typedef ap_detail::traits<decltype(ap_detail::assigned(b))> TB;          \
    a = a operation ap_detail::pack<TB::W, TB::S>(ap_detail::value(ap_detail::assigned(b))); \
    return a;                                                                \
  }
HLSC_AP_ASSIGN(/=, /)
HLSC_AP_ASSIGN(%=, %)
HLSC_AP_ASSIGN(<<=, <<)
HLSC_AP_ASSIGN(>>=, >>)
#undef HLSC_AP_ASSIGN

// ---- concatenation ---------------------------------------------------------------------------------------------
template <class A, class B,
          HLSC_AP_ENABLE((ap_detail::kind_of<A> >= ap_detail::INT && ap_detail::kind_of<B> >= ap_detail::INT))>
HLSC_AP_FN auto operator,(A&& a, B&& b) {
  constexpr bool ca = ap_detail::is_const_object<A>::value;
  constexpr bool cb = ap_detail::is_const_object<B>::value;
  typedef decltype(ap_detail::side<ca>(a)) SA;
  typedef decltype(ap_detail::side<cb>(b)) SB;
  return ap_concat_ref<SA, SB>(ap_detail::side<ca>(a), ap_detail::side<cb>(b));
}
template <class A, class B,
          HLSC_AP_ENABLE((ap_detail::kind_of<A> >= ap_detail::INT && ap_detail::kind_of<B> == ap_detail::NATIVE))>
HLSC_AP_FN auto operator,(const A& a, const B& b) {
  typedef ap_detail::traits<A> TA;
  typedef ap_detail::traits<B> TB;
  static_assert(TA::K != ap_detail::CONCAT || !TB::S,
                "a signed native integer behind a concatenation is wrong in Xilinx's headers: cast it to an ap type");
  typedef ap_detail::bits<TA::W + TB::W> R;
  return ap_detail::pack<TA::W + TB::W, false>(
      (R)((R)(ap_detail::bits<TA::W>)ap_detail::value(a) << TB::W) | (R)(ap_detail::bits<TB::W>)ap_detail::value(b));
}
template <class A, class B,
          HLSC_AP_ENABLE((ap_detail::kind_of<A> == ap_detail::NATIVE && ap_detail::kind_of<B> >= ap_detail::INT))>
HLSC_AP_FN auto operator,(const A& a, const B& b) {
  typedef ap_detail::traits<A> TA;
  typedef ap_detail::traits<B> TB;
  typedef ap_detail::bits<TA::W + TB::W> R;
  return ap_detail::pack<TA::W + TB::W, false>(
      (R)((R)ap_detail::value(a) << (unsigned)ap_detail::side<true>(b).length()) |
      (R)(ap_detail::bits<TB::W>)ap_detail::value(b));
}

#undef HLSC_AP_ENABLE
#undef HLSC_AP_REFUSE
#undef HLSC_AP_CHECK_CONCAT
#undef HLSC_AP_TO_NATIVE
#undef HLSC_AP_FN

#endif  // HLSC_AP_INT_H
#endif  // __clang__
