// CRC-32C (Castagnoli, reflected) of whole beats, one beat per cycle.
//
// A CRC is linear over GF(2): the register after a beat is L(beat xor register), with the register added to
// the beat's first 32 bits. Each of its bits is therefore the parity of a fixed selection of bits. The selections
// are computed by the compiler below; hardware sees 32 parity trees and no chain of 512 steps.
//
// Half of all bits are in each selection. So the beat is first reduced to its last 209 bits by a multiple of the
// polynomial that has six terms only: one LUT for each bit, and far smaller trees.
#pragma once

#include "types.hpp"

namespace speckv {

constexpr unsigned kCrcPolynomial = 0x82F63B78;  // 0x1EDC6F41 reflected
constexpr unsigned kCrcStart = 0xFFFFFFFF;

using crc_t = ap_uint<32>;

namespace detail {

// select[j][w]: which bits of the beat's 64-bit word w enter bit j of the register.
struct CrcSelection {
  unsigned long long select[32][8];

  constexpr CrcSelection() : select() {
    unsigned column = kCrcPolynomial;  // what the beat's last bit adds; each earlier bit is one step further on
    for (int bit = 511; bit >= 0; --bit) {
      for (int j = 0; j < 32; ++j)
        if ((column >> j) & 1) select[j][bit / 64] |= 1ull << (bit % 64);
      column = (column >> 1) ^ ((column & 1) ? kCrcPolynomial : 0);
    }
  }
};
constexpr CrcSelection kCrcSelection;

}  // namespace detail

// A multiple of the polynomial: x^209 + x^144 + x^54 + x^39 + x^14 + 1.
constexpr int kSparseDegree = 209;
constexpr int kSparseTerms[] = {144, 54, 39, 14, 0};

namespace detail {

constexpr unsigned power_of_x(int exponent) {  // modulo the polynomial; bit 31 is x^0
  unsigned power = 1u << 31;
  for (int i = 0; i < exponent; ++i) power = (power >> 1) ^ ((power & 1) ? kCrcPolynomial : 0);
  return power;
}
constexpr unsigned sum_of_sparse_terms() {
  unsigned sum = 0;
  for (int term : kSparseTerms) sum ^= power_of_x(term);
  return sum;
}
static_assert(power_of_x(kSparseDegree) == sum_of_sparse_terms(), "a multiple of the polynomial is 0 modulo it");

}  // namespace detail

// The last 209 bits of a beat, at their places, that have the same CRC as all of it. Bit i is what x^(511 - i) is
// multiplied by; with its turn each of the others is added to five bits behind it.
inline beat_t crc_reduced(const beat_t& beat) {
  constexpr int kBits = 8 * kBeatBytes;
  constexpr int kReduced = kBits - kSparseDegree;  // bits that have their turn
  constexpr int kTerms = sizeof kSparseTerms / sizeof *kSparseTerms;
  flag_t sums[kBits];
#pragma HLS array_partition variable=sums complete
reduced_bits:
  for (int i = 0; i < kBits; ++i) {
#pragma HLS unroll
    ap_uint<kTerms + 1> terms = 0;
    terms[kTerms] = beat[i];
  reduced_terms:
    for (int t = 0; t < kTerms; ++t) {
#pragma HLS unroll
      const int from = i - (kSparseDegree - kSparseTerms[t]);
      if (from >= 0 && from < kReduced) terms[t] = sums[from];
    }
    sums[i] = terms.xor_reduce();
  }
  beat_t reduced = 0;
reduced_words:
  for (int w = kReduced / 32; w < kBits / 32; ++w) {
#pragma HLS unroll
    ap_uint<32> word = 0;
  word_bits:
    for (int b = 0; b < 32; ++b) {
#pragma HLS unroll
      if (32 * w + b >= kReduced) word[b] = sums[32 * w + b];
    }
    reduced.range(32 * w + 31, 32 * w) = word;
  }
  return reduced;
}

// What one beat adds to the register.
inline crc_t crc_of_beat(const beat_t& beat) {
  const beat_t reduced = crc_reduced(beat);
  crc_t crc = 0;
crc_bits:
  for (int j = 0; j < 32; ++j) {
#pragma HLS unroll
    beat_t chosen = 0;
  crc_words:
    for (int w = 0; w < 8; ++w) {
#pragma HLS unroll
      chosen.range(64 * w + 63, 64 * w) =
          reduced.range(64 * w + 63, 64 * w) & ap_uint<64>(detail::kCrcSelection.select[j][w]);
    }
    crc[j] = chosen.xor_reduce();
  }
  return crc;
}

// What one 32-bit word of a beat adds to the register.
template <int Word>
crc_t crc_of_word(const crc_t& word) {
  crc_t crc = 0;
crc_word:
  for (int j = 0; j < 32; ++j) {
#pragma HLS unroll
    crc[j] = (word & crc_t((unsigned)(detail::kCrcSelection.select[j][Word / 2] >> (32 * (Word % 2))))).xor_reduce();
  }
  return crc;
}

// What the register before a beat adds to the register after it: the only part that must take one cycle.
inline crc_t crc_of_register(const crc_t& before) { return crc_of_word<0>(before); }

inline crc_t crc_next(const crc_t& before, const beat_t& beat) { return crc_of_register(before) ^ crc_of_beat(beat); }

// The CRC of a header is over its first 60 bytes. Feeding zeros for the last four would run the register 32 steps too
// far, so the header is shifted up by four bytes instead: leading zero bytes leave a register of zero as it is, and the
// start value is added to the first four bytes that count. The CRC is the complement of what this beat adds.
inline beat_t header_for_crc(const beat_t& header) {
  beat_t shifted = 0;
  shifted.range(511, 32) = header.range(479, 0);
  shifted.range(63, 32) = shifted.range(63, 32) ^ crc_t(kCrcStart);
  return shifted;
}

// What one 32-bit word of a header adds.
template <class Field>
crc_t crc_of_header_word(const crc_t& word) { return crc_of_word<Field::low / 32 + 1>(word); }

namespace detail {

// What the register becomes over bytes that end with their own CRC: all ones, and 32 steps of zeros.
constexpr unsigned residue() {
  unsigned crc = kCrcStart;
  for (int bit = 0; bit < 32; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kCrcPolynomial : 0);
  return crc;
}

}  // namespace detail

constexpr unsigned kCrcResidue = detail::residue();

}  // namespace speckv
