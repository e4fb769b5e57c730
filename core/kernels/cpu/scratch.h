// scratch.h: memory a kernel borrows for the length of one call, kept for the thread's next call.
// Does not know what it is used for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace undertow::cpu {

// A growing buffer, one per thread and per Purpose (any type of the caller's, so that two users never meet).
// Kept because fresh pages cost more than packing into them: several megabytes are a thousand page faults.
// Contents are valid until the same thread asks again for the same Purpose.
template <class Purpose>
class Scratch {
 public:
  template <class T>
  static T* get(int64_t count) {
    return static_cast<T*>(mine().grow(static_cast<size_t>(count) * sizeof(T)));
  }

 private:
  // One for all element types: thread-local memory is scarce, because a library loaded late shares a small reserve.
  static Scratch& mine() {
    static thread_local Scratch scratch;
    return scratch;
  }
  void* grow(size_t bytes) {
    if (bytes <= size_) return data_;
    std::free(data_);
    data_ = nullptr;
    size_ = 0;
    size_t rounded = (bytes + 4095) / 4096 * 4096;
    data_ = std::aligned_alloc(64, rounded);
    if (!data_) throw std::bad_alloc();
    size_ = rounded;
    return data_;
  }
  ~Scratch() { std::free(data_); }

  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace undertow::cpu
