// The arithmetic of codec `int8`, value by value; hls/format.md states every step.
#pragma once

#include "bf16.hpp"

namespace speckv {

// Least and greatest value of a group, as order keys.
struct KeyRange {
  value_t lo, hi;
};

// A value on its group's 16-bit grid: units of 2^(E - 142), E the group's largest exponent.
using grid_t = ap_int<17>;

inline grid_t on_grid(const value_t& x, const ap_uint<8>& largest_exponent) {
  const ap_uint<8> distance = largest_exponent - exponent_of(x);
  ap_uint<16> magnitude = 0;
  magnitude.range(15, 8) = significand_of(x);
  magnitude = distance > 15 ? ap_uint<16>(0) : ap_uint<16>(magnitude >> ap_uint<4>(distance));
  const grid_t positive = magnitude;
  return x[15] ? grid_t(-positive) : positive;
}

// What a lane needs to quantise: everything about its group but the stored scale.
struct Quantizer {
  ap_uint<8> exponent;      // E
  grid_t lo;                // F(lo)
  ap_uint<16> reciprocal;   // R; 0 for a constant group, whose codes are 0
  ap_uint<5> shift;         // h
};
constexpr int kQuantizerBits = 46;

// A group's stored parameters and the quantiser that goes with them.
struct Fit {
  value_t lo, scale;
  Quantizer quantizer;
};

namespace detail {

struct Reciprocals {  // R of format.md for M = 128 ... 255
  unsigned short of[128];
  constexpr Reciprocals() : of() {
    for (int i = 0; i < 128; ++i) of[i] = (unsigned short)(((1u << 23) / (128 + i) + 1) / 2);
  }
};
constexpr Reciprocals kReciprocals;

}  // namespace detail

inline Fit fit_group(const KeyRange& range) {
  Fit fit;
  fit.lo = from_order_key(range.lo);
  const value_t hi = from_order_key(range.hi);
  const ap_uint<8> e_lo = exponent_of(fit.lo), e_hi = exponent_of(hi);
  const ap_uint<8> largest = e_lo > e_hi ? e_lo : e_hi;
  fit.quantizer.exponent = largest;
  fit.quantizer.lo = on_grid(fit.lo, largest);
  const ap_uint<17> span = on_grid(hi, largest) - fit.quantizer.lo;  // D

  // T = 257 D, shifted up until its leading one is bit 25; n = 25 - up.
  ap_uint<26> t = span * ap_uint<9>(257);
  const ap_uint<5> up = t.countLeadingZeros();
  t <<= up;
  ap_uint<9> mantissa = ap_uint<8>(t >> 18) + ap_uint<1>(1);  // M
  ap_int<10> exponent = ap_int<10>(largest) - 6 - up;         // s = E + n - 31
  if (mantissa == 256) {
    mantissa = 128;
    exponent += 1;
  }
  if (exponent < 1) {
    mantissa = 128;
    exponent = 1;
  }
  fit.scale.range(15, 7) = ap_uint<9>(exponent);
  fit.scale.range(6, 0) = mantissa.range(6, 0);
  fit.quantizer.reciprocal = detail::kReciprocals.of[ap_uint<7>(mantissa)];
  fit.quantizer.shift = ap_int<10>(30 + exponent - ap_int<10>(largest));
  if (span == 0) {  // a constant group: scale 0, all codes 0
    fit.scale = 0;
    fit.quantizer.reciprocal = 0;
    fit.quantizer.shift = 1;  // any but 0, which would round up
  }
  return fit;
}

inline ap_uint<kQuantizerBits> packed(const Quantizer& q) {
  ap_uint<kQuantizerBits> bits;
  bits.range(7, 0) = q.exponent;
  bits.range(24, 8) = ap_uint<17>(q.lo);
  bits.range(40, 25) = q.reciprocal;
  bits.range(45, 41) = q.shift;
  return bits;
}

inline Quantizer unpacked(const ap_uint<kQuantizerBits>& bits) {
  Quantizer q;
  q.exponent = bits.range(7, 0);
  q.lo = ap_uint<17>(bits.range(24, 8));
  q.reciprocal = bits.range(40, 25);
  q.shift = bits.range(45, 41);
  return q;
}

inline ap_uint<8> quantize_value(const value_t& x, const Quantizer& q) {
  const ap_uint<17> above = on_grid(x, q.exponent) - q.lo;
  const ap_uint<33> product = above * q.reciprocal;
  const ap_uint<34> rounded = product + (ap_uint<34>(1) << ap_uint<5>(q.shift - 1));
  const ap_uint<34> code = rounded >> q.shift;
  return code > 255 ? ap_uint<8>(255) : ap_uint<8>(code);
}

// A group's parameters are valid if an encoder can have written them.
inline bool valid_parameters(const value_t& lo, const value_t& scale) {
  const ap_int<10> gap = ap_int<10>(exponent_of(lo)) - ap_int<10>(exponent_field(scale));
  const bool positive_normal = !scale[15] && is_finite(scale) && exponent_field(scale) != 0;
  return is_finite(lo) && (scale == 0 || (positive_normal && gap <= 16));
}

// lo + code * scale, rounded to nearest even, for valid parameters.
//
// The sum is formed in units of the scale's last place with kGuard bits below it. A `lo` that reaches below those
// leaves a sticky one: it is then smaller than an eighth of the least product, so the sum rounds as the exact one.
inline value_t dequantize_value(const ap_uint<8>& code, const value_t& lo, const value_t& scale) {
  constexpr int kGuard = 10;
  constexpr int kGap = 16;                   // largest e(lo) - e(scale) of valid parameters
  constexpr int kWidth = 8 + kGap + kGuard;  // bits of the shifted significand of lo
  const ap_uint<8> e_scale = exponent_field(scale);
  const ap_uint<8> m_scale = significand_of(scale), m_lo = significand_of(lo);

  const ap_int<10> gap = ap_int<10>(exponent_of(lo)) - ap_int<10>(e_scale);
  const ap_int<10> drop = kGap - gap;  // places to shift down from the largest gap
  const ap_uint<6> down = drop > kWidth ? ap_uint<6>(kWidth) : ap_uint<6>(drop);
  ap_uint<kWidth> aligned = ap_uint<kWidth>(m_lo) << (kGap + kGuard);
  aligned >>= down;
  const ap_uint<4> lost = down > kGap + kGuard ? ap_uint<4>(down - (kGap + kGuard)) : ap_uint<4>(0);
  const ap_uint<8> rest = m_lo & ap_uint<8>(~(ap_uint<8>(0xFF) << lost));
  aligned[0] = aligned[0] | flag_t(rest != 0);

  const ap_uint<16> product = code * m_scale;
  const ap_int<kWidth + 2> above = ap_int<kWidth + 2>(product) << kGuard;
  const ap_int<kWidth + 2> below = aligned;
  const ap_int<kWidth + 2> sum = lo[15] ? ap_int<kWidth + 2>(above - below) : ap_int<kWidth + 2>(above + below);
  const bool negative = sum < 0;
  ap_uint<kWidth + 1> magnitude = negative ? ap_uint<kWidth + 1>(-sum) : ap_uint<kWidth + 1>(sum);

  // Shift up until the leading one is at the top, but no further than the exponent reaches: subnormals keep zeros.
  const ap_uint<6> room = e_scale > 19 ? ap_uint<6>(35) : ap_uint<6>(e_scale + 16);
  const ap_uint<6> zeros = magnitude.countLeadingZeros();
  const ap_uint<6> up = zeros < room ? zeros : room;
  magnitude <<= up;
  const ap_uint<8> kept = magnitude.range(34, 27);
  const ap_uint<27> dropped = magnitude.range(26, 0);
  const flag_t round_up = dropped[26] & (flag_t(ap_uint<26>(dropped) != 0) | kept[0]);
  ap_uint<17> bits = ap_uint<17>(ap_uint<10>(e_scale + 16 - up)) << 7;
  bits = bits + kept + round_up;
  if (bits > 0x7F7F) bits = 0x7F7F;
  value_t result = bits;
  result[15] = negative;
  if (sum == 0) result = 0;
  if (scale == 0) result = (lo & 0x7FFF) == 0 ? value_t(0) : lo;
  return code == 0 ? lo : result;
}

}  // namespace speckv
