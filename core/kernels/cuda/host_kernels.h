// host_kernels.h: kernels that this backend does not compute on the device: the tensors are copied to the host, the
// CPU's kernel runs there, and the results are copied back. For what NVIDIA's libraries lack (eigenvalues of general
// matrices, say), and where a library is not installed.
#pragma once
#include <tuple>
#include <utility>

#include "core/kernels/backend.h"
#include "core/kernels/cuda/memory.h"
#include "core/kernels/kernel.h"

namespace undertow::core::cuda {

// One argument of a kernel on the host. Tensors are dense, in any order of dimensions, and no two of them share memory.
template <class T>
class HostArgument {
 public:
  explicit HostArgument(T value) : value_(value) {}
  T get() const { return value_; }
  void copy_back() const {}

 private:
  T value_;
};
template <>
class HostArgument<const Tensor&> {
 public:
  explicit HostArgument(const Tensor& device) : device_(device) {
    if (!device.defined()) return;
    host_ = empty_strided(device.sizes(), device.strides(), device.dtype());
    copy_memory(host_.data(), kCpu, device.data(), device.device(), static_cast<size_t>(device.nbytes()));
  }
  const Tensor& get() const { return host_; }
  // Any tensor may be a result.
  void copy_back() const {
    if (!host_.defined()) return;
    copy_memory(device_.data(), device_.device(), host_.data(), kCpu, static_cast<size_t>(device_.nbytes()));
  }

 private:
  const Tensor& device_;
  Tensor host_;
};

// `family`: the member of Backend; `kernel`: the member of the family's table. HostKernel<...>::run is a table entry.
template <auto family, auto kernel>
struct HostKernel;
template <class Family, const Family* Backend::* family, KernelName name, class R, class... Args, uint8_t storage,
          Kernel<name, R(Args...), storage> Family::* kernel>
struct HostKernel<family, kernel> {
  static R run(Args... args) {
    std::tuple<HostArgument<Args>...> hosts{HostArgument<Args>(args)...};
    return std::apply(
        [](const auto&... host) {
          const Family& table = *(backend_of(kCpu).*family);
          if constexpr (std::is_void_v<R>) {
            (table.*kernel)(host.get()...);
            (host.copy_back(), ...);
          } else {
            R result = (table.*kernel)(host.get()...);
            (host.copy_back(), ...);
            return result;
          }
        },
        hosts);
  }
};

}  // namespace undertow::core::cuda
