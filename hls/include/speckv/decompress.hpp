// kv_decompress: frame in, raw page and answer out.
//
//   inspect ─> admit ─ payload ─> sections ─ words ─> unpack ─ pieces ─> decode ─> (unrotate) ─> scale ─> deliver
//                 │                   └─────────── rows ─────────────────┘                                          │
//                 └─ header, verdict ───────────────────────────────────────────────────────────────────────────────┘
#pragma once

#include "decode.hpp"
