// The 64-point Hadamard transform of a run of channels: two beats of a token.
//
// It is done in two steps that may come in either order: across the two beats, lane by lane, and within each beat. For
// the first, one beat waits while the other one arrives; what leaves is one beat behind what comes.
#pragma once

#include "cursor.hpp"
#include "quantise.hpp"

namespace speckv {

constexpr int kRunBlocks = 2;

// One step within a beat: sums and differences of lanes that are `Step` apart, a bit wider.
template <int Width, int Step>
ap_uint<kLanes * (Width + 1)> butterflies(const ap_uint<kLanes * Width>& x) {
  ap_uint<kLanes * (Width + 1)> result;
butterfly_lanes:
  for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
    const int other = l ^ Step;
    const ap_int<Width> own = ap_uint<Width>(x.range(Width * l + Width - 1, Width * l));
    const ap_int<Width> partner = ap_uint<Width>(x.range(Width * other + Width - 1, Width * other));
    const ap_int<Width + 1> difference = partner - own, total = own + partner;
    const ap_int<Width + 1> sum = (l & Step) != 0 ? difference : total;
    result.range((Width + 1) * l + Width, (Width + 1) * l) = ap_uint<Width + 1>(sum);
  }
  return result;
}

// All steps within a beat; `offset` is added to every sum. That is done after two steps, in the few lanes that all sums
// come from: before, a lane has no room for it.
template <int Width>
ap_uint<kLanes * (Width + 5)> hadamard_of_beat(const ap_uint<kLanes * Width>& x, int offset) {
  auto fourths = butterflies<Width + 1, 2>(butterflies<Width, 1>(x));
offset_lanes:
  for (int l = 0; l < 4; ++l) {
#pragma HLS unroll
    const int low = (Width + 2) * l, high = low + Width + 1;
    const ap_int<Width + 2> fourth = ap_uint<Width + 2>(fourths.range(high, low));
    fourths.range(high, low) = ap_uint<Width + 2>(fourth + offset);
  }
  return butterflies<Width + 4, 16>(butterflies<Width + 3, 8>(butterflies<Width + 2, 4>(fourths)));
}

// The step across two beats: takes a beat in every cycle and gives the one before, summed with this one if this one is
// the second of a run, or subtracted from the one before it if it was the second itself: one adder for each lane.
template <int Width>
struct AcrossBeats {
  ap_uint<kLanes * Width> last, last_but_one;

  void start() { last = last_but_one = 0; }

  ap_uint<kLanes * (Width + 1)> step(const ap_uint<kLanes * Width>& x, bool second, bool second_before) {
    ap_uint<kLanes * (Width + 1)> result;
  across_lanes:
    for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
      const int low = Width * l, high = low + Width - 1;
      const ap_int<Width> now = ap_uint<Width>(x.range(high, low));
      const ap_int<Width> before = ap_uint<Width>(last.range(high, low));
      const ap_int<Width> long_before = ap_uint<Width>(last_but_one.range(high, low));
      const ap_int<Width> left = second_before ? long_before : before;
      const ap_int<Width> right = second ? now : second_before ? ap_int<Width>(~before) : ap_int<Width>(0);
      const ap_int<Width + 1> sum = left + right + flag_t(second_before);
      result.range((Width + 1) * l + Width, (Width + 1) * l) = ap_uint<Width + 1>(sum);
    }
    last_but_one = last;
    last = x;
    return result;
  }
};

constexpr int kAlignedBits = 12;                // G of format.md
constexpr int kSumBits = kAlignedBits + 6;      // 8 Y

namespace detail {

// +-2^(11 - distance), +-1 for all that are farther: what a significand is multiplied by, for its 11 places to go down.
struct Alignments {
  short of[32];
  constexpr Alignments() : of() {
    for (int i = 0; i < 32; ++i) {
      const int distance = i % 16 < 11 ? i % 16 : 11;
      of[i] = (short)((i < 16 ? 1 : -1) * (1 << (11 - distance)));
    }
  }
};
constexpr Alignments kAlignments;

}  // namespace detail

// A beat as exponents and signed significands, which wait for the greatest exponent of their run.
template <class D>
struct Unpacked {
  using N = Number<D>;
  ap_uint<8 * kLanes> exponents;
  ap_uint<N::significand_bits * kLanes> significands;
  ap_uint<kLanes> signs;

  void start() { exponents = 0, significands = 0, signs = 0; }

