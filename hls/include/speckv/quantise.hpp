// The arithmetic of the quantised codecs, value by value; hls/format.md states every step.
#pragma once

#include "numbers.hpp"

namespace speckv {

// Least and greatest value of a group, as order keys.
struct KeyRange {
  value_t lo, hi;
};

// A group's stored parameters.
struct Parameter {
  ap_uint<8> c;  // scale
  ap_int<8> z;   // zero

  Parameter() {}
  explicit Parameter(const ap_uint<16>& bits) : c(bits.range(7, 0)), z(ap_uint<8>(bits.range(15, 8))) {}
  ap_uint<16> packed() const {
    ap_uint<16> bits;
    bits.range(7, 0) = c;
    bits.range(15, 8) = ap_uint<8>(z);
    return bits;
  }
  bool valid() const { return c != 0 || z == 0; }
};

namespace detail {

struct Reciprocals {  // R of format.md for M = 8 ... 15
  unsigned short of[8];
  constexpr Reciprocals() : of() {
    for (int i = 0; i < 8; ++i) of[i] = (unsigned short)(((1u << 19) / (8 + i) + 1) / 2);
  }
};
constexpr Reciprocals kReciprocals;

}  // namespace detail

// v(x) of format.md for a value x of a group with scale c, on a page whose greatest exponent is E. The format's limit
// of 511 needs no hardware: by the choice of the scale, no value of the group is above 384.
template <class D>
ap_int<11> level_of(const value_t& x, flag_t half, const ap_uint<8>& greatest_exponent, const ap_uint<8>& c) {
  using N = Number<D>;
  const ap_uint<8> distance = greatest_exponent - N::exponent(x, half);
  const ap_uint<3> mantissa = c.range(2, 0);
  const ap_uint<N::significand_bits + 16> product =
      N::significand(x, half) * ap_uint<16>(detail::kReciprocals.of[mantissa]);
  const ap_uint<9> half_steps_at = distance + ap_uint<5>(c.range(7, 3)) - (7 + N::spare_bits);  // h - 1
  const ap_uint<5> shift = half_steps_at > 31 ? ap_uint<5>(31) : ap_uint<5>(half_steps_at);
  const ap_uint<10> half_steps = product >> shift;
  const ap_int<11> level = ap_uint<10>((half_steps + 1) >> 1);
  return x[15] ? ap_int<11>(-level) : level;
}

// A group's parameters. `code_bits` is N of quantN.
template <class D>
Parameter fit_group(const KeyRange& range, flag_t half, const ap_uint<8>& greatest_exponent,
                    const ap_uint<4>& code_bits) {
  using N = Number<D>;
  const value_t lo = from_order_key(range.lo), hi = from_order_key(range.hi);
  const ap_uint<8> e_lo = N::exponent(lo, half), e_hi = N::exponent(hi, half);
  const ap_uint<8> largest = e_lo > e_hi ? e_lo : e_hi;  // Eg

  // F(lo), F(hi) in 16-bit magnitudes
  const ap_uint<8> lo_distance = largest - e_lo, hi_distance = largest - e_hi;
  const ap_uint<16> m_lo = ap_uint<16>(N::significand(lo, half)) << (16 - N::significand_bits);
  const ap_uint<16> m_hi = ap_uint<16>(N::significand(hi, half)) << (16 - N::significand_bits);
  const ap_uint<16> f_lo = lo_distance > 15 ? ap_uint<16>(0) : ap_uint<16>(m_lo >> ap_uint<4>(lo_distance));
  const ap_uint<16> f_hi = hi_distance > 15 ? ap_uint<16>(0) : ap_uint<16>(m_hi >> ap_uint<4>(hi_distance));
  const ap_int<17> signed_lo = lo[15] ? ap_int<17>(-ap_int<17>(f_lo)) : ap_int<17>(f_lo);
  const ap_int<17> signed_hi = hi[15] ? ap_int<17>(-ap_int<17>(f_hi)) : ap_int<17>(f_hi);
  const ap_uint<17> span = signed_hi - signed_lo;

  // T, shifted up until its leading one is bit 35; n = 35 - up.
  const ap_uint<19> a = code_bits == 8 ? 4112 : code_bits == 4 ? 69905 : code_bits == 3 ? 149796 : 349525;
  const ap_uint<36> by_span = span * a, by_zero = f_lo * ap_uint<14>(8256);
  ap_uint<36> t = by_span > by_zero ? by_span : by_zero;
  const ap_uint<6> up = t.countLeadingZeros();
  t <<= up;
  const flag_t inexact = ap_uint<32>(t) != 0;
  const ap_uint<5> mantissa = ap_uint<4>(t.range(35, 32)) + inexact;  // M
  const ap_int<10> exponent = ap_int<10>(largest - greatest_exponent) + (31 - up) + mantissa[4];  // S - E + 31

  Parameter p;
  p.c.range(7, 3) = ap_uint<5>(exponent);
  p.c.range(2, 0) = mantissa.range(2, 0);
  if (exponent < 0 || p.c == 0) p.c = 1;
  const ap_int<11> level = level_of<D>(lo, half, greatest_exponent, p.c);
  p.z = level > 127 ? ap_int<8>(127) : level < -128 ? ap_int<8>(-128) : ap_int<8>(level);
  if (by_span == 0 && by_zero == 0) p.c = 0, p.z = 0;
  return p;
}

// q of a value.
template <class D>
ap_uint<8> code_of(const value_t& x, flag_t half, const ap_uint<8>& greatest_exponent, const Parameter& p,
                   const ap_uint<8>& largest_code) {
  const ap_int<12> above = level_of<D>(x, half, greatest_exponent, p.c) - p.z;
  const ap_uint<8> code = above < 0 ? ap_uint<8>(0) : above > largest_code ? largest_code : ap_uint<8>(above);
  return p.c == 0 ? ap_uint<8>(0) : code;
}

// Digits with the leading one at the top if the exponent reaches so far, and the exponent field, less the one that the
// leading digit adds to it.
template <int Width>
struct Normalised {
  ap_uint<Width> digits;
  ap_uint<10> field;
};

// The magnitude is shifted up until its leading one is at the top, but no further than the exponent reaches: subnormals
// keep zeros. `room` is how far that is. `Down` more places on top let it go down instead where even that is too high.
template <int Width, int Down>
Normalised<Width + Down> normalised(ap_uint<Width> magnitude, const ap_int<10>& room) {
  const ap_uint<5> zeros = magnitude.countLeadingZeros();
  const ap_int<10> up = room < ap_int<10>(zeros) ? room : ap_int<10>(zeros);
  const ap_uint<5> shift = up < -Down ? ap_uint<5>(0) : ap_uint<5>(up + Down);
  Normalised<Width + Down> n;
  n.digits = ap_uint<Width + Down>(magnitude) << shift;
  n.field = room - up;
  return n;
}

// Field and fraction of a value with `Kept` digits, rounded to nearest even; 2^16 and more where nothing fits.
template <int Kept, int Width>
ap_uint<18> rounded(const Normalised<Width>& n) {
  const ap_uint<Kept> kept = n.digits.range(Width - 1, Width - Kept);
  const flag_t half = n.digits[Width - Kept - 1];
  const ap_uint<Width - Kept - 1> below = n.digits.range(Width - Kept - 2, 0);
  const flag_t round_up = half & (flag_t(below != 0) | kept[0]);
  return (ap_uint<18>(n.field) << (Kept - 1)) + kept + round_up;
}

// A sum of Width bits of levels z + q, times the group's scale, rounded to nearest even.
template <class D, int Width>
value_t scaled(const ap_int<Width>& sum, const ap_uint<8>& c, const ap_uint<8>& greatest_exponent, flag_t half,
               flag_t eighth) {
  using N = Number<D>;
  constexpr int kProduct = Width - 1 + 4;
  constexpr int kDown = N::fraction_bits + 2;  // so far down all is below half of the last place
  const bool fp16 = D::has_fp16 && half;
  const bool negative = sum < 0;
  const ap_uint<Width - 1> magnitude = negative ? ap_uint<Width - 1>(-sum) : ap_uint<Width - 1>(sum);
  ap_uint<4> mantissa = c.range(2, 0);
  mantissa[3] = 1;
  const ap_uint<kProduct> product = magnitude * mantissa;

  // A leading one at the top has the exponent S + kProduct - 4; the least that there is has 1, or that of fp16.
  const ap_int<10> room = ap_int<10>(greatest_exponent) + ap_uint<5>(c.range(7, 3)) -
                          (31 + 4 + 1 - kProduct + (fp16 ? N::half_bias : 0) + (eighth ? 3 : 0));
  const auto n = normalised<kProduct, kDown>(product, room);
  ap_uint<18> bits = rounded<8>(n), largest = 0x7F7F;
  if (fp16) {
    bits = n.field > 31 ? ap_uint<18>(0x3FFFF) : rounded<11>(n);
    largest = 0x7BFF;
  }
  value_t result = bits > largest ? value_t(largest) : value_t(bits);
  result[15] = negative;
  return c == 0 || sum == 0 ? value_t(0) : result;
}

}  // namespace speckv
