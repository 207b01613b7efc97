// What a page needs, derived once from its header and handed from process to process.
#pragma once

#include "header.hpp"

namespace speckv {

// Scales and zeros of 16 bits: twice the parameters, and wider arithmetic.
template <class D>
constexpr bool fine_scales() { return D::scale_bits == 16; }

// Parameters of groups in a beat.
template <class D>
constexpr int groups_per_beat() { return 4 * kBeatBytes / D::scale_bits; }

// Beats of a payload, even of one that would not shrink and is therefore never made.
template <class D>
using payload_count_t = ap_uint<bits_for(D::max_parameter_beats + 2 * D::max_page_beats + 4)>;

template <class D>
using row_count_t = ap_uint<bits_for(D::max_parameter_beats + 1)>;

// Whether any codec, or any codec with a bit of kPrefixed or kRotated, is in the design: what is not costs nothing.
template <class D>
constexpr bool has_transform(unsigned transform) {
  return ((D::codec_set >> transform | D::codec_set >> (transform + kPrefixed) |
           D::codec_set >> (transform + kRotated) | D::codec_set >> (transform + kPrefixed + kRotated)) & 1) != 0;
}
template <class D>
constexpr bool has_exponents() { return has_transform<D>(kExponents); }
template <class D>
constexpr bool has_delta() { return has_transform<D>(kDelta); }
template <class D>
constexpr bool has_prefixed() { return ((D::codec_set >> kPrefixed | D::codec_set >> (kPrefixed + kRotated)) & 0xFFFF) != 0; }
template <class D>
constexpr bool has_rotated() { return (D::codec_set >> kRotated) != 0; }

constexpr int kWordsPerBeat = 16;
using word_count_t = ap_uint<bits_for(kWordsPerBeat)>;

// N of quantN, which is its words of a raw beat, too. Pages that are to be delta-coded are quant8 pages before.
inline ap_uint<4> code_bits(const ap_uint<3>& transform) {
  return transform == kQuant8 || transform == kDelta ? 8 : transform == kQuant4 ? 4 : transform == kQuant3 ? 3 : 2;
}

// Of symbols that are prefix-coded.
template <class D>
struct LanesPlan {
  flag_t used;
  payload_count_t<D> beats;  // frames: lengths and lanes, the last section
  table_t table;             // frames
};

// Where the beats of a page's words go, in designs with `int8-delta-rle`.
enum Way : unsigned { kNoBeats, kOtherBeats, kDeltaBeats, kNoDeltaBeats };
using way_t = ap_uint<2>;

// Of frames, what is taken apart.
template <class D>
struct SectionsPlan {
  payload_count_t<D> word_beats;  // those behind the first section
  payload_count_t<D> steps;       // rows, words of tiles, and beats behind the first section
};

// Sizes of a page, in the units that the processes count in.
//
// D is the design (rendered as design.hpp). All counts are zero for a page whose header was refused.
template <class D>
struct Plan {
  status_t status;                                      // why the header was refused, or kOk
  ap_uint<3> transform;                                 // how the page is encoded; kRaw after a fall-back
  flag_t rotated;
  flag_t no_shrink;                                     // a request that fell back to raw for its size
  flag_t values;                                        // kind V, else K
  flag_t half;                                          // fp16, else bf16
  ap_uint<bits_for(D::max_tokens)> last_token;          // tokens - 1
  ap_uint<bits_for(D::max_blocks)> blocks, last_block;  // beats of one token
  page_count_t<D> raw_beats;
  ap_uint<bits_for(D::max_groups)> groups;              // groups of `fit`, 0 if raw
  row_count_t<D> rows;                                  // beats of their parameters; or tiles
  payload_count_t<D> payload_beats;                     // of a request the bound; for exponents the least possible
  SectionsPlan<D> sections;
  LanesPlan<D> lanes;
  ap_uint<8> scale_exponent;                            // frames: E

