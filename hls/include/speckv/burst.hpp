// Bursts of a memory, as hlsc_burst.h reads and writes them.
#pragma once

#include "types.hpp"
// behind it, as it sets how wide integers may be
#include "hlsc_burst.h"

namespace speckv {

using offset_t = ap_uint<64>;
using bytes_t = ap_uint<32>;
using burst_status_t = ap_uint<2>;
using command_stream = hls::stream<hlsc::burst>;
using status_stream = hls::stream<burst_status_t>;

inline hlsc::burst burst_of(const offset_t& offset, const bytes_t& bytes, bool last = false) {
  hlsc::burst command;
  command.offset = offset;
  command.bytes = bytes;
  command.last = last;
  return command;
}

}  // namespace speckv
