// expanding_array.h: D numbers given as one number for all, or as a list: the kernel sizes and strides of layers.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include <undertow/nn/errors.h>
#include <undertow/types/array_ref.h>

namespace undertow {

template <std::size_t D, typename T = int64_t>
class ExpandingArray {
 public:
  ExpandingArray(std::initializer_list<T> list) { assign(list.begin(), list.size()); }
  ExpandingArray(const std::vector<T>& list) { assign(list.data(), list.size()); }
  ExpandingArray(ArrayRef<T> list) { assign(list.data(), list.size()); }
  ExpandingArray(T value) { values_.fill(value); }
  ExpandingArray(const std::array<T, D>& values) : values_(values) {}

  std::array<T, D>& operator*() { return values_; }
  const std::array<T, D>& operator*() const { return values_; }
  std::array<T, D>* operator->() { return &values_; }
  const std::array<T, D>* operator->() const { return &values_; }
  operator std::array<T, D>() const { return values_; }
  std::size_t size() const noexcept { return D; }
  const T& operator[](std::size_t k) const { return values_[k]; }

 protected:
  template <class Iterator>
  void assign(Iterator begin, std::size_t size) {
    if (size == 1) {
      values_.fill(*begin);
      return;
    }
    if (size != D) nn::detail::raise_expanding(D, size);
    for (std::size_t k = 0; k < D; k++) values_[k] = *begin++;
  }
  std::array<T, D> values_{};
};

// Sizes of which some may be left open, such as the output size of adaptive pooling.
template <std::size_t D, typename T = int64_t>
class ExpandingArrayWithOptionalElem : public ExpandingArray<D, std::optional<T>> {
 public:
  using Base = ExpandingArray<D, std::optional<T>>;
  using Base::Base;
  ExpandingArrayWithOptionalElem(std::initializer_list<T> list) : Base(std::optional<T>()) {
    std::vector<std::optional<T>> wide(list.begin(), list.end());
    this->assign(wide.data(), wide.size());
  }
  ExpandingArrayWithOptionalElem(T value) : Base(std::optional<T>(value)) {}
};

}  // namespace undertow
