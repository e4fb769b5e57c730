// arg.h: UNDERTOW_ARG, an option with a chained setter: `Options().stride(2).bias(false)`, and `options.stride()` to
// read it.
#pragma once
#include <utility>

#define UNDERTOW_ARG(T, name)                         \
 public:                                              \
  auto name(const T& new_##name) -> decltype(*this) { \
    this->name##_ = new_##name;                       \
    return *this;                                     \
  }                                                   \
  auto name(T&& new_##name) -> decltype(*this) {      \
    this->name##_ = std::move(new_##name);            \
    return *this;                                     \
  }                                                   \
  const T& name() const noexcept { return name##_; }  \
  T& name() noexcept { return name##_; }              \
                                                      \
 private:                                             \
  T name##_
