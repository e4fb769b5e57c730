// library_types.h: what NVIDIA's libraries for computations share: the numbers that name dtypes (library_types.h of
// CUDA), and handles that belong to a device.
#pragma once
#include <atomic>
#include <mutex>

#include "core/kernels/cuda/runtime/device.h"
#include "core/tensor/dtype/dtype.h"

namespace undertow::core::cuda {

// cudaDataType
enum class LibraryType : int {
  Float32 = 0,
  Float64 = 1,
  Float16 = 2,
  Complex64 = 4,
  Complex128 = 5,
  Int32 = 10,
  BFloat16 = 14,
};

// Floating and complex dtypes.
inline LibraryType library_type(DType t) {
  switch (t) {
    case DType::Float64:
      return LibraryType::Float64;
    case DType::Float16:
      return LibraryType::Float16;
    case DType::BFloat16:
      return LibraryType::BFloat16;
    case DType::Complex64:
      return LibraryType::Complex64;
    case DType::Complex128:
      return LibraryType::Complex128;
    default:
      return LibraryType::Float32;
  }
}

// A library's handle for each device, made on first use. Never destroyed: the driver may be gone at exit.
template <class Handle>
class DeviceHandles {
 public:
  // `create` is called with the device current.
  template <class Create>
  Handle get(int device, Create&& create) {
    Handle handle = handles_[device].load(std::memory_order_acquire);
    if (handle) return handle;
    std::lock_guard lock(mutex_);
    handle = handles_[device].load(std::memory_order_relaxed);
    if (handle) return handle;
    DeviceGuard guard(device);
    handle = create();
    handles_[device].store(handle, std::memory_order_release);
    return handle;
  }

 private:
  std::mutex mutex_;                          // guards the creation of handles
  std::atomic<Handle> handles_[kMaxDevices];  // atomic: read on every call, without the lock
};

}  // namespace undertow::core::cuda
