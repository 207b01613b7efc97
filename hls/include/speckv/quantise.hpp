// The arithmetic of the quantised codecs, value by value; hls/format.md states every step.
#pragma once

#include "numbers.hpp"

namespace speckv {

// A beat of rotated values: integers Y of format.md, and the exponent Er of their run; or values as they came.
struct RunValues {
  beat_t values;
  ap_uint<8> exponent;
};

inline beat_t values_of(const beat_t& beat) { return beat; }
inline beat_t values_of(const RunValues& run) { return run.values; }
inline ap_uint<8> run_exponent_of(const beat_t&) { return 0; }
inline ap_uint<8> run_exponent_of(const RunValues& run) { return run.exponent; }

// Least and greatest value of a group, as order keys; and the exponent of its run.
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

// R of format.md for M = 8 ... 15, three places up, and 1, 2, 3 less for h - 1 modulo 4, so that the shift behind the
// product goes by steps of four; and all of that negated.
struct Reciprocals {
  int of[64];
  constexpr Reciprocals() : of() {
    for (int i = 0; i < 64; ++i) {
      const int r = (int)(((1u << 19) / (8 + i % 8) + 1) / 2) << (3 - i / 8 % 4);
      of[i] = i < 32 ? r : -r;
    }
  }
};
constexpr Reciprocals kReciprocals;

}  // namespace detail

// How a page's values are to be read, and what its exponents are relative to.
template <class D>
struct Reading {
  flag_t half;           // as fp16, else as bf16
  flag_t integers;       // rotated: as integers of their run
  ap_int<10> reference;  // E - 7

  Reading() {}
  // `greatest_exponent` is what a header has: E, or E - 3 if rotated.
  Reading(const Plan<D>& plan, const ap_uint<8>& greatest_exponent)
      : half(plan.half), integers(plan.rotated),
        reference(ap_int<10>(greatest_exponent) + (plan.rotated ? 3 : 0) - 7) {}
};

// Twice v(x) of format.md for a value of a group with scale c, before rounding: (half_levels + 1) / 2 is v(x). The run's
// exponent is that of all values that are integers.
template <class D>
ap_int<11> half_levels(const value_t& x, const Reading<D>& reading, const ap_uint<8>& run_exponent,
                       const ap_uint<8>& c) {
  using N = Number<D>;
  const bool integer = has_rotated<D>() && reading.integers;
  const ap_uint<8> own_exponent = N::exponent(x, reading.half);
  const ap_uint<8> e = integer ? run_exponent : own_exponent;
  const ap_int<10> shift = reading.reference + ap_uint<5>(c.range(7, 3)) - e;  // h - 1

  const ap_int<16> own_significand = N::significand(x, reading.half);
  const ap_int<16> significand = integer ? ap_int<16>(x) : own_significand;
  ap_uint<6> index = c.range(2, 0);
  index.range(4, 3) = shift.range(1, 0);
  index[5] = x[15] && !integer;
  const ap_int<20> factor = detail::kReciprocals.of[index];
  const ap_int<36> product = significand * factor;

  // By 3, 11, 19 or 27 places, then by four more; h is 7 at least. What would go farther is less than a half.
  const bool vanishes = ap_uint<5>(shift.range(9, 5)) != 0;
  const ap_int<15> coarse = product >> (8 * ap_uint<2>(shift.range(4, 3)) + 3);
  const ap_int<11> fine = shift[2] ? ap_int<11>(coarse >> 4) : ap_int<11>(coarse);
  return vanishes ? ap_int<11>(0) : fine;
}