  bool quantised() const { return transform >= kQuant8; }
  bool exponents() const { return has_exponents<D>() && transform == kExponents; }
  bool delta() const { return has_delta<D>() && transform == kDelta; }
  way_t way() const {
    return delta() ? (sections.word_beats == 0 ? kNoDeltaBeats : kDeltaBeats)
                   : (sections.word_beats == 0 ? kNoBeats : kOtherBeats);
  }
  // Groups of V run along a token; those of K, and the tiles of exponents, down the tokens of a tile.
  bool by_token() const { return values && quantised(); }
  bool coded() const { return has_prefixed<D>() && lanes.used; }
  // Words of a raw beat; those of exponents without the planes of their symbols.
  word_count_t words() const {
    return exponents() ? word_count_t(D::has_fp16 && half ? 11 : 8)
                       : !quantised() ? word_count_t(kWordsPerBeat)
                                      : coded() ? word_count_t(0) : word_count_t(code_bits(transform));
  }
  // Of a frame whose last section is as long as the data have made it.
  void set_payload_beats(const payload_count_t<D>& beats) {
    const payload_count_t<D> more = beats - payload_beats;
    if (coded())
      lanes.beats += more;
    else
      sections.word_beats += more;
    payload_beats = beats;
    sections.steps += more;
  }
  void become_raw() {
    transform = kRaw;
    rotated = lanes.used = 0;
    groups = rows = 0;
    payload_beats = sections.word_beats = sections.steps = raw_beats;
    lanes.beats = 0;
  }
};

// Beats that hold `rows` tiles' bases and widths: 36 bytes each.
template <class D>
payload_count_t<D> bases_beats(const row_count_t<D>& rows) { return (rows * ap_uint<4>(9) + 15) / 16; }

// The most beats that the lanes of a page take: 4 bits a value, 4 more for each of `wide` values, and 7 a lane.
template <class D>
payload_count_t<D> lanes_bound(const page_count_t<D>& raw_beats, const ap_uint<bits_for(D::max_page_beats) + 5>& wide) {
  const ap_uint<bits_for(D::max_page_beats) + 6> values = raw_beats * ap_uint<6>(kLanes) + wide;
  return (values + (7 * kLanes / 4 + 2 * kBeatBytes - 1)) / (2 * kBeatBytes);
}

// The checks that requests and frames share, in the order of format.md; `plan.status` is the first that fails. Frames
// only: `crc_right`, the header's CRC check, and `table_known`.
template <class D>
Plan<D> plan_of(const beat_t& h, bool crc_right, bool table_known) {
  using namespace header;
  const auto all_tokens = get<header::tokens>(h);
  const auto channels = get<header::channels>(h);
  const bool fits = all_tokens != 0 && all_tokens <= D::max_tokens && channels != 0 && channels <= D::max_channels &&
                    channels % kLanes == 0 && get<tile_tokens>(h) == D::tile_tokens &&
                    get<group_channels>(h) == D::group_channels && get<scale_bits>(h) == D::scale_bits;
  const ap_uint<8> asked = get<codec>(h), type = get<dtype>(h);
  const bool known_codec = asked < 64 && ((ap_uint<64>(D::codec_set) >> ap_uint<6>(asked)) & 1) != 0;
  const bool known_dtype = (D::has_bf16 && type == kDtypeBf16) || (D::has_fp16 && type == kDtypeFp16);
  Plan<D> plan;
  plan.transform = asked.range(2, 0);
  plan.lanes.used = has_prefixed<D>() && asked[4];
  plan.rotated = has_rotated<D>() && asked[5];
  plan.no_shrink = 0;
  plan.values = get<kind>(h) == kValues;
  plan.half = D::has_fp16 && type == kDtypeFp16;
  plan.scale_exponent = get<header::scale_exponent>(h);
  plan.lanes.table = get<header::table>(h).range(2, 0);
  const ap_uint<bits_for(D::max_tokens)> tokens = all_tokens;  // of a header that is not refused
  plan.blocks = channels / kLanes;
  plan.last_token = tokens - 1;
  plan.last_block = plan.blocks - 1;
  plan.raw_beats = tokens * plan.blocks;

  const ap_uint<bits_for(D::max_tiles)> tiles = (tokens + (D::tile_tokens - 1)) / D::tile_tokens;
  const row_count_t<D> tile_rows = tiles * plan.blocks;
  const ap_uint<bits_for(D::max_groups)> token_groups =
      tokens * ((plan.blocks + (D::group_blocks - 1)) / D::group_blocks);
  plan.groups = plan.by_token() ? token_groups : ap_uint<bits_for(D::max_groups)>(tile_rows * kLanes);
  constexpr int kGroups = groups_per_beat<D>();
  plan.rows = plan.by_token()    ? row_count_t<D>((token_groups + (kGroups - 1)) / kGroups)
              : plan.quantised() ? row_count_t<D>(tile_rows * (kLanes / kGroups))
                                 : tile_rows;

  // What is known of the payload before the data are: exponents without symbols, of lanes the lengths, of delta pages no
  // words.
  plan.sections.word_beats = (plan.raw_beats * plan.words() + (kWordsPerBeat - 1)) / kWordsPerBeat;
  if (plan.delta()) plan.sections.word_beats = 0;
  plan.lanes.beats = plan.lanes.used;
  plan.payload_beats = plan.sections.word_beats + plan.lanes.beats +
                       (plan.exponents() ? bases_beats<D>(plan.rows) : payload_count_t<D>(plan.rows));
  plan.sections.steps = plan.sections.word_beats + plan.lanes.beats + plan.rows;
  if (plan.exponents()) plan.sections.steps += plan.rows;
  if (plan.transform == kRaw) plan.become_raw();

  plan.status = get<magic>(h) != kMagic                                                         ? kBadMagic
                : get<version>(h) != kVersion                                                   ? kBadVersion
                : !crc_right                                                                    ? kBadHeaderCrc
                : !known_codec || !table_known                                                  ? kBadCodec
                : !known_dtype                                                                  ? kBadDtype
                : get<kind>(h) > kValues || (asked[5] && !plan.values)                          ? kBadKind
                : !fits || get<raw_bytes>(h) != plan.raw_beats * kBeatBytes                     ? kBadGeometry
                                                                                                : kOk;
  return plan;
}

// A refused page has no beats: every process passes it on in one step.
template <class D>
void refuse(Plan<D>& plan, status_t status) {
  plan.status = status;
  plan.raw_beats = 0;
  plan.become_raw();
}

}  // namespace speckv
