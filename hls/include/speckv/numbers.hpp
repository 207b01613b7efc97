// bf16 and fp16 as integers: no floating-point unit anywhere.
#pragma once

#include "plan.hpp"

namespace speckv {

// Fields of a value. `half` tells fp16 from bf16; a design without fp16 keeps nothing of it.
//
// |x| = significand * 2^(exponent - 127 - fraction_bits), subnormals included, for both types alike.
template <class D>
struct Number {
  static constexpr int fraction_bits = 10;  // of m(x) of format.md; bf16 has three zeros at the end
  static constexpr int significand_bits = fraction_bits + 1;
  static constexpr int half_bias = 112;                  // added to exponents of fp16
  using significand_t = ap_uint<significand_bits>;

  static ap_uint<8> field(const value_t& x, flag_t half) {
    const ap_uint<8> bf16 = x.range(14, 7), fp16 = x.range(14, 10);
    return D::has_fp16 && half ? fp16 : bf16;
  }

  // The exponent of all that are not finite.
  static ap_uint<8> beyond(flag_t half) { return D::has_fp16 && half ? ap_uint<8>(31 + half_bias) : ap_uint<8>(255); }

  static ap_uint<8> exponent(const value_t& x, flag_t half) {
    ap_uint<8> e = x.range(14, 7);
    if (D::has_fp16 && half) {
      e = x.range(13, 10);
      e.range(7, 4) = x[14] ? 8 : 7;  // half_bias without an adder
    }
    e[0] = e[0] | flag_t(field(x, half) == 0);
    return e;
  }

  static significand_t significand(const value_t& x, flag_t half) {
    significand_t m = ap_uint<10>(ap_uint<10>(ap_uint<7>(x.range(6, 0))) << 3);
    if (D::has_fp16 && half) m = ap_uint<10>(x.range(9, 0));
    m[fraction_bits] = field(x, half) != 0;
    return m;
  }
};

// Keys order like the values do: sign-magnitude numbers with -0 below +0, or integers in two's complement.
inline value_t order_key(const value_t& x, flag_t integer) {
  value_t key = x[15] && !integer ? value_t(~x) : x;
  key[15] = !x[15];
  return key;
}

inline value_t from_order_key(const value_t& key, flag_t integer) {
  value_t x = key[15] || integer ? key : value_t(~key);
  x[15] = !key[15];
  return x;
}

}  // namespace speckv
