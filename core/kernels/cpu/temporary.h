// temporary.h: memory for one call: borrowed from the thread's scratch if small, else allocated and freed.
#pragma once

#include <memory>

#include "core/kernels/cpu/scratch.h"

namespace undertow::core::cpu {

// One at a time per Purpose and thread. Elements are not initialized.
template <class Purpose, class T>
class Temporary {
 public:
  explicit Temporary(int64_t count) {
    constexpr int64_t kMaxKeptBytes = 1 << 20;  // bytes a thread may keep
    if (count * static_cast<int64_t>(sizeof(T)) <= kMaxKeptBytes) {
      data_ = Scratch<Purpose>::template get<T>(count);
    } else {
      own_ = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(count));
      data_ = own_.get();
    }
  }
  T* get() const { return data_; }

 private:
  std::unique_ptr<T[]> own_;
  T* data_;
};

}  // namespace undertow::core::cpu
