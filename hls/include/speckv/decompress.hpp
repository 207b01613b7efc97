// kv_decompress: frame in, raw page and answer out.
//
//   inspect ─> admit ─ payload ─> sections ══ words ══> unpack ─ pieces ─> decode ─> scale ─> deliver
//                 │                 ││└─ lanes ─> prefix decoder ─ symbols ───┘ │                 │
//                 │                 │└─────────────── rows ─────────────────────┘                 │
//                 └─────────────────┴─────── header, verdict ─────────────────────────────────────┘
#pragma once

#include "decode.hpp"
