// Where in its page a beat is. Pages arrive token by token; groups run along the blocks of a token or down the tokens
// of a tile (`Plan::by_token`).
#pragma once

#include "plan.hpp"

namespace speckv {

template <class D>
struct Cursor {
  ap_uint<bits_for(D::max_blocks)> block = 0;          // beat within the token
  ap_uint<bits_for(D::group_blocks)> group_block = 0;  // beat within a group along the token
  ap_uint<bits_for(D::max_tokens)> token = 0;
  ap_uint<bits_for(D::tile_tokens)> tile_token = 0;    // token within the tile
  ap_uint<bits_for(D::max_groups)> group = 0;          // along tokens: groups before this one
  ap_uint<bits_for(D::max_rows)> tile_row = 0;         // down tiles: rows of one group per lane before this tile

  bool token_ends(const Plan<D>& plan) const { return block == plan.last_block; }
  bool group_ends(const Plan<D>& plan) const { return group_block == D::group_blocks - 1 || token_ends(plan); }
  bool tile_ends(const Plan<D>& plan) const {  // in this token
    return tile_token == D::tile_tokens - 1 || token == plan.last_token;
  }

  bool in_whole_group(const Plan<D>& plan) const { return group_block != 0 || !token_ends(plan); }  // of two blocks

  // The row that holds the beat's groups, one group per lane, and the lane of a group along the token.
  ap_uint<bits_for(D::max_rows)> row(const Plan<D>& plan) const {
    if (plan.by_token()) return group / kLanes;
    return tile_row + block;
  }
  ap_uint<5> row_lane() const { return group; }

  void advance(const Plan<D>& plan) {
    const bool new_token = token_ends(plan), new_group = group_ends(plan), new_tile = tile_ends(plan);
    block += 1;
    group_block += 1;
    if (new_group) {
      group += 1;
      group_block = 0;
    }
    if (new_token) {
      block = 0;
      token += 1;
      tile_token += 1;
      if (new_tile) {
        tile_token = 0;
        tile_row += plan.blocks;
      }
    }
  }
};

}  // namespace speckv
