// kv_dma: batches of descriptors move pages between near memory (raw) and far memory (frames); see hls/dma.md.
//
//   batch ─> vouch ─> parse ─> source ──────────> route ───────────> sink ────────> complete ─> completions ─> finish
//                                └─ near, far ─ beats ┘ └─ engines ─┘ └─ near, far ─ statuses ┘
//                                   readers                              writers
//
// Jobs pass from process to process in the order of the batch; each process works on another one. A job that parse refuses
// takes the same way without moving anything, so completions need no sorting. With several channels each has a reader of
// its batch with a `vouch`, and a writer of its completions with a `finish`; `parse` takes jobs from them in turn.
#pragma once

#include "dma_complete.hpp"
#include "dma_move.hpp"
#include "dma_parse.hpp"
