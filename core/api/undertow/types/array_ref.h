// array_ref.h: a list that the callee borrows: a braced list, a vector, an array or one element.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <span>
#include <vector>

#include "core/base/error.h"
#include "core/base/small_vector.h"

namespace undertow {

using std::nullopt;
using std::optional;
using nullopt_t = std::nullopt_t;

// Valid as long as what it was made from; as a parameter, until the call returns. Do not store one.
template <class T>
class ArrayRef {
 public:
  using value_type = T;
  using size_type = size_t;
  using iterator = const T*;
  using const_iterator = const T*;

  constexpr ArrayRef() = default;
  constexpr ArrayRef(const T& one) : data_(&one), size_(1) {}
  constexpr ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
  constexpr ArrayRef(const T* begin, const T* end) : data_(begin), size_(static_cast<size_t>(end - begin)) {}
  constexpr ArrayRef(std::span<const T> s) : data_(s.data()), size_(s.size()) {}
  template <class A>
  ArrayRef(const std::vector<T, A>& v) : data_(v.data()), size_(v.size()) {
    static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no array of elements");
  }
  template <size_t N>
  constexpr ArrayRef(const std::array<T, N>& a) : data_(a.data()), size_(N) {}
  template <size_t N>
  constexpr ArrayRef(const T (&a)[N]) : data_(a), size_(N) {}
  template <size_t N>
  ArrayRef(const core::SmallVector<T, N>& v) : data_(v.data()), size_(v.size()) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
  constexpr ArrayRef(const std::initializer_list<T>& list)
      : data_(list.begin() == list.end() ? nullptr : list.begin()), size_(list.size()) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr const T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T& operator[](size_t i) const { return data_[i]; }
  const T& at(size_t i) const {
    UT_CHECK_INDEX(i < size_, "ArrayRef: invalid index ", i, " for a list of ", size_, " elements");
    return data_[i];
  }
  const T& front() const { return at(0); }
  const T& back() const { return at(size_ - 1); }
  bool equals(ArrayRef o) const { return size_ == o.size_ && std::equal(begin(), end(), o.begin()); }
  ArrayRef slice(size_t from, size_t count) const {
    UT_CHECK_INDEX(from <= size_ && count <= size_ - from, "ArrayRef: invalid slice ", from, " + ", count,
                   " of a list of ", size_, " elements");
    return {data_ + from, count};
  }
  ArrayRef slice(size_t from) const {
    UT_CHECK_INDEX(from <= size_, "ArrayRef: invalid slice from ", from, " of a list of ", size_, " elements");
    return {data_ + from, size_ - from};
  }
  std::vector<T> vec() const { return {begin(), end()}; }
  constexpr operator std::span<const T>() const { return {data_, size_}; }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};

template <class T>
bool operator==(ArrayRef<T> a, ArrayRef<T> b) {
  return a.equals(b);
}
template <class T>
bool operator==(ArrayRef<T> a, const std::vector<T>& b) {
  return a.equals(b);
}
template <class T>
std::ostream& operator<<(std::ostream& out, ArrayRef<T> list) {
  out << '[';
  for (size_t i = 0; i < list.size(); i++) (i ? out << ", " : out) << list[i];
  return out << ']';
}

using IntArrayRef = ArrayRef<int64_t>;

// A list of ints that may be missing. Converts from what an IntArrayRef converts from.
class OptionalIntArrayRef {
 public:
  OptionalIntArrayRef() = default;
  OptionalIntArrayRef(std::nullopt_t) {}
  OptionalIntArrayRef(IntArrayRef list) : list_(list) {}
  OptionalIntArrayRef(const optional<IntArrayRef>& list) : list_(list) {}
  OptionalIntArrayRef(const std::initializer_list<int64_t>& list) : list_(IntArrayRef(list)) {}
  OptionalIntArrayRef(const std::vector<int64_t>& list) : list_(list) {}
  template <size_t N>
  OptionalIntArrayRef(const std::array<int64_t, N>& list) : list_(IntArrayRef(list)) {}
  OptionalIntArrayRef(const int64_t& one) : list_(IntArrayRef(one)) {}

  bool has_value() const { return list_.has_value(); }
  explicit operator bool() const { return has_value(); }
  const IntArrayRef& value() const { return list_.value(); }
  const IntArrayRef& operator*() const { return *list_; }
  const IntArrayRef* operator->() const { return &*list_; }
  operator optional<core::IntSpan>() const {
    return list_ ? optional<core::IntSpan>(core::IntSpan(*list_)) : std::nullopt;
  }

 private:
  optional<IntArrayRef> list_;
};

}  // namespace undertow
