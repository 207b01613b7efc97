// bf16 as integers: no floating-point unit anywhere.
#pragma once

#include "types.hpp"

namespace speckv {

inline ap_uint<8> exponent_field(const value_t& x) { return x.range(14, 7); }

inline bool is_finite(const value_t& x) { return exponent_field(x) != 255; }

// |x| = significand * 2^(exponent - 134), subnormals included.
inline ap_uint<8> exponent_of(const value_t& x) {
  const ap_uint<8> field = exponent_field(x);
  return field == 0 ? ap_uint<8>(1) : field;
}

inline ap_uint<8> significand_of(const value_t& x) {
  ap_uint<8> significand = x.range(6, 0);
  significand[7] = exponent_field(x) != 0;
  return significand;
}

// Keys order like the values do, as sign-magnitude numbers with -0 below +0.
inline value_t order_key(const value_t& x) { return x[15] ? value_t(~x) : value_t(x | 0x8000); }

inline value_t from_order_key(const value_t& key) { return key[15] ? value_t(key & 0x7FFF) : value_t(~key); }

}  // namespace speckv
