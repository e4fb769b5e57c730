// ref.h: an intrusive reference-counting pointer.
// T provides retain() and release(); Ref never reads the count.
#pragma once
#include <cstddef>
#include <type_traits>
#include <utility>

namespace undertow::core {

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  __attribute__((always_inline)) explicit Ref(T* p) : p_(p) {
    if (p_) p_->retain();
  }
  Ref(const Ref& other) : p_(other.p_) {
    if (p_) p_->retain();
  }
  Ref(Ref&& other) noexcept : p_(other.p_) { other.p_ = nullptr; }
  template <class U>
    requires(!std::is_same_v<T, U> && std::is_convertible_v<U*, T*>)
  Ref(Ref<U> other) : p_(other.leak()) {}
  ~Ref() {
    if (p_) p_->release();
  }
  Ref& operator=(Ref other) noexcept {
    std::swap(p_, other.p_);
    return *this;
  }

  // Steals a reference that the caller owns.
  static Ref adopt(T* p) {
    Ref r;
    r.p_ = p;
    return r;
  }
  // Gives the reference to the caller, who must release it.
  T* leak() {
    T* p = p_;
    p_ = nullptr;
    return p;
  }

  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  bool operator==(const Ref& other) const { return p_ == other.p_; }
  void reset() { *this = Ref(); }

 private:
  T* p_ = nullptr;
};

}  // namespace undertow::core
