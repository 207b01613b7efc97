// The 64-point Hadamard transform of a run of channels: two beats of a token.
//
// It is done in two steps that may come in either order: across the two beats, lane by lane, and within each beat. For
// the first, one beat waits while the other one arrives; what leaves is one beat behind what comes.
#pragma once

#include "gearbox.hpp"
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

// All steps within a beat.
template <int Width>
ap_uint<kLanes * (Width + 5)> hadamard_of_beat(const ap_uint<kLanes * Width>& x) {
  return butterflies<Width + 4, 16>(
      butterflies<Width + 3, 8>(butterflies<Width + 2, 4>(butterflies<Width + 1, 2>(butterflies<Width, 1>(x)))));
}

// The step across two beats: takes a beat in every cycle and gives the one before, summed with this one if this one is
// the second of a run; then their difference waits to be given next.
template <int Width>
struct AcrossBeats {
  ap_uint<kLanes * (Width + 1)> kept;

  ap_uint<kLanes * (Width + 1)> step(const ap_uint<kLanes * Width>& x, bool second) {
    ap_uint<kLanes * (Width + 1)> result;
  across_lanes:
    for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
      const int low = (Width + 1) * l, high = low + Width;
      const ap_int<Width> now = ap_uint<Width>(x.range(Width * l + Width - 1, Width * l));
      const ap_int<Width + 1> before = ap_uint<Width + 1>(kept.range(high, low));
      const ap_int<Width + 1> difference = before - now, sum = before + now;
      result.range(high, low) = ap_uint<Width + 1>(second ? sum : before);
      kept.range(high, low) = ap_uint<Width + 1>(second ? difference : ap_int<Width + 1>(now));
    }
    return result;
  }
};

// Greatest exponent of a beat, and above it a bit that tells of NaN or Inf.
using reach_t = ap_uint<9>;

template <class D>
reach_t reach_of_beat(const beat_t& beat, flag_t half) {
  using N = Number<D>;
  ap_uint<8> exponents[kLanes];
#pragma HLS array_partition variable=exponents complete
  ap_uint<kLanes> not_finite = 0;
reach_leaves:
  for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
    exponents[l] = N::exponent(lane(beat, l), half);
    not_finite[l] = !N::is_finite(lane(beat, l), half);
  }
reach_levels:
  for (int width = kLanes / 2; width > 0; width /= 2) {
#pragma HLS unroll
  reach_nodes:
    for (int l = 0; l < width; ++l) {
#pragma HLS unroll
      if (exponents[l + width] > exponents[l]) exponents[l] = exponents[l + width];
    }
  }
  reach_t reach = exponents[0];
  reach[8] = not_finite.or_reduce();
  return reach;
}

constexpr int kAlignedBits = 17;                // G of format.md
constexpr int kRotatedBits = kAlignedBits + 6;  // y

// G(x) of a beat.
template <class D>
ap_uint<kLanes * kAlignedBits> aligned_beat(const beat_t& beat, flag_t half, const ap_uint<8>& greatest_exponent) {
  using N = Number<D>;
  ap_uint<kLanes * kAlignedBits> aligned;
align_lanes:
  for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
    const value_t x = lane(beat, l);
    const ap_uint<8> distance = greatest_exponent - N::exponent(x, half);
    ap_uint<16> magnitude = ap_uint<16>(N::significand(x, half)) << (16 - N::significand_bits);
    magnitude = distance > 15 ? ap_uint<16>(0) : ap_uint<16>(magnitude >> ap_uint<4>(distance));
    const ap_int<kAlignedBits> positive = magnitude;
    const ap_int<kAlignedBits> g = x[15] ? ap_int<kAlignedBits>(-positive) : positive;
    aligned.range(kAlignedBits * l + kAlignedBits - 1, kAlignedBits * l) = ap_uint<kAlignedBits>(g);
  }
  return aligned;
}

// y as a bf16 value, rounded to nearest even; Inf if it is too large, or if the run was not finite.
inline value_t rotated_value(const ap_int<kRotatedBits>& y, const reach_t& reach) {
  constexpr int kWidth = kRotatedBits - 1;
  const bool negative = y < 0;
  const ap_uint<kWidth> magnitude = negative ? ap_uint<kWidth>(-y) : ap_uint<kWidth>(y);
  const ap_int<10> room = ap_int<10>(ap_uint<8>(reach)) + 2;  // a leading one at the top has the exponent reach + 3
  const ap_uint<18> bits = rounded<8>(normalised<kWidth, 0>(magnitude, room));
  value_t value = reach[8] || bits > 0x7F80 ? value_t(0x7F80) : value_t(bits);
  value[15] = negative;
  return y == 0 && !reach[8] ? value_t(0) : value;
}

// Rotates the pages that are to be, and keeps them as they were for `encode`; others pass.
//
// A beat's exponents are aligned when its run's second beat has come, one step later; what they became waits for the
// other half another step.
template <class D>
void rotate(hls::stream<Plan<D>>& plans_in, beat_stream& beats, hls::stream<Plan<D>>& plans, beat_stream& rotated,
            beat_stream& originals) {
  Plan<D> plan = Plan<D>();
  page_count_t<D> left = 0, out_left = 0;
  Cursor<D> at;
  ap_uint<2> age = 0;              // beats under way
  beat_t kept = 0;                 // the beat before this one
  reach_t kept_reach = 0;          // its own reach
  reach_t run_reach = 0, sum_reach = 0;  // of the run of the beat that was aligned last, and of the one before
  bool second_before = false, second_long_before = false;
  AcrossBeats<kAlignedBits> across;
  across.kept = 0;
  bool first = true;
rotate_beats:  // II = 1: one beat per cycle, and two more. Round go a comparison of exponents and the sums
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
        if (plan.rotated) originals.write(beat);
      }
      const bool second = at.group_block == kRunBlocks - 1;
      const reach_t reach = reach_of_beat<D>(beat, plan.half);
      const ap_uint<8> own = kept_reach, other = reach;
      reach_t pair = own > other ? own : other;
      pair[8] = kept_reach[8] | reach[8];
      const reach_t aligned_reach = second ? pair : second_before ? run_reach : kept_reach;

      const auto aligned = aligned_beat<D>(kept, plan.half, aligned_reach);
      const auto sums = across.step(aligned, second_before);
      const auto turned_sums = hadamard_of_beat<kAlignedBits + 1>(sums);
      const bool whole = second_before || second_long_before;  // a run of two beats
      beat_t values = 0;
    rotate_lanes:
      for (int l = 0; l < kLanes; ++l) {
#pragma HLS unroll
        const ap_int<kAlignedBits + 1> alone = ap_uint<kAlignedBits + 1>(
            sums.range((kAlignedBits + 1) * l + kAlignedBits, (kAlignedBits + 1) * l));
        const ap_int<kRotatedBits> y = ap_uint<kRotatedBits>(
            turned_sums.range(kRotatedBits * l + kRotatedBits - 1, kRotatedBits * l));
        const ap_int<kRotatedBits> alone_y = ap_int<kRotatedBits>(alone) << 3;
        set_lane(values, l, rotated_value(whole ? y : alone_y, run_reach));
      }
      const bool leaves = !plan.rotated || age == 2;
      if (leaves) {
        rotated.write(plan.rotated ? values : beat);
        out_left -= 1;
      }
      if (age != 2) age += 1;
      kept = beat;
      kept_reach = reach;
      run_reach = aligned_reach;
      second_long_before = second_before;
      second_before = second;
      at.advance(plan);
    }
    first = out_left == 0;
  } while (!first);
}

}  // namespace speckv
