// kv_prefetch: a table of the pages that keys use, and what it predicts; see hls/prefetch.md.
//
//   batch ─> vouch ─> decode ─> merge ─> rank ─> select ─> deliver ─> results ─> finish
//                                         └ table   │ └ residency
//                                                   └─> ask ─> issue ─> deliver ─> descriptors ─> finish
//
// An order a cycle. `rank` keeps each row sorted by score: a prediction is its beginning, and the page to lose its end.
#pragma once

#include "batch.hpp"
#include "bus.hpp"
#include "prefetch_command.hpp"
#include "prefetch_issue.hpp"
#include "prefetch_row.hpp"

namespace speckv {

// The batch in blocks of beats, two commands each.
inline bytes_t beats_of(bytes_t commands) { return bytes_t((ap_uint<33>(commands) + 1) / 2); }
inline void ask_commands(bytes_t commands, command_stream& asked) { ask(beats_of(commands), asked); }
inline void vouch_commands(bytes_t commands, beat_stream& batch, status_stream& statuses, hls::stream<BatchBeat>& sound) {
  vouch(beats_of(commands), batch, statuses, sound);
}

template <class D>
Order<D> order_of(prefetch_op_t op) {
  Order<D> order;
  order.op = op;
  order.row = 0;
  order.key = 0;
  order.page = 0;
  order.weight = 0;
  order.limit = 0;
  order.cookie = 0;
  order.same_row = 0;
  order.same_row_copy = 0;
  order.same_key = 0;
  order.last = 0;
  order.unreadable = 0;
  return order;
}

// Makes orders of commands, and NOPs of what is refused; one more behind a decay that is a subtraction, see `updated`.
template <class D>
void decode_commands(bytes_t commands, hls::stream<BatchBeat>& batch, hls::stream<Order<D>>& orders, bytes_t& touches,
                     bytes_t& refused) {
  constexpr unsigned kMaxScore = (1u << D::score_bits) - 1;
  constexpr unsigned kWipes = D::rows > D::resident_pages ? D::rows : D::resident_pages;
  bytes_t left = commands, touched = 0, bad = 0;
  ap_uint<bits_for(kWipes)> more = 0;  // orders that the last command is still to become, kWipe or kNop
  bool has_more = false, wipes = false;
  beat_t beat = 0;
  bool second = false, unreadable = false;
decode:  // II = 1: an order per cycle
  while (left != 0 || has_more) {
#pragma HLS pipeline II=1
    Order<D> order = order_of<D>(wipes ? kWipe : kNop);
    if (has_more) {
      has_more = more != 1;
      more -= 1;
      order.row = table_row_t<D>(more);
      order.page = table_page_t<D>(more);
    } else {
      if (!second) {
        const BatchBeat next = batch.read();
        beat = next.data;
        unreadable = next.unreadable;
      }
      beat_t fields = beat;
      if (second) fields = beat >> kCommandBits;
      second = !second;
      left = unreadable ? bytes_t(0) : bytes_t(left - 1);
      const auto op = header::get<command::op>(fields);
      const auto weight = header::get<command::weight>(fields);
      const auto page = header::get<command::page>(fields);
      const auto limit = header::get<command::limit>(fields);
      const bool touch = op == kTouch, marks = op == kResident || op == kEvict;
      const bool refuse = op > kCorrupt || (touch && (weight == 0 || (page >> D::page_bits) != 0)) ||
                          (marks && page >= D::resident_pages);
      order.op = refuse ? prefetch_op_t(kNop) : prefetch_op_t(op);
      order.key = header::get<command::key>(fields);
      order.row = row_of<D>(order.key);
      order.page = table_page_t<D>(page);
      order.weight = weight > kMaxScore ? ap_uint<D::score_bits + 1>(touch ? kMaxScore : kMaxScore + 1)
                                        : ap_uint<D::score_bits + 1>(weight);
      order.limit = limit > D::ways ? ways_t(0) : ways_t(limit);
      order.cookie = header::get<command::cookie>(fields);
      if (!refuse && touch) touched += 1;
      if (refuse) bad += 1;
      wipes = op == kClearAll;
      has_more = wipes || (D::decay_shift > 1 && op == kDecay);
      more = wipes ? kWipes : 1;
    }
    orders.write(order);
  }
  Order<D> end = order_of<D>(kNop);
  end.last = 1;
  end.unreadable = unreadable;
  orders.write(end);
  touches = touched;
  refused = bad;
}

// Touches of one page of one key in a row become one: the score gains their sum, and nobody looks in between. So `rank`
// never needs the sum of a score that it has just made and a weight.
template <class D>
void merge_touches(hls::stream<Order<D>>& orders, hls::stream<Order<D>>& merged) {
  Order<D> held = order_of<D>(kNop);
  ap_uint<kRowsBehind * table_row_t<D>::width> rows = 0;  // of the orders before, the last one's in the low bits
  ap_uint<kRowsBehind> known = 1;                          // which of them there were: the first order is made up
merge:  // II = 1: an order per cycle
  while (!held.last) {
#pragma HLS pipeline II=1
    Order<D> next = orders.read();
    next.same_key = held.key == next.key;
    next.same_row = 0;
    rows = (rows << table_row_t<D>::width) | held.row;
  same_rows:
    for (int i = 0; i < kRowsBehind; ++i) {
#pragma HLS unroll
      constexpr int kBits = table_row_t<D>::width;
      const table_row_t<D> before = rows.range(kBits * (i + 1) - 1, kBits * i);
      next.same_row[i] = flag_t(known[i]) & flag_t(before == next.row);
    }
    next.same_row_copy = next.same_row[0];
    known = (known << 1) | 1;
    if (held.op == kTouch && next.op == kTouch && next.same_key && held.page == next.page) {
      const auto sum = held.weight + next.weight;
      next.weight = sum >> D::score_bits != 0 ? ap_uint<D::score_bits + 1>((1u << D::score_bits) - 1)
                                              : ap_uint<D::score_bits + 1>(sum);
      held.op = kNop;
    }
    merged.write(held);
    held = next;
  }
  merged.write(held);
}

// What `select` needs of an order, and the row of a prediction.
template <class D>
struct Ranked {
  prefetch_op_t op;
  flag_t hit;
  row_pages_t<D> pages;
  row_scores_t<D> scores;
  table_page_t<D> page;
  ap_uint<D::score_bits + 1> weight;
  ways_t limit;
  offset_t cookie;
  flag_t last;
  flag_t unreadable;
};

// The table. Each iteration does one order and prepares the row of the next one: see prefetch_row.hpp. A row comes from
//   * the order just done, if it is for the same row,
//   * the order before that one, in `written0`,
//   * else from `written1`, `written2` or the table: that takes two iterations.
// A row reaches the table kRowsBehind - 1 iterations after an order whose row is read then: so the pragma is true,
// and tests with every distance between two orders of a row hold it to that.
template <class D>
void rank(hls::stream<Order<D>>& orders, hls::stream<Ranked<D>>& ranked, bytes_t& displaced, bytes_t& lost,
          bytes_t& corrupted) {
  static stored_row_t<D> table[D::rows];
#pragma HLS dependence variable=table inter dependent=false
  bytes_t other_keys = 0, lost_pages = 0, corrupted_rows = 0;
  Order<D> order = order_of<D>(kNop), next = order_of<D>(kNop);  // the first ones are made up
  PreparedRow<D> row = compared(unpacked<D>(0), order), waiting = row;
  Row<D> written0 = row.row, written1 = row.row, written2 = row.row;
  ap_uint<2> made_up = 2;
  flag_t holds_next = 0;
  bool more = true, unreadable = false;
rank_orders:  // II = 1: an order per cycle
  while (more) {
#pragma HLS pipeline II=1
    Order<D> far = order_of<D>(kNop);
    if (!next.last) far = orders.read();
    more = !next.last;
    unreadable = next.unreadable;
    const Row<D> stored = unpacked<D>(table[far.row]);
    const Row<D> newest = chosen(flag_t(far.same_row.range(3, 2) != 0), chosen(flag_t(far.same_row[2]), written0, written1),
                                 chosen(flag_t(far.same_row[4]), written2, stored));

    if (made_up == 0) {
      Ranked<D> r;
      r.op = order.op;
      r.hit = row.hit;
      r.pages = row.row.pages;
      r.scores = row.row.scores;
      r.page = order.page;
      r.weight = order.weight;
      r.limit = order.limit;
      r.cookie = order.cookie;
      r.last = 0;
      r.unreadable = 0;
      ranked.write(r);
    }
    if (displaces(row)) other_keys += 1;
    if (loses(row)) lost_pages += 1;
    if (row.row.corrupted & meets(order.op)) corrupted_rows += 1;

    const flag_t next_touch = next.op == kTouch;
    PreparedRow<D> recent = compared(written0, next);
    recent.is_new = next_touch & flag_t(!(holds_next & recent.hit));
    waiting.is_new = next_touch & flag_t(waiting.matches == 0);
    const PreparedRow<D> other = chosen(flag_t(next.same_row[1]), recent, waiting);
    const Update<D> update = updated(row, order, next, other, far);
    if (made_up == 0) table[order.row] = packed<D>(update.stored);
    row = update.next;
    waiting = compared(newest, far);
    holds_next = update.holds_far;
    written2 = written1;
    written1 = written0;
    written0 = update.stored;
    order = next;
    next = far;
    if (made_up != 0) made_up -= 1;
  }
  Ranked<D> end;
  end.op = kNop;
  end.hit = 0;
  end.pages = 0;
  end.scores = 0;
  end.page = 0;
  end.weight = 0;
  end.limit = 0;
  end.cookie = 0;
  end.last = 1;
  end.unreadable = unreadable;
  ranked.write(end);
  displaced = other_keys;
  lost = lost_pages;
  corrupted = corrupted_rows;
}

template <class D>
using residency_t = ap_uint<bits_for(D::resident_pages - 1)>;

// The residency bitmap: leaves resident pages out of predictions. `wanted` has those that get descriptors, if there are any.
template <class D>
void select_pages(bytes_t descriptors, hls::stream<Ranked<D>>& ranked, hls::stream<Result>& results,
                  hls::stream<Wanted<D>>& wanted, bytes_t& predicts, bytes_t& hits, bytes_t& predicted, bytes_t& filtered) {
  static flag_t resident[D::resident_pages];
  bytes_t asked = 0, found = 0, given = 0, left_out = 0;
  bool more = true, unreadable = false;
select:  // II = 1: an order per cycle
  while (more) {
#pragma HLS pipeline II=1
    const Ranked<D> r = ranked.read();
    more = !r.last;
    unreadable = r.unreadable;
    const bool hit = r.op == kPredict && r.hit && r.limit != 0;
    row_flags_t<D> kept = 0;
    ways_t resident_count = 0;
  select_slots:
    for (int i = 0; i < D::ways; ++i) {
#pragma HLS unroll
      const score_t<D> score = score_of<D>(r.scores, i);
      const table_page_t<D> page = page_of<D>(r.pages, i);
      const bool good = hit && score != 0 && score >= r.weight;
      const bool known = page < D::resident_pages;
      const flag_t is_resident = known && resident[residency_t<D>(page)];
      kept[i] = good && !is_resident;
      if (good && is_resident) resident_count += 1;
    }
    if (r.op == kResident || r.op == kEvict || r.op == kWipe)
      resident[residency_t<D>(r.page)] = r.op == kResident;

    const Selection<D> selection = selected<D>(r.pages, r.scores, kept, r.limit);
    if (r.op == kPredict) {
      beat_t data = 0;
      header::set<prediction::cookie>(data, r.cookie);
      header::set<prediction::status>(data, r.limit == 0 ? kBadLimit : r.hit ? kPredicted : kMiss);
      header::set<prediction::count>(data, selection.count);
      header::set<prediction::filtered>(data, resident_count);
      header::set<prediction::score>(data, selection.score);
    result_pages:
      for (int i = 0; i < D::ways; ++i) {
#pragma HLS unroll
        data.range(kPagesAt + kPageBits * i + D::page_bits - 1, kPagesAt + kPageBits * i) =
            page_of<D>(selection.pages, i);
      }
      Result result;
      result.data = data;
      result.last = 0;
      result.unreadable = 0;
      results.write(result);
      if (descriptors != 0 && selection.count != 0) wanted.write(wanted_of<D>(selection.pages, selection.count));
      asked += 1;
      if (hit) found += 1;
      given += selection.count;
      left_out += resident_count;
    }
  }
  Result end;
  end.data = 0;
  end.last = 1;
  end.unreadable = unreadable;
  results.write(end);
  wanted.write(wanted_of<D>(0, 0));
  predicts = asked;
  hits = found;
  predicted = given;
  filtered = left_out;
}

}  // namespace speckv
