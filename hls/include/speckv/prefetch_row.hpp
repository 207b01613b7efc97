// Rows of the prefetch table: how they are stored, what an order does to one, and how predictions are picked from one.
//
// An order a cycle for the same row is a recurrence of one cycle. So all that can be known before a row is there is
// prepared while the order before it is done, as parts of PreparedRow: which slot holds the order's page, what each score
// would become, what becomes of the row. What is left for the cycle is one comparison of every such score with
// every score above it, and a multiplexer for each slot.
#pragma once

#include "prefetch_command.hpp"

namespace speckv {

// One item for each slot of a row, side by side: the first slot's in the low bits.
template <class D>
using row_pages_t = ap_uint<D::ways * D::page_bits>;
template <class D>
using row_scores_t = ap_uint<D::ways * D::score_bits>;
template <class D>
using row_flags_t = ap_uint<D::ways>;

template <class D>
table_page_t<D> page_of(const row_pages_t<D>& pages, int slot) {
  return pages.range(D::page_bits * (slot + 1) - 1, D::page_bits * slot);
}
template <class D>
score_t<D> score_of(const row_scores_t<D>& scores, int slot) {
  return scores.range(D::score_bits * (slot + 1) - 1, D::score_bits * slot);
}
template <class D>
void set_page(row_pages_t<D>& pages, int slot, const table_page_t<D>& page) {
  pages.range(D::page_bits * (slot + 1) - 1, D::page_bits * slot) = page;
}
template <class D>
void set_score(row_scores_t<D>& scores, int slot, const score_t<D>& score) {
  scores.range(D::score_bits * (slot + 1) - 1, D::score_bits * slot) = score;
}

template <class D>
constexpr int kRowBits = row_pages_t<D>::width + row_scores_t<D>::width + table_key_t::width + 1;  // with `valid`
template <class D>
using stored_row_t = ap_uint<kRowBits<D> + 1>;  // with parity

template <class D>
struct Row {
  row_pages_t<D> pages;
  row_scores_t<D> scores;  // sorted, the greatest first; a slot with score 0 is empty
  table_key_t key;
  flag_t valid;
  flag_t corrupted;
};

// Field by field, so that hardware has multiplexers and no choice between two variables.
template <class D>
Row<D> chosen(const flag_t& first, const Row<D>& a, const Row<D>& b) {
  Row<D> row;
  row.pages = first ? a.pages : b.pages;
  row.scores = first ? a.scores : b.scores;
  row.key = first ? a.key : b.key;
  row.valid = first ? a.valid : b.valid;
  row.corrupted = first ? a.corrupted : b.corrupted;
  return row;
}

template <class D>
stored_row_t<D> packed(const Row<D>& row) {
  const ap_uint<kRowBits<D>> content = (row.valid, row.key, row.scores, row.pages);
  const flag_t parity = content.xor_reduce() != bool(row.corrupted);
  return (parity, content);
}

template <class D>
Row<D> unpacked(const stored_row_t<D>& stored) {
  constexpr int kScoresAt = row_pages_t<D>::width, kKeyAt = kScoresAt + row_scores_t<D>::width;
  Row<D> row;
  row.pages = stored.range(kScoresAt - 1, 0);
  row.scores = stored.range(kKeyAt - 1, kScoresAt);
  row.key = stored.range(kRowBits<D> - 2, kKeyAt);
  row.valid = stored[kRowBits<D> - 1];
  row.corrupted = stored.xor_reduce();
  return row;
}

// A row, and what the order that is next for it will find.
template <class D>
struct PreparedRow {
  Row<D> row;
  row_flags_t<D> matches;  // a touch: the slot that holds its page
  row_scores_t<D> gained;  // a touch: what each score would become; the weight in the last slot if the page is new
  flag_t hit;              // the row holds the order's key
  flag_t is_new;           // a touch of a page that the row does not hold: it takes the last slot
};

inline flag_t meets(const prefetch_op_t& op) {
  return flag_t(op == kTouch) | flag_t(op == kDecay) | flag_t(op == kPredict) | flag_t(op == kClear);
}
template <class D>
flag_t displaces(const PreparedRow<D>& p) {
  return p.is_new & flag_t(!p.hit) & p.row.valid & flag_t(!p.row.corrupted);
}
template <class D>
flag_t loses(const PreparedRow<D>& p) {
  return p.is_new & p.hit & flag_t(score_of<D>(p.row.scores, D::ways - 1) != 0);
}

template <class D>
score_t<D> saturated_sum(const score_t<D>& score, const score_t<D>& weight) {
  const ap_uint<D::score_bits + 1> sum = score + weight;
  const ap_int<1> overflow = sum[D::score_bits];
  return score_t<D>(sum) | score_t<D>(overflow);
}

template <class D>
score_t<D> decayed(const score_t<D>& score) {
  if (D::decay_shift == 1) return score >> 1;
  using scaled_t = ap_uint<D::score_bits + D::decay_shift>;
  const scaled_t scaled = (scaled_t(score) << D::decay_shift) - score;
  return score_t<D>(scaled >> D::decay_shift);
}
// Whether a score is not 0 after a decay, if there is one: that makes 0 of 0 and 1 only.
template <class D>
flag_t remains(const score_t<D>& score, const flag_t& decays) {
  return flag_t((score >> 1) != 0) | (flag_t(score[0]) & flag_t(!decays));
}

// Whether the row's slots count as empty for an order, or become so by it.
template <class D>
flag_t empties(const Order<D>& order, const PreparedRow<D>& p) {
  return flag_t(order.op == kWipe) | (p.hit & flag_t(order.op == kClear)) | (flag_t(!p.hit) & flag_t(order.op == kTouch)) |
         (p.row.corrupted & meets(order.op));
}

// What is found by the time that a row is there, except for `is_new`.
template <class D>
PreparedRow<D> compared(const Row<D>& row, const Order<D>& order) {
  PreparedRow<D> p;
  p.row = row;
  const flag_t touch = order.op == kTouch;
  p.hit = row.valid & flag_t(!row.corrupted) & flag_t(row.key == order.key);
  p.matches = 0;
  p.gained = 0;
prepare_slots:
  for (int i = 0; i < D::ways; ++i) {
#pragma HLS unroll
    const score_t<D> score = score_of<D>(row.scores, i), weight = score_t<D>(order.weight);
    const flag_t equal = flag_t(page_of<D>(row.pages, i) == order.page) & flag_t(score != 0);
    p.matches[i] = equal & p.hit & touch;
    set_score<D>(p.gained, i, i < D::ways - 1 || equal ? saturated_sum<D>(score, weight) : weight);
  }
  p.is_new = 0;
  return p;
}

template <class D>
PreparedRow<D> chosen(const flag_t& first, const PreparedRow<D>& a, const PreparedRow<D>& b) {
  PreparedRow<D> p;
  p.row = chosen(first, a.row, b.row);
  p.matches = first ? a.matches : b.matches;
  p.gained = first ? a.gained : b.gained;
  p.hit = first ? a.hit : b.hit;
  p.is_new = first ? a.is_new : b.is_new;
  return p;
}

template <class D>
struct Update {
  Row<D> stored;        // the order's row after it
  PreparedRow<D> next;  // the next order's row
  flag_t holds_far;     // `stored` holds the page of the order behind the next one
};

// Does `order`, and prepares the row of `next`: the same one, or `other`. Orders behind each other touch one
// page only if their keys differ, see merge_touches: so a slot that takes the touched page never matches next. And a decay
// that is a subtraction has no touch behind it, see decode_commands: so no weight is added to its result.
// Written so that what is known late is used late.
template <class D>
Update<D> updated(const PreparedRow<D>& p, const Order<D>& order, const Order<D>& next,
                  const PreparedRow<D>& other, const Order<D>& far) {
  constexpr int kScore = D::score_bits;
  const flag_t touch = order.op == kTouch, decay = flag_t(order.op == kDecay) & p.hit;
  const score_t<D> weight = score_t<D>(order.weight), next_weight = score_t<D>(next.weight);
  const flag_t same = next.same_row[0], same_rest = next.same_row_copy, emptied = empties(order, p), renews = p.is_new & flag_t(!p.hit);
  row_flags_t<D> taken = p.matches;  // the slot that the touched page leaves or takes
  taken[D::ways - 1] = flag_t(p.matches[D::ways - 1]) | p.is_new;

  // The touched page's score: a multiplexer, as a tree.
  row_scores_t<D> scores = 0;
choose_score:
  for (int i = 0; i < D::ways; ++i) {
#pragma HLS unroll
    set_score<D>(scores, i, taken[i] ? score_of<D>(p.gained, i) : score_t<D>(0));
  }
join_scores:
  for (int half = 1 << (bits_for(D::ways - 1) - 1); half > 0; half /= 2) {
#pragma HLS unroll
    scores |= scores >> (half * kScore);
  }
  const score_t<D> score = score_t<D>(scores);

  // The slots that it passes move down.
  row_flags_t<D> down = 0;
slots_passed:
  for (int i = 0; i < D::ways; ++i) {
#pragma HLS unroll
    const score_t<D> above = score_of<D>(p.row.scores, i);
    row_flags_t<D> passes = 0;
    passes[i] = renews;
  passed_from:
    for (int below = i + 1; below < D::ways; ++below) {
#pragma HLS unroll
      passes[below] = flag_t(taken[below]) & flag_t(score_of<D>(p.gained, below) >= above);
    }
    down[i] = passes != 0;
  }

  Update<D> u;
  Row<D>& row = u.stored;
  row.key = touch ? order.key : p.row.key;
  row.valid = touch | (p.row.valid & flag_t(!emptied));
  row.corrupted = flag_t(order.op == kCorrupt) | (p.row.corrupted & flag_t(!emptied));
  row.pages = 0;
  row.scores = 0;

  PreparedRow<D>& q = u.next;
  const flag_t next_touch = next.op == kTouch;
  const flag_t same_key = (touch & next.same_key) | (flag_t(!touch) & flag_t(p.row.key == next.key));
  const flag_t hit = row.valid & flag_t(!row.corrupted) & same_key;
  q.row.key = same ? row.key : other.row.key;
  q.row.valid = same ? row.valid : other.row.valid;
  q.row.corrupted = same ? row.corrupted : other.row.corrupted;
  q.row.pages = 0;
  q.row.scores = 0;
  q.matches = 0;
  q.gained = 0;
  q.hit = same ? hit : other.hit;

  row_flags_t<D> found = 0;  // slots with the next page, where they are now
  row_flags_t<D> far_found = 0;
find_next:
  for (int i = 0; i < D::ways; ++i) {
#pragma HLS unroll
    const flag_t lost = i == D::ways - 1 ? p.is_new : flag_t(0);
    const table_page_t<D> page = page_of<D>(p.row.pages, i);
    const flag_t stays = remains<D>(score_of<D>(p.row.scores, i), decay) & flag_t(!lost);
    found[i] = flag_t(page == next.page) & stays;
    far_found[i] = flag_t(page == far.page) & stays;
  }
  u.holds_far = (flag_t(far_found != 0) & flag_t(!emptied)) | (touch & flag_t(order.page == far.page));
  const flag_t may_find = hit & flag_t(!emptied), same_touch = same & next_touch, finds = may_find & same_touch;

update_slots:
  for (int i = 0; i < D::ways; ++i) {
#pragma HLS unroll
    const int source = i > 0 ? i - 1 : 0;
    const flag_t comes_down = i > 0 ? flag_t(down[source]) : flag_t(0);
    const flag_t takes = (flag_t(down[i]) | flag_t(taken[i])) & flag_t(!comes_down);
    const flag_t comes_next = comes_down & same, takes_next = takes & same;
    const score_t<D> old = score_of<D>(p.row.scores, i), lower = decayed<D>(old);
    const score_t<D> own = emptied ? score_t<D>(0) : decay ? lower : old;
    const score_t<D> above = emptied ? score_t<D>(0) : score_of<D>(p.row.scores, source);
    const table_page_t<D> own_page = page_of<D>(p.row.pages, i), above_page = page_of<D>(p.row.pages, source);
    set_page<D>(row.pages, i, takes ? order.page : comes_down ? above_page : own_page);
    set_score<D>(row.scores, i, i == 0 && renews ? weight : takes ? score : comes_down ? above : own);

    const table_page_t<D> rest_page = same_rest ? own_page : page_of<D>(other.row.pages, i);
    const score_t<D> rest = same_rest ? own : score_of<D>(other.row.scores, i);
    const score_t<D> moved = takes_next ? score : comes_next ? above : rest;
    set_page<D>(q.row.pages, i, takes_next ? order.page : comes_next ? above_page : rest_page);
    set_score<D>(q.row.scores, i, i == 0 && (renews & same) ? weight : moved);

    const bool last = i == D::ways - 1;
    const score_t<D> sum = saturated_sum<D>(old, next_weight);
    const score_t<D> above_sum = saturated_sum<D>(score_of<D>(p.row.scores, source), next_weight);
    score_t<D> own_gained = sum, above_gained = above_sum;
    if (D::decay_shift == 1) own_gained = decay ? saturated_sum<D>(lower, next_weight) : sum;
    if (last) {  // may belong to a new page
      own_gained = found[i] ? own_gained : next_weight;
      above_gained = found[source] ? above_gained : next_weight;
    }
    const score_t<D> gained = comes_down ? above_gained : own_gained;
    set_score<D>(q.gained, i, same_rest ? gained : score_of<D>(other.gained, i));
    const flag_t found_here = (comes_down & flag_t(found[source])) | (flag_t(!comes_down) & flag_t(found[i]));
    q.matches[i] = (found_here & flag_t(!takes) & finds) | (flag_t(!same) & flag_t(other.matches[i]));
  }
  q.is_new = (same_touch & flag_t(found == 0)) | (same_touch & flag_t(!may_find)) | (flag_t(!same) & other.is_new);
  return u;
}

// What a prediction gives.
template <class D>
struct Selection {
  row_pages_t<D> pages;
  score_t<D> score;  // of the first
  ways_t count;
};

// The first `limit` slots that are kept, without gaps: each moves up by as many places as there are gaps before it, by
// one place first, then by two, four, eight. No two slots want one place.
template <class D>
Selection<D> selected(row_pages_t<D> pages, row_scores_t<D> scores, row_flags_t<D> kept, const ways_t& limit) {
  constexpr int kBits = ways_t::width;
  ap_uint<D::ways * kBits> gaps = 0;  // before each slot
  ways_t before = 0, total = 0;
count_gaps:
  for (int i = 0; i < D::ways; ++i) {
#pragma HLS unroll
    gaps.range(kBits * (i + 1) - 1, kBits * i) = before;
    before += kept[i] ? 0 : 1;
    total += kept[i] ? 1 : 0;
  }
close_gaps:
  for (int bit = 0; bit < kBits - 1; ++bit) {
#pragma HLS unroll
    const int step = 1 << bit;
    const row_pages_t<D> old_pages = pages;
    const row_scores_t<D> old_scores = scores;
    const ap_uint<D::ways * kBits> old_gaps = gaps;
    const row_flags_t<D> old_kept = kept;
  close_slots:
    for (int i = 0; i < D::ways; ++i) {
#pragma HLS unroll
      const int from = i + step < D::ways ? i + step : i;
      const bool comes = from != i && old_kept[from] && old_gaps[kBits * from + bit];
      const bool stays = old_kept[i] && !old_gaps[kBits * i + bit];
      if (comes) {
        set_page<D>(pages, i, page_of<D>(old_pages, from));
        set_score<D>(scores, i, score_of<D>(old_scores, from));
        gaps.range(kBits * (i + 1) - 1, kBits * i) = old_gaps.range(kBits * (from + 1) - 1, kBits * from);
      }
      kept[i] = comes || stays;
    }
  }
  Selection<D> s;
  s.count = total > limit ? limit : total;
  s.score = s.count != 0 ? score_of<D>(scores, 0) : score_t<D>(0);
select_first:
  for (int i = 0; i < D::ways; ++i) {
#pragma HLS unroll
    set_page<D>(s.pages, i, i < s.count ? page_of<D>(pages, i) : table_page_t<D>(0));
  }
  return s;
}

}  // namespace speckv
