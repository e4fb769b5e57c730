// kernel.h: one entry of a backend's table: a function pointer that knows its operator's name and raises an error with
// it if the device lacks the kernel. Knows tensors only to find the device for that error.
#pragma once
#include <algorithm>
#include <type_traits>

#include "core/base/error.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/tensor.h"

// A table leaves out the kernels its device does not have.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

namespace undertow::core {

// The operator's name as a template argument: Kernel<"sort", void(const Tensor& values, ...)>.
template <size_t n>
struct KernelName {
  char text[n];
  constexpr KernelName(const char (&s)[n]) { std::copy_n(s, n, text); }
};

// Marks a kernel that does nothing because the device has no memory (meta).
struct NoWork {};
inline constexpr NoWork no_work;

[[noreturn]] void throw_missing_kernel(const char* name, Device device);
// Raises if a kernel that supports these groups of storage dtypes does not support t, one of them.
void check_storage_kernel(const char* name, uint8_t supported, DType t);

namespace kernel_detail {
// The device of the operands: the first one that is not on the CPU decides.
template <class T>
void note_device(Device&, const T&) {}
inline void note_device(Device& found, const Tensor& t) {
  if (found.is_cpu() && t.defined()) found = t.device();
}
inline void note_device(Device& found, const ElementwiseIter& iter) {
  if (found.is_cpu()) found = iter.device();
}
inline void note_device(Device& found, TensorSpan list) {
  for (const Tensor& t : list) note_device(found, t);
}
// No kernel sees elements of a storage dtype that it did not ask for: it would read them as another type.
template <class T>
void check_dtype(const char*, uint8_t, const T&) {}
inline void check_dtype(const char* name, uint8_t supported, DType t) {
  if (UT_UNLIKELY(is_storage(t))) check_storage_kernel(name, supported, t);
}
inline void check_dtype(const char* name, uint8_t supported, const Tensor& t) {
  if (t.defined()) check_dtype(name, supported, t.dtype());
}
inline void check_dtype(const char* name, uint8_t supported, TensorSpan list) {
  for (const Tensor& t : list) check_dtype(name, supported, t);
}
}  // namespace kernel_detail

// `storage`: the groups of storage dtypes that the kernel supports. See Note [Storage DTypes].
template <KernelName name, class Signature, uint8_t storage = 0>
class Kernel;

template <KernelName name, class R, class... Args, uint8_t storage>
class Kernel<name, R(Args...), storage> {
 public:
  constexpr Kernel() = default;  // the device has no such kernel
  constexpr Kernel(R (*run)(Args...)) : run_(run) {}
  constexpr Kernel(NoWork)
    requires std::is_void_v<R>
      : run_([](Args...) {}) {}

  R operator()(Args... args) const {
    if (UT_UNLIKELY(!run_)) {
      Device device;
      (kernel_detail::note_device(device, args), ...);
      throw_missing_kernel(name.text, device);
    }
    if constexpr (storage != kAnyStorage) (kernel_detail::check_dtype(name.text, storage, args), ...);
    return run_(static_cast<Args&&>(args)...);
  }

 private:
  R (*run_)(Args...) = nullptr;
};

}  // namespace undertow::core
