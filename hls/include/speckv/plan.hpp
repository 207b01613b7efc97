// What a page needs, derived once from its header and handed from process to process.
#pragma once

#include "header.hpp"

namespace speckv {

// Beats of a payload, even of one that would not shrink and is therefore never made.
template <class D>
using payload_count_t = ap_uint<bits_for(D::max_parameter_beats + D::max_page_beats)>;

// Sizes of a page, in the units that the processes count in.
//
// D is the design (rendered as design.hpp). All counts are zero for a page whose header was refused.
template <class D>
struct Plan {
  status_t status;                                            // why the header was refused, or kOk
  flag_t int8;                                                // encoded as int8, else raw
  flag_t values;                                              // kind V, else K
  ap_uint<bits_for(D::max_tokens)> last_token;                // tokens - 1
  ap_uint<bits_for(D::max_blocks)> blocks, last_block;        // beats of one token
  ap_uint<bits_for(D::max_page_beats)> raw_beats;
  ap_uint<bits_for(D::max_groups)> groups;                    // int8 only, else 0
  ap_uint<bits_for(D::max_parameter_beats)> parameter_beats;  // int8 only, else 0
  payload_count_t<D> payload_beats;
};

// Parameter words of 4 bytes that fill one beat.
constexpr int kGroupsPerBeat = kBeatBytes / 4;

// The checks that requests and frames share, in the order of format.md; `plan.status` is the first that fails.
// `crc_ok` is the header's CRC check, which comes third.
template <class D>
Plan<D> plan_of(const beat_t& h, bool crc_ok) {
  using namespace header;
  const auto all_tokens = get<header::tokens>(h);
  const auto channels = get<header::channels>(h);
  const bool fits = all_tokens != 0 && all_tokens <= D::max_tokens && channels != 0 && channels <= D::max_channels &&
                    channels % kLanes == 0 && get<tile_tokens>(h) == D::tile_tokens &&
                    get<group_channels>(h) == D::group_channels;
  Plan<D> plan;
  const ap_uint<bits_for(D::max_tokens)> tokens = all_tokens;  // of a header that is not refused
  plan.blocks = channels / kLanes;
  plan.last_token = tokens - 1;
  plan.last_block = plan.blocks - 1;
  plan.raw_beats = tokens * plan.blocks;
  plan.values = get<kind>(h) == kValues;

  const ap_uint<bits_for(D::max_tiles)> tiles = (tokens + (D::tile_tokens - 1)) / D::tile_tokens;
  const ap_uint<bits_for(D::max_groups)> key_groups = tiles * plan.blocks * kLanes;
  const ap_uint<bits_for(D::max_groups)> value_groups =
      tokens * ((plan.blocks + (D::group_blocks - 1)) / D::group_blocks);
  plan.groups = plan.values ? value_groups : key_groups;

  plan.parameter_beats = (plan.groups + (kGroupsPerBeat - 1)) / kGroupsPerBeat;

  const payload_count_t<D> code_beats = (plan.raw_beats + 1) / 2;
  const payload_count_t<D> int8_beats = plan.parameter_beats + code_beats;
  plan.int8 = get<codec>(h) == kInt8;
  plan.payload_beats = plan.int8 ? int8_beats : payload_count_t<D>(plan.raw_beats);
  if (!plan.int8) plan.groups = plan.parameter_beats = 0;

  plan.status = get<magic>(h) != kMagic                          ? kBadMagic
                : get<version>(h) != kVersion                    ? kBadVersion
                : !crc_ok                                        ? kBadHeaderCrc
                : get<codec>(h) > (D::has_int8 ? kInt8 : kRaw)   ? kBadCodec
                : get<dtype>(h) != kDtypeBf16                    ? kBadDtype
                : get<kind>(h) > kValues                         ? kBadKind
                : !fits || get<raw_bytes>(h) != plan.raw_beats * kBeatBytes ? kBadGeometry
                                                                 : kOk;
  return plan;
}

// A refused page has no beats: every process passes it on in one step.
template <class D>
void refuse(Plan<D>& plan, status_t status) {
  plan.status = status;
  plan.int8 = 0;
  plan.raw_beats = 0;
  plan.groups = plan.parameter_beats = 0;
  plan.payload_beats = 0;
}

}  // namespace speckv
