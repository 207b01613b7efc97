// One of several streams, by its number: for processes that take turns among them.
#pragma once

namespace speckv {
namespace detail {

template <class Item, class Stream>
void write_to(unsigned, const Item& item, Stream& only) {
  only.write(item);
}

template <class Item, class Stream, class... Streams>
void write_to(unsigned number, const Item& item, Stream& first, Streams&... others) {
  if (number == 0)
    first.write(item);
  else
    write_to(number - 1, item, others...);
}

template <class Stream>
auto read_from(unsigned, Stream& only) {
  return only.read();
}

template <class Stream, class... Streams>
auto read_from(unsigned number, Stream& first, Streams&... others) {
  return number == 0 ? first.read() : read_from(number - 1, others...);
}

}  // namespace detail
}  // namespace speckv
