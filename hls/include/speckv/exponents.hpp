// Codecs `planes` and `lossless`: exponents below their channel's greatest; hls/format.md states every step.
#pragma once

#include "numbers.hpp"
#include "quantise.hpp"

namespace speckv {

using width_t = ap_uint<4>;
using tile_word_t = ap_uint<32>;  // of a tile: its width; or, if its symbols are coded, the mask of its wide lanes
using gaps_t = ap_uint<9>;

// What is measured of a channel: keys of magnitudes order like exponents. The least one has its highest bit as well if
// all exponents are 0, so that zeros do not count.
inline KeyRange exponent_keys(const value_t& value, flag_t zero) {
  KeyRange keys;
  keys.lo = keys.hi = value;
  keys.lo[15] = zero;
  keys.hi[15] = 0;
  return keys;
}

template <class D>
ap_uint<8> base_of(const KeyRange& magnitudes, flag_t half) { return Number<D>::field(magnitudes.hi, half); }

// What a channel asks of its tile's width: nothing if all its exponents are the base, else the greatest symbol below
// all ones, plus one. `zero` tells of an exponent of 0.
template <class D>
gaps_t gap_of(const KeyRange& magnitudes, flag_t half, flag_t zero) {
  const ap_uint<8> base = base_of<D>(magnitudes, half);
  const ap_uint<8> gap = base - Number<D>::field(magnitudes.lo, half);
  const bool flat = magnitudes.lo[15] || (gap == 0 && !zero);
  return flat ? gaps_t(0) : gaps_t(gap + 1);
}

// Whether a channel asks for more than the 4 bits of a symbol that is coded.
inline flag_t is_wide(const gaps_t& gap) { return ap_uint<5>(gap >> 4) != 0; }

// The least width for what the channels of a tile ask, united by OR: it has the highest bit of the greatest.
inline width_t width_of(gaps_t gaps) { return 9 - gaps.countLeadingZeros(); }

// A value's symbol. `ones` is all ones of its width.
template <class D>
ap_uint<8> exponent_symbol(const value_t& x, flag_t half, const ap_uint<8>& base, const ap_uint<8>& ones) {
  const ap_uint<8> field = Number<D>::field(x, half);
  return field == 0 && base != 0 ? ones : ap_uint<8>(base - field);
}

// A value's number: its fraction and sign, and above them its symbol.
template <class D>
value_t exponent_number(const value_t& x, flag_t half, const ap_uint<8>& symbol) {
  value_t number = ap_uint<7>(x.range(6, 0));
  number[7] = x[15];
  number.range(15, 8) = symbol;
  if (D::has_fp16 && half) {
    number.range(9, 0) = x.range(9, 0);
    number[10] = x[15];
    number.range(15, 11) = ap_uint<5>(symbol);
  }
  return number;
}

// The symbol in a number.
template <class D>
ap_uint<8> symbol_of(const value_t& number, flag_t half) {
  ap_uint<8> symbol = number.range(15, 8);
  if (D::has_fp16 && half) symbol = number.range(15, 11);
  return symbol;
}

// The value of a number and its symbol, and whether that is one that its base allows.
struct FromNumber {
  value_t value;
  flag_t valid;
};

template <class D>
FromNumber exponent_value(const value_t& number, const ap_uint<8>& stored_symbol, flag_t half,
                          const ap_uint<8>& stored_base, const ap_uint<8>& ones) {
  const bool fp16 = D::has_fp16 && half;
  const ap_uint<8> base = fp16 ? ap_uint<8>(stored_base.range(4, 0)) : stored_base;
  const ap_uint<8> symbol = stored_symbol & ones;
  const bool all_ones = symbol == ones && ones != 0;
  const ap_uint<8> field = base == 0 || all_ones ? ap_uint<8>(0) : ap_uint<8>(base - symbol);
  FromNumber out;
  out.value = ap_uint<7>(number.range(6, 0));
  out.value.range(14, 7) = field;
  out.value[15] = number[7];
  if (fp16) {
    out.value.range(9, 0) = number.range(9, 0);
    out.value.range(14, 10) = ap_uint<5>(field);
    out.value[15] = number[10];
  }
  out.valid = (all_ones || symbol <= base) && base == stored_base;
  return out;
}

// All ones of a width, and of a lane of a tile.
inline ap_uint<8> ones_of(const width_t& width) { return ~(ap_uint<8>(255) << width); }
inline ap_uint<8> ones_of(const tile_word_t& tile, bool coded, int lane) {
  const ap_uint<8> of_coded = tile[lane] ? 0xFF : 0x0F;
  return coded ? of_coded : ones_of(width_t(tile));
}

}  // namespace speckv