// A group's parameters. `code_bits` is N of quantN.
template <class D>
Parameter fit_group(const KeyRange& range, const Reading<D>& reading, const ap_uint<8>& run_exponent,
                    const ap_uint<8>& greatest_exponent, const ap_uint<4>& code_bits) {
  using N = Number<D>;
  const bool integers = has_rotated<D>() && reading.integers;
  const value_t lo = from_order_key(range.lo, integers), hi = from_order_key(range.hi, integers);
  const ap_uint<8> e_lo = N::exponent(lo, reading.half), e_hi = N::exponent(hi, reading.half);
  const ap_uint<8> larger = e_lo > e_hi ? e_lo : e_hi;
  const ap_uint<8> largest = integers ? run_exponent : larger;  // Eg; or Eg - 3, as `greatest_exponent` is E - 3

  // F(lo), F(hi): magnitudes of 16 bits, then with their sign
  const ap_uint<8> lo_distance = larger - e_lo, hi_distance = larger - e_hi;
  const ap_uint<16> m_lo = ap_uint<16>(N::significand(lo, reading.half)) << (16 - N::significand_bits);
  const ap_uint<16> m_hi = ap_uint<16>(N::significand(hi, reading.half)) << (16 - N::significand_bits);
  ap_int<17> f_lo = lo_distance > 15 ? ap_uint<16>(0) : ap_uint<16>(m_lo >> ap_uint<4>(lo_distance));
  ap_int<17> f_hi = hi_distance > 15 ? ap_uint<16>(0) : ap_uint<16>(m_hi >> ap_uint<4>(hi_distance));
  if (lo[15]) f_lo = -f_lo;
  if (hi[15]) f_hi = -f_hi;
  if (integers) {
    f_lo = ap_int<17>(ap_int<16>(lo)) << 2;
    f_hi = ap_int<17>(ap_int<16>(hi)) << 2;
  }
  const ap_uint<17> span = f_hi - f_lo;
  const ap_uint<16> magnitude = f_lo < 0 ? ap_uint<16>(-f_lo) : ap_uint<16>(f_lo);

  // T, shifted up until its leading one is bit 35; n = 35 - up.
  const ap_uint<19> a = code_bits == 8 ? 4112 : code_bits == 4 ? 69905 : code_bits == 3 ? 149796 : 349525;
  const ap_uint<36> by_span = span * a, by_zero = magnitude * ap_uint<14>(8256);
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
  p.z = (half_levels<D>(lo, reading, run_exponent, p.c) + 1) >> 1;
  if (by_span == 0 && by_zero == 0) p.c = 0, p.z = 0;
  return p;
}

// q of a value; of a group with c = 0 all values are zeros, and so are their levels.
template <class D>
ap_uint<8> code_of(const value_t& x, const Reading<D>& reading, const ap_uint<8>& run_exponent, const Parameter& p,
                   const ap_uint<8>& largest_code) {
  const ap_int<9> below = 1 - 2 * p.z;
  const ap_int<11> doubled = half_levels<D>(x, reading, run_exponent, p.c) + below;
  const ap_int<10> above = doubled >> 1;
  const ap_uint<9> beyond = ap_uint<9>(above) & ~ap_uint<9>(largest_code);
  const ap_uint<8> code = beyond != 0 ? largest_code : ap_uint<8>(above) & largest_code;
  return above < 0 ? ap_uint<8>(0) : code;
}

// The exponent field, less c / 8, that a scaled sum of Width bits has if its product has its leading one in the lower one
// of the two highest places.
template <class D, int Width>
ap_int<10> scale_reference(const Plan<D>& plan, bool eightfold) {
  const int bias = D::has_fp16 && plan.half ? Number<D>::half_bias : 0;
  return ap_int<10>(plan.scale_exponent) - (31 + bias) + (eightfold ? 3 : 0) + (Width - 2);
}

// `value`, 7 bits, up by so many nibbles: each nibble of the result is its lower part, its upper part, or zero.
template <int Width>
ap_uint<Width> up_by_nibbles(const ap_uint<7>& value, const ap_uint<bits_for(Width / 4)>& count) {
  ap_uint<4 * (Width / 4 + 1)> result = 0;
nibbles:
  for (int i = 0; i < Width / 4 + 1; ++i) {
#pragma HLS unroll
    const ap_uint<4> lower = value.range(3, 0), upper = value.range(6, 4);
    result.range(4 * i + 3, 4 * i) = count == i ? lower : i != 0 && count == i - 1 ? upper : ap_uint<4>(0);
  }
  return result;
}

