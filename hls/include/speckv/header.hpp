// The 64-byte header of hls/format.md: where its fields are and what their values mean.
#pragma once

#include "types.hpp"

namespace speckv {
namespace header {

template <int Offset, int Bytes>
struct Field {
  static constexpr int low = 8 * Offset;
  static constexpr int high = 8 * (Offset + Bytes) - 1;
  using type = ap_uint<8 * Bytes>;
};

using magic = Field<0, 4>;
using version = Field<4, 2>;
using codec = Field<6, 1>;
using dtype = Field<7, 1>;
using kind = Field<8, 1>;
using flags = Field<9, 1>;
using status = Field<10, 1>;
using requested_codec = Field<11, 1>;
using tokens = Field<12, 2>;
using channels = Field<14, 2>;
using tile_tokens = Field<16, 2>;
using group_channels = Field<18, 2>;
using raw_bytes = Field<20, 4>;
using payload_bytes = Field<24, 4>;
using payload_crc = Field<28, 4>;
using name_space = Field<32, 8>;
using page_key = Field<40, 8>;
using generation = Field<48, 4>;
using raw_crc = Field<52, 4>;
using scale_exponent = Field<56, 1>;
using table = Field<57, 1>;
using scale_bits = Field<58, 1>;
using reserved = Field<59, 1>;
using header_crc = Field<60, 4>;

template <class F>
typename F::type get(const beat_t& header) {
  return header.range(F::high, F::low);
}

template <class F>
void set(beat_t& header, typename F::type value) {
  header.range(F::high, F::low) = value;
}

}  // namespace header

constexpr unsigned kMagic = 0x46564B53;  // "SKVF", read as a little-endian word
constexpr unsigned kVersion = 3;
constexpr unsigned kDtypeBf16 = 1, kDtypeFp16 = 2;

// A codec is a transform + kPrefixed + kRotated.
enum Transform : unsigned { kRaw = 0, kExponents = 1, kQuant8 = 2, kQuant4 = 3, kQuant3 = 4, kQuant2 = 5, kDelta = 6 };
constexpr int kCodeTables = 8;
using table_t = ap_uint<3>;  // which of them
constexpr unsigned kPrefixed = 16, kRotated = 32;
enum Kind : unsigned { kKeys = 0, kValues = 1 };
enum Flags : unsigned { kNonFinite = 1, kNoShrink = 2 };

enum Status : unsigned {
  kOk = 0,
  kBadMagic = 1,
  kBadVersion = 2,
  kBadHeaderCrc = 3,
  kBadCodec = 4,
  kBadDtype = 5,
  kBadKind = 6,
  kBadGeometry = 7,
  kBadPayloadBytes = 8,
  kTruncated = 9,
  kOverlong = 10,
  kBadKeep = 11,
  kBadPayloadCrc = 12,
  kBadParameter = 13,
  kBadLayout = 14,
};
using status_t = ap_uint<4>;

}  // namespace speckv
