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

// Fraction bits of a scale: P of format.md.
template <class D>
constexpr int scale_fraction() { return D::scale_bits - 5; }

template <class D>
using scale_t = ap_uint<D::scale_bits>;
template <class D>
using parameter_t = ap_uint<2 * D::scale_bits>;

// A group's stored parameters.
template <class D>
struct Parameter {
  static constexpr int bits = D::scale_bits;
  scale_t<D> c;    // scale
  ap_int<bits> z;  // zero

  Parameter() {}
  explicit Parameter(const parameter_t<D>& both)
      : c(both.range(bits - 1, 0)), z(ap_uint<bits>(both.range(2 * bits - 1, bits))) {}
  parameter_t<D> packed() const {
    parameter_t<D> both;
    both.range(bits - 1, 0) = c;
    both.range(2 * bits - 1, bits) = ap_uint<bits>(z);
    return both;
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

// R for M = 2048 ... 4095, of scales of 16 bits.
struct FineReciprocals {
  int of[2048];
  constexpr FineReciprocals() : of() {
    for (int i = 0; i < 2048; ++i) of[i] = (int)(((1u << 31) / (2048 + i) + 1) / 2);
  }
};
constexpr FineReciprocals kFineReciprocals;

}  // namespace detail

constexpr int kReciprocalBits = 20;

template <class D>
constexpr int slot_bits() { return 2 * D::scale_bits + (fine_scales<D>() ? kReciprocalBits : 0); }
template <class D>
using slot_t = ap_uint<slot_bits<D>()>;

// A group as the encoder keeps it: of scales of 16 bits R stays beside the parameters, for its table is too large to have
// one in every lane.
template <class D>
struct Group {
  Parameter<D> parameter;
  ap_uint<kReciprocalBits> reciprocal;

  Group() {}
  explicit Group(const slot_t<D>& slot) : parameter(parameter_t<D>(slot)), reciprocal(slot >> (2 * D::scale_bits)) {}
  slot_t<D> packed() const {
    slot_t<D> slot = reciprocal;
    slot <<= 2 * D::scale_bits;
    return slot | parameter.packed();
  }
};

// A row of one slot per lane: a beat of slots with scales of 8 bits, two with those of 16.
template <class D, int Bits>
ap_uint<Bits * kLanes / groups_per_beat<D>()> joined(const ap_uint<Bits>& lower, const ap_uint<Bits>& upper) {
  ap_uint<Bits * kLanes / groups_per_beat<D>()> row = lower;
  if (fine_scales<D>()) row |= ap_uint<2 * Bits>(upper) << Bits;
  return row;
}

// How a page's values are to be read, and what its exponents are relative to.
template <class D>
struct Reading {
  flag_t half;           // as fp16, else as bf16
  flag_t integers;       // rotated: as integers of their run
  ap_int<10> reference;  // E - 7; E - 3 with scales of 16 bits

