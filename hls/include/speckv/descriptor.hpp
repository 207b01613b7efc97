// Descriptors and completions of hls/dma.md: where their fields are and what their values mean.
#pragma once

#include "header.hpp"

namespace speckv {
namespace descriptor {

using header::Field;
using op = Field<0, 1>;
using codec = Field<1, 1>;
using kind = Field<2, 1>;
using dtype = Field<3, 1>;
using flags = Field<4, 2>;
using segments = Field<6, 2>;
using near = Field<8, 8>;
using far = Field<16, 8>;
using raw_bytes = Field<24, 4>;
using frame_bytes = Field<28, 4>;
using tokens = Field<32, 2>;
using channels = Field<34, 2>;
using generation = Field<36, 4>;
using namespace_id = Field<40, 8>;
using page_key = Field<48, 8>;
using cookie = Field<56, 8>;

// Of a job: where the length of its list was, which `parse` alone needs.
using channel = segments;

}  // namespace descriptor

namespace completion {

using header::Field;
using cookie = Field<0, 8>;
using status = Field<8, 1>;
using engine_status = Field<9, 1>;
using codec = Field<10, 1>;
using flags = Field<11, 1>;
using frame_bytes = Field<12, 4>;
using payload_crc = Field<16, 4>;
using raw_crc = Field<20, 4>;
using channel = Field<24, 1>;

}  // namespace completion

enum DmaOp : unsigned { kOffload = 1, kFetch = 2, kCopy = 3, kScrub = 4 };
constexpr unsigned kToFar = 1;  // flag of a copy
constexpr unsigned kMaxSegments = 64;
constexpr int kSegmentBits = 128;

enum DmaStatus : unsigned {
  kDmaOk = 0,
  kBadOp = 1,
  kMisaligned = 2,
  kOutOfRange = 3,
  kTooSmall = 4,
  kHeaderMismatch = 5,
  kEngine = 6,
  kReadError = 7,
  kWriteError = 8,
};
using dma_status_t = ap_uint<4>;

}  // namespace speckv
