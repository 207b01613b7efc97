// What a kernel is: the host reads it after an empty run, before it trusts the kernel with data.
#pragma once

#include "burst.hpp"
#include "header.hpp"

namespace speckv {

constexpr unsigned kDmaKernel = 0x4B01, kPrefetchKernel = 0x4B02;  // 'K' and a number

// Kernel in the upper half, format version (format.md) in the lower one; and the design's hash.
template <class D, unsigned Kernel>
void identify(bytes_t& kernel_id, offset_t& design_hash) {
  kernel_id = Kernel << 16 | kVersion;
  design_hash = D::hash;
}

}  // namespace speckv