  Reading() {}
  // `greatest_exponent` is what a header has: E, or E - 3 if rotated.
  Reading(const Plan<D>& plan, const ap_uint<8>& greatest_exponent)
      : half(plan.half), integers(plan.rotated),
        reference(ap_int<10>(greatest_exponent) + (plan.rotated ? 3 : 0) - (fine_scales<D>() ? 3 : 7)) {}
};

// Twice v(x) of format.md for a value of a group, before rounding, its lower Width bits: (half_levels + 1) / 2 is v(x).
// The run's exponent is that of all values that are integers.
template <class D, int Width>
ap_int<Width> half_levels(const value_t& x, const Reading<D>& reading, const ap_uint<8>& run_exponent,
                          const Group<D>& group) {
  using N = Number<D>;
  const bool integer = has_rotated<D>() && reading.integers;
  const ap_uint<8> own_exponent = N::exponent(x, reading.half);
  const ap_uint<8> e = integer ? run_exponent : own_exponent;
  const scale_t<D> c = group.parameter.c;
  const ap_uint<5> scale_exponent = c.range(D::scale_bits - 1, scale_fraction<D>());
  const ap_int<10> shift = reading.reference + scale_exponent - e;  // h - 1

  ap_int<16> own_significand = N::significand(x, reading.half);
  if (fine_scales<D>() && x[15]) own_significand = -own_significand;  // else the table has the sign
  const ap_int<16> significand = integer ? ap_int<16>(x) : own_significand;
  ap_uint<6> index = c.range(2, 0);
  index.range(4, 3) = shift.range(1, 0);
  index[5] = x[15] && !integer;
  ap_int<fine_scales<D>() ? 24 : 20> factor = detail::kReciprocals.of[index];
  if (fine_scales<D>()) factor = ap_uint<kReciprocalBits + 3>(group.reciprocal) << ap_uint<2>(~shift.range(1, 0));
  const ap_int<fine_scales<D>() ? 40 : 36> product = significand * factor;

  // By 3, 11, 19, ... places, then by four more; h is 7 (4) at least. What would go farther is less than a half.
  constexpr int kShiftBits = fine_scales<D>() ? 6 : 5;
  const bool vanishes = ap_uint<10 - kShiftBits>(shift.range(9, kShiftBits)) != 0;
  const ap_int<Width + 4> coarse = product >> (8 * ap_uint<kShiftBits - 3>(shift.range(kShiftBits - 1, 3)) + 3);
  const ap_int<Width> fine = shift[2] ? ap_int<Width>(coarse >> 4) : ap_int<Width>(coarse);
  return vanishes ? ap_int<Width>(0) : fine;
}

// A group's parameters. `code_bits` is N of quantN.
template <class D>
Group<D> fit_group(const KeyRange& range, const Reading<D>& reading, const ap_uint<8>& run_exponent,
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
  const ap_uint<36> by_span = span * a, by_zero = magnitude * ap_uint<14>(fine_scales<D>() ? 33 : 8256);
  ap_uint<36> t = by_span > by_zero ? by_span : by_zero;
  const ap_uint<6> up = t.countLeadingZeros();
  t <<= up;
  constexpr int P = scale_fraction<D>(), B = D::scale_bits;
  const flag_t inexact = ap_uint<35 - P>(t) != 0;
  const ap_uint<P + 2> mantissa = ap_uint<P + 1>(t.range(35, 35 - P)) + inexact;  // M
  const ap_int<10> exponent = ap_int<10>(largest - greatest_exponent) + (31 - up) + mantissa[P + 1];  // S - E + 31

  Group<D> group;
  Parameter<D>& p = group.parameter;
  p.c.range(B - 1, P) = ap_uint<5>(exponent);
  p.c.range(P - 1, 0) = mantissa.range(P - 1, 0);
  if (exponent < 0 || p.c == 0) p.c = 1;
  group.reciprocal = fine_scales<D>() ? detail::kFineReciprocals.of[ap_uint<P>(p.c)] : 0;
  p.z = (half_levels<D, B + 3>(lo, reading, run_exponent, group) + 1) >> 1;
  if (by_span == 0 && by_zero == 0) p.c = 0, p.z = 0;
  return group;
}

// q of a value; of a group with c = 0 all values are zeros, and so are their levels. No level is 512 or more above z, so
// that these bits suffice, however long levels are.
template <class D>
ap_uint<8> code_of(const value_t& x, const Reading<D>& reading, const ap_uint<8>& run_exponent, const Group<D>& group,
                   const ap_uint<8>& largest_code) {
  const ap_int<D::scale_bits + 1> below = 1 - 2 * group.parameter.z;
  const ap_int<11> doubled = half_levels<D, 11>(x, reading, run_exponent, group) + below;
  const ap_int<10> above = doubled >> 1;
  const ap_uint<9> beyond = ap_uint<9>(above) & ~ap_uint<9>(largest_code);
  const ap_uint<8> code = beyond != 0 ? largest_code : ap_uint<8>(above) & largest_code;
  return above < 0 ? ap_uint<8>(0) : code;
}

// The exponent field, less the exponent in c, that a scaled sum of Width bits has if its product has its leading one in
// the lower one of the two highest places.
template <class D, int Width>
ap_int<10> scale_reference(const Plan<D>& plan, bool eightfold) {
  const int bias = D::has_fp16 && plan.half ? Number<D>::half_bias : 0;
  return ap_int<10>(plan.scale_exponent) - (31 + bias) + (eightfold ? 3 : 0) + (Width - 2);
}

// `value` up by so many nibbles: each nibble of the result is one of its own, or zero.
template <int Width, int Bits>
ap_uint<Width> up_by_nibbles(const ap_uint<Bits>& value, const ap_uint<bits_for(Width / 4)>& count) {
  ap_uint<4 * (Width / 4 + 1)> result = 0;
nibbles:
  for (int i = 0; i < Width / 4 + 1; ++i) {
#pragma HLS unroll
    ap_uint<4> nibble = 0;
  own_nibbles:
    for (int own = (Bits - 1) / 4; own >= 0; --own) {
#pragma HLS unroll
      if (own <= i && count == i - own) nibble = value >> (4 * own);
    }
    result.range(4 * i + 3, 4 * i) = nibble;
  }
  return result;
}

// A sum of Width bits of levels z + q, times the group's scale, rounded to nearest even.
//
// The product is shifted up by its second factor, until its leading one is in one of the two places at the top, but no
// further than exponents reach: subnormals keep zeros there, or go down by up to `kDown` places, where nothing is left.
template <class D, int Width>
value_t scaled(const ap_int<Width>& sum, const scale_t<D>& c, const ap_int<10>& reference, flag_t half) {
  constexpr int kFraction = D::has_fp16 ? 10 : 7;
  constexpr int kDigits = Width - 1;
  constexpr int kDown = 12;  // whatever a value's leading one, it is below half of the last place there
  constexpr int P = scale_fraction<D>();
  constexpr int kTop = kDigits + P + kDown;      // the upper one of the two places
  constexpr int kLowest = kTop - kFraction;      // of the digits that a value keeps
  const bool fp16 = D::has_fp16 && half;
  const flag_t negative = sum < 0;
  const ap_uint<kDigits> folded = negative ? ap_uint<kDigits>(~sum) : ap_uint<kDigits>(sum);
  ap_uint<kDigits> magnitude = folded + negative;
  const ap_uint<bits_for(kDigits)> zeros = magnitude.countLeadingZeros();

  // The exponent field, if the leading one is in the lower place; and were it at the top of `magnitude`
  const ap_int<10> room = reference + ap_uint<5>(c.range(D::scale_bits - 1, P));
  const ap_int<10> field = room - zeros;
  const bool subnormal = field < 0;
  const ap_int<10> up = subnormal ? room : ap_int<10>(zeros);
  ap_uint<P + 1> mantissa = c.range(P - 1, 0);
  mantissa[P] = 1;
  if (subnormal && room < -kDown) mantissa = 0;
  const ap_uint<P + 4> shifted = ap_uint<P + 4>(mantissa) << ap_uint<2>(up.range(1, 0));
  constexpr int kNibbleBits = bits_for((kDigits + kDown) / 4);
  const ap_uint<kNibbleBits> nibbles = ap_uint<kNibbleBits>(up.range(kNibbleBits + 1, 2)) + kDown / 4;
  const auto factor = up_by_nibbles<P + 1 + kDown + kDigits>(shifted, nibbles);
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