// A sum of Width bits of levels z + q, times the group's scale, rounded to nearest even.
//
// The product is shifted up by its second factor, until its leading one is in one of the two places at the top, but no
// further than exponents reach: subnormals keep zeros there, or go down by up to `kDown` places, where nothing is left.
template <class D, int Width>
value_t scaled(const ap_int<Width>& sum, const ap_uint<8>& c, const ap_int<10>& reference, flag_t half) {
  constexpr int kFraction = D::has_fp16 ? 10 : 7;
  constexpr int kDigits = Width - 1;
  constexpr int kDown = 12;  // whatever a value's leading one, it is below half of the last place there
  constexpr int kTop = kDigits + 3 + kDown;      // the upper one of the two places
  constexpr int kLowest = kTop - kFraction;      // of the digits that a value keeps
  const bool fp16 = D::has_fp16 && half;
  const flag_t negative = sum < 0;
  const ap_uint<kDigits> folded = negative ? ap_uint<kDigits>(~sum) : ap_uint<kDigits>(sum);
  ap_uint<kDigits> magnitude = folded + negative;
  const ap_uint<4> zeros = magnitude.countLeadingZeros();

  // The exponent field, if the leading one is in the lower place; and were it at the top of `magnitude`
  const ap_int<10> room = reference + ap_uint<5>(c.range(7, 3));
  const ap_int<10> field = room - zeros;
  const bool subnormal = field < 0;
  const ap_int<10> up = subnormal ? room : ap_int<10>(zeros);
  ap_uint<4> mantissa = c.range(2, 0);
  mantissa[3] = 1;
  if (subnormal && room < -kDown) mantissa = 0;
  const ap_uint<7> shifted = ap_uint<7>(mantissa) << ap_uint<2>(up.range(1, 0));
  const ap_uint<3> nibbles = ap_uint<3>(up.range(4, 2)) + kDown / 4;
  const auto factor = up_by_nibbles<4 + kDown + kDigits>(shifted, nibbles);
  const ap_uint<kTop + 1> product = magnitude * factor;
  const ap_uint<9> reached = subnormal ? ap_uint<9>(0) : ap_uint<9>(field);

  // Where the leading one is in the lower place, all digits are one place lower, but for subnormals.
  const bool lower = !product[kTop] && reached != 0;
  const ap_uint<kFraction + 2> upper_digits = product.range(kTop - 1, kLowest - 2);
  const ap_uint<kFraction + 2> lower_digits = product.range(kTop - 2, kLowest - 3);
  const ap_uint<kFraction + 2> digits = lower ? lower_digits : upper_digits;  // two more than are kept
  const ap_uint<kLowest - 3> rest = product.range(kLowest - 4, 0);
  const flag_t sticky = flag_t(rest != 0) | (product[kLowest - 3] & !lower) | digits[0];
  flag_t round_up = digits[1] & (sticky | digits[2]);
  ap_uint<kFraction> kept = digits.range(kFraction + 1, 2);
  if (D::has_fp16 && !half) {  // bf16 keeps three digits less; a carry passes through them
    round_up = digits[4] & (flag_t(digits.range(3, 1) != 0) | sticky | digits[5]);
    kept = kept | 7;
  }
  const ap_uint<kFraction + 11> carried = (ap_uint<kFraction + 11>(reached) << kFraction) +
      ap_uint<kFraction + 1>((ap_uint<kFraction + 1>(product[kTop]) << kFraction) | kept) + round_up;

  const ap_uint<11> exponent = carried >> kFraction;
  value_t value = fp16 ? carried : carried >> (kFraction - 7);
  if (exponent > (fp16 ? 30 : 254)) value = fp16 ? 0x7BFF : 0x7F7F;
  value[15] = negative;
  return c == 0 || sum == 0 ? value_t(0) : value;
}

}  // namespace speckv
