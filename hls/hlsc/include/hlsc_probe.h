// Appended by hlsc's front end to a kernel: a constant table that describes the top function's arguments, so
// that port layouts come from the compiler's own view of the types and not from a parse of the source.
//
// One row per argument: kind, then the bits of data, keep, strb, user, id, dest, last, then their sum.
// The packing order in a FIFO word is that order, data in the least significant bits. No row is all zero.
// The row of a scalar: kind, bits, 1 if signed, bytes in memory if it is passed by address (else 0), zeros.
// The last row is that of the return value; its kind is `other` if there is none.
template <int N> struct ap_int;
template <int N> struct ap_uint;
namespace hls {
template <class T, int WUser, int WId, int WDest, unsigned char EnableSignals, bool StrictEnablement> struct axis;
template <class T, int Depth_> class stream;
}  // namespace hls

namespace hlsc_probe {

enum kind { other = 1, plain_stream = 2, axis_stream = 3, scalar_in = 4, scalar_out = 5 };
struct row { int cell[9]; };

template <class T> struct element {
  static constexpr int total = hls::detail::bits_of<T>::value;
  static constexpr row describe() { return {{plain_stream, total, 0, 0, 0, 0, 0, 0, total}}; }
};
template <class T, int U, int I, int D, unsigned char E, bool S> struct element<hls::axis<T, U, I, D, E, S>> {
  using A = hls::axis<T, U, I, D, E, S>;
  static constexpr row describe() {
    return {{axis_stream, A::data_bits, A::keep_bits, A::strb_bits, A::user_bits, A::id_bits, A::dest_bits,
             A::last_bits, hls::detail::bits_of<A>::value}};
  }
};
template <class T> struct integer {
  static constexpr bool is = hls::detail::scalar_bits<T>::value != 0 || __is_enum(T);
  static constexpr bool by_address = false;
  static constexpr row describe(int kind, bool address) {
    if constexpr (is) {
      constexpr int bits = hls::detail::bits_of_scalar<T>();
      return {{kind, bits, bits > 1 && T(-1) < T(0), address ? int(sizeof(T)) : 0, 0, 0, 0, 0, 0}};
    }
    return {{other, 0, 0, 0, 0, 0, 0, 0, 0}};
  }
};
template <int N> struct integer<ap_uint<N>> {
  static constexpr bool is = true;
  static constexpr bool by_address = !__is_trivially_constructible(ap_uint<N>, const ap_uint<N> &);
  static constexpr row describe(int kind, bool address) {
    return {{kind, N, 0, address ? int(sizeof(ap_uint<N>)) : 0, 0, 0, 0, 0, 0}};
  }
};
template <int N> struct integer<ap_int<N>> {
  static constexpr bool is = true;
  static constexpr bool by_address = !__is_trivially_constructible(ap_int<N>, const ap_int<N> &);
  static constexpr row describe(int kind, bool address) {
    return {{kind, N, 1, address ? int(sizeof(ap_int<N>)) : 0, 0, 0, 0, 0, 0}};
  }
};
template <class T> struct argument {
  static constexpr row describe() { return integer<T>::describe(scalar_in, integer<T>::by_address); }
};
template <class T> struct argument<T &> {
  static constexpr row describe() { return integer<T>::describe(scalar_out, true); }
};
template <class T> struct argument<const T &> {
  static constexpr row describe() { return integer<T>::describe(scalar_in, true); }
};
template <class T> struct argument<T *> : argument<T &> {};
template <class T> struct argument<const T *> : argument<const T &> {};
template <class T, int Depth_> struct argument<hls::stream<T, Depth_> &> {
  static constexpr row describe() { return element<T>::describe(); }
};

template <class R> struct result : argument<R &> {};
template <> struct result<void> {
  static constexpr row describe() { return {{other, 0, 0, 0, 0, 0, 0, 0, 0}}; }
};

template <int N> struct table { row rows[N]; };
template <class R, class... A> constexpr table<sizeof...(A) + 1> describe(R (*)(A...)) {
  return {{argument<A>::describe()..., result<R>::describe()}};
}

}  // namespace hlsc_probe