  void unpack(const beat_t& beat, flag_t half) {
  unpack_lanes:
    for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
      const value_t x = lane(beat, l);
      exponents.range(8 * l + 7, 8 * l) = N::exponent(x, half);
      significands.range(N::significand_bits * (l + 1) - 1, N::significand_bits * l) = N::significand(x, half);
      signs[l] = x[15];
    }
  }

  ap_uint<8> greatest_exponent() const {
    ap_uint<8> greatest[kLanes];
#pragma HLS array_partition variable=greatest complete
  greatest_leaves:
    for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
      greatest[l] = exponents.range(8 * l + 7, 8 * l);
    }
  greatest_levels:
    for (int width = kLanes / 2; width > 0; width /= 2) {
#pragma HLS unroll
    greatest_nodes:
      for (int l = 0; l < width; ++l) {
#pragma HLS unroll
        if (greatest[l + width] > greatest[l]) greatest[l] = greatest[l + width];
      }
    }
    return greatest[0];
  }

  // G(x) of all lanes.
  ap_uint<kLanes * kAlignedBits> aligned(const ap_uint<8>& run_exponent) const {
    ap_uint<kLanes * kAlignedBits> result;
  align_lanes:
    for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
      const ap_uint<8> own = exponents.range(8 * l + 7, 8 * l);
      const ap_uint<8> distance = run_exponent - own;
      ap_uint<5> index = distance > 15 ? ap_uint<4>(15) : ap_uint<4>(distance);
      index[4] = signs[l];
      const typename N::significand_t significand =
          significands.range(N::significand_bits * (l + 1) - 1, N::significand_bits * l);
      const ap_int<13> factor = detail::kAlignments.of[index];
      const ap_int<kAlignedBits + 11> product = significand * factor;
      result.range(kAlignedBits * l + kAlignedBits - 1, kAlignedBits * l) = ap_uint<kAlignedBits>(product >> 11);
    }
    return result;
  }
};

// Rotates the pages that are to be, others pass. All are kept as they were: `encode` may make any of them raw.
//
// A beat is aligned when its run's second beat has come, one step later; what became of it waits for the other half
// another step.
template <class D>
void rotate(hls::stream<Plan<D>>& plans_in, beat_stream& beats, hls::stream<Plan<D>>& plans,
            hls::stream<RunValues>& rotated, beat_stream& originals) {
  Plan<D> plan = Plan<D>();
  page_count_t<D> left = 0, out_left = 0;
  Cursor<D> at;
  ap_uint<2> age = 0;                              // beats under way
  Unpacked<D> kept;                                // the beat before this one
  kept.start();
  ap_uint<8> kept_exponent = 0;                    // its greatest
  ap_uint<8> run_exponent = 0;                     // of the run of the beat that was aligned last
  bool second_before = false, second_long_before = false;
  AcrossBeats<kAlignedBits> across;
  across.start();
  bool first = true;
rotate_beats:  // II = 1: one beat per cycle, and two more. Round go a comparison of exponents and counters
  do {
#pragma HLS pipeline II=1 rewind
    if (first) {
      plan = plans_in.read();
      plans.write(plan);
      left = out_left = plan.raw_beats;
      age = 0;
      at = Cursor<D>();
    } else {
      beat_t beat = 0;
      if (left != 0) {
        beat = beats.read();
        left -= 1;
        originals.write(beat);
      }
      const bool second = at.group_block == kRunBlocks - 1;
      Unpacked<D> unpacked;
      unpacked.unpack(beat, plan.half);
      const ap_uint<8> exponent = unpacked.greatest_exponent();
      const ap_uint<8> of_pair = exponent > kept_exponent ? exponent : kept_exponent;
      const ap_uint<8> aligned_exponent = second ? of_pair : second_before ? run_exponent : kept_exponent;

      const auto sums = across.step(kept.aligned(aligned_exponent), second_before, second_long_before);
      const auto turned_sums = hadamard_of_beat<kAlignedBits + 1>(sums, 4);  // and the half of rounding
      const bool whole = second_before || second_long_before;  // a run of two beats
      RunValues out;
      out.values = 0;
      out.exponent = run_exponent;
    rotate_lanes:
      for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
        const ap_int<kAlignedBits + 1> alone = ap_uint<kAlignedBits + 1>(
            sums.range((kAlignedBits + 1) * l + kAlignedBits, (kAlignedBits + 1) * l));
        const ap_int<kSumBits> sum = ap_uint<kSumBits>(turned_sums.range(kSumBits * l + kSumBits - 1, kSumBits * l));
        const ap_int<16> turned = sum >> 3;
        const value_t y = ap_uint<16>(whole ? turned : ap_int<16>(alone));
        set_lane(out.values, l, plan.rotated ? y : lane(beat, l));
      }
      const bool leaves = !plan.rotated || age == 2;
      if (leaves) {
        rotated.write(out);
        out_left -= 1;
      }
      if (age != 2) age += 1;
      kept = unpacked;
      kept_exponent = exponent;
      run_exponent = aligned_exponent;
      second_long_before = second_before;
      second_before = second;
      at.advance(plan);
    }
    first = out_left == 0;
  } while (!first);
}

}  // namespace speckv
