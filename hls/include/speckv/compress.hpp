// kv_compress: request in, frame out.
//
//   inspect ─> admit ─> (rotate) ─> measure ══ page ════════════> encode ─ pieces ─> pack ══ packed ══> seal ══ payload ══> emit
//                           ║          └─ ranges ─> fit ─ rows ──┘ ║  └─ symbols ─> prefix coder ─ section ─┘└─ sealed header ─┘
//                           ╚══════════ originals ═════════════════╝
//
// Every process handles one packet per call and one beat per cycle; its loop is the whole process, so the next packet
// follows without a gap. A page waits in `page` until it is measured and fitted, its payload waits in `payload` until
// its CRC is known: the FIFOs that hold pages (`originals` holds it as it came, in designs that rotate).
#pragma once

#include "admit.hpp"
#include "encode.hpp"
#include "prefix_encode.hpp"
#include "rotate.hpp"
