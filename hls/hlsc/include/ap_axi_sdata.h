// AXI4-Stream beats: hls::axis and its aliases, with the names that AMD's UG1399 documents.
//
// A side channel that is not enabled has no storage and no wires. Its member is of an empty type, so a kernel
// that uses it does not compile.
#pragma once

#include "ap_int.h"

#define AXIS_ENABLE_DATA 0b00000001
#define AXIS_ENABLE_DEST 0b00000010
#define AXIS_ENABLE_ID 0b00000100
#define AXIS_ENABLE_KEEP 0b00001000
#define AXIS_ENABLE_LAST 0b00010000
#define AXIS_ENABLE_STRB 0b00100000
#define AXIS_ENABLE_USER 0b01000000
#define AXIS_ENABLE_ALL 0b01111111

namespace hls {
namespace detail {

// bits of a beat's payload: the width of an ap_(u)int, else the size in memory
template <class T> struct payload_bits { static constexpr int value = 8 * sizeof(T); };
template <int W> struct payload_bits<ap_uint<W>> { static constexpr int value = W; };
template <int W> struct payload_bits<ap_int<W>> { static constexpr int value = W; };

template <> struct payload_bits<void> { static constexpr int value = 0; };

template <int Tag_> struct absent {};  // an own type per side channel: two empty members may share an address

template <int W, int Tag_> struct side { using type = ap_uint<W>; };
template <int Tag_> struct side<0, Tag_> { using type = absent<Tag_>; };
template <class T> struct payload { using type = T; };
template <> struct payload<void> { using type = absent<6>; };  // a stream of side channels only

}  // namespace detail

template <class T, int WUser = 0, int WId = 0, int WDest = 0,
          unsigned char EnableSignals = (AXIS_ENABLE_KEEP | AXIS_ENABLE_LAST | AXIS_ENABLE_STRB),
          bool StrictEnablement = false>
struct axis {
  static constexpr bool strict = StrictEnablement;
  static constexpr int data_bits = detail::payload_bits<T>::value;
  static constexpr int byte_lanes = (data_bits + 7) / 8;
  static constexpr int keep_bits = (EnableSignals & AXIS_ENABLE_KEEP) ? byte_lanes : 0;
  static constexpr int strb_bits = (EnableSignals & AXIS_ENABLE_STRB) ? byte_lanes : 0;
  // without strict enablement a side channel with a width is there, flag or not
  static constexpr int user_bits = (!strict || (EnableSignals & AXIS_ENABLE_USER)) ? WUser : 0;
  static constexpr int id_bits = (!strict || (EnableSignals & AXIS_ENABLE_ID)) ? WId : 0;
  static constexpr int dest_bits = (!strict || (EnableSignals & AXIS_ENABLE_DEST)) ? WDest : 0;
  static constexpr int last_bits = (EnableSignals & AXIS_ENABLE_LAST) ? 1 : 0;

  typename detail::payload<T>::type data;
  typename detail::side<keep_bits, 0>::type keep;
  typename detail::side<strb_bits, 1>::type strb;
  typename detail::side<user_bits, 2>::type user;
  typename detail::side<id_bits, 3>::type id;
  typename detail::side<dest_bits, 4>::type dest;
  typename detail::side<last_bits, 5>::type last;

  auto get_data() const { return data; }
  auto get_keep() const { return keep; }
  auto get_strb() const { return strb; }
  auto get_user() const { return user; }
  auto get_id() const { return id; }
  auto get_dest() const { return dest; }
  auto get_last() const { return last; }
  template <class V> void set_data(const V &v) { data = v; }
  template <class V> void set_keep(const V &v) { keep = v; }
  template <class V> void set_strb(const V &v) { strb = v; }
  template <class V> void set_user(const V &v) { user = v; }
  template <class V> void set_id(const V &v) { id = v; }
  template <class V> void set_dest(const V &v) { dest = v; }
  template <class V> void set_last(const V &v) { last = v; }
  void keep_all() { keep = ~decltype(keep)(0); }
};

template <class T, unsigned char EnableSignals = (AXIS_ENABLE_KEEP | AXIS_ENABLE_LAST | AXIS_ENABLE_STRB),
          bool StrictEnablement = false>
using axis_data = axis<T, 0, 0, 0, EnableSignals, StrictEnablement>;

template <int WData, int WUser = 0, int WId = 0, int WDest = 0,
          unsigned char EnableSignals = (AXIS_ENABLE_KEEP | AXIS_ENABLE_LAST | AXIS_ENABLE_STRB),
          bool StrictEnablement = false>
using ap_axiu = axis<ap_uint<WData>, WUser, WId, WDest, EnableSignals, StrictEnablement>;

template <int WData, int WUser = 0, int WId = 0, int WDest = 0,
          unsigned char EnableSignals = (AXIS_ENABLE_KEEP | AXIS_ENABLE_LAST | AXIS_ENABLE_STRB),
          bool StrictEnablement = false>
using ap_axis = axis<ap_int<WData>, WUser, WId, WDest, EnableSignals, StrictEnablement>;

template <int WUser, unsigned char EnableSignals = (AXIS_ENABLE_USER | AXIS_ENABLE_LAST), bool StrictEnablement = false>
using axis_user = axis<void, WUser, 0, 0, EnableSignals, StrictEnablement>;

}  // namespace hls

using hls::ap_axis;
using hls::ap_axiu;
