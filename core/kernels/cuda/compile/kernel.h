// kernel.h: a kernel template of the device sources, compiled for the arguments and the GPU it is first used with.
//
//   KernelTemplate fold_rows("reduce/fold.cuh", "fold_rows");
//   Launcher on(out);
//   on.run(fold_rows, {in.dtype(), out.dtype()}, {.blocks = n, .threads = 256}, out.data(), in.data(), n);
//
// The parameters are passed as bytes: their types must be exactly those of the kernel. Parameter structs are declared
// once, in a header that both sides include.
#pragma once
#include <atomic>
#include <initializer_list>
#include <string>

#include "core/kernels/cuda/driver/driver_types.h"
#include "core/kernels/cuda/runtime/stream.h"
#include "core/tensor/tensor.h"

namespace undertow::core::cuda {

// A template argument: a dtype (its C++ type), a number, or the name of a type or constant in the sources.
class TemplateArg {
 public:
  constexpr TemplateArg() = default;
  constexpr TemplateArg(DType t) : kind_(Kind::DType), value_(static_cast<int64_t>(t)) {}
  constexpr TemplateArg(int v) : kind_(Kind::Number), value_(v) {}
  constexpr TemplateArg(int64_t v) : kind_(Kind::Number), value_(v) {}
  constexpr TemplateArg(bool v) : kind_(Kind::Number), value_(v) {}
  // Compared by address: `name` must be a literal.
  TemplateArg(const char* name) : kind_(Kind::Name), value_(reinterpret_cast<intptr_t>(name)) {}
  bool operator==(const TemplateArg&) const = default;
  std::string text() const;

 private:
  enum class Kind : uint8_t { Number, DType, Name };
  Kind kind_ = Kind::Number;
  int64_t value_ = 0;
};
using TemplateArgs = std::initializer_list<TemplateArg>;

// The C++ type of a dtype in device sources: "float", "Half", "Complex<double>".
const char* device_type(DType t);
// A dtype of the same width, one for each width: for kernels that only move elements.
DType same_width(DType t);

class KernelTemplate {
 public:
  // `file`: a device source. `function`: a __global__ function or function template in it.
  KernelTemplate(const char* file, const char* function);
  // The same in a program that is not a file: generated text, which includes the files it needs.
  static KernelTemplate from_text(std::string text, std::string function);
  KernelTemplate(KernelTemplate&& other) noexcept
      : text_(std::move(other.text_)), function_(std::move(other.function_)), first_(other.first_.load()) {}

  // The compiled instance for these arguments on this device.
  CUfunction get(TemplateArgs args, int device) {
    for (const Instance* i = first_.load(std::memory_order_acquire); i; i = i->next)
      if (i->matches(args, device)) return i->function;
    return add(args, device);
  }
  const std::string& function() const { return function_; }
  const std::string& text() const { return text_; }

 private:
  KernelTemplate(std::string text, std::string function) : text_(std::move(text)), function_(std::move(function)) {}
  static constexpr size_t kMaxArgs = 8;
  struct Instance {
    TemplateArg args[kMaxArgs];
    int device;
    CUfunction function;
    const Instance* next;
    bool matches(TemplateArgs wanted, int on) const {
      if (on != device) return false;
      const TemplateArg* mine = args;
      for (const TemplateArg& a : wanted)
        if (!(a == *mine++)) return false;
      return true;
    }
  };
  CUfunction add(TemplateArgs args, int device);
  std::string text_, function_;
  // A list that only grows at the front: readers need no lock. Never freed: kernels live as long as the process.
  std::atomic<const Instance*> first_{nullptr};
};

struct LaunchShape {
  int64_t blocks = 1;
  unsigned threads = 256;
  unsigned shared_bytes = 0;  // dynamic shared memory per block
  unsigned blocks_y = 1, blocks_z = 1, threads_y = 1;
};

// Runs kernels on the device of a tensor, on the current stream of that device.
class Launcher {
 public:
  explicit Launcher(const Tensor& t) : Launcher(t.device().index) {}
  explicit Launcher(int device) : guard_(device), device_(device), stream_(current_stream(device)) {}
  template <class... Params>
  void run(KernelTemplate& kernel, TemplateArgs args, const LaunchShape& shape, const Params&... params) const {
    void* pointers[] = {const_cast<void*>(static_cast<const void*>(&params))..., nullptr};
    launch(kernel, kernel.get(args, device_), shape, pointers);
  }
  int device() const { return device_; }
  CUstream stream() const { return stream_; }
  int multiprocessors() const;

 private:
  void launch(const KernelTemplate& kernel, CUfunction function, const LaunchShape& shape, void** params) const;
  DeviceGuard guard_;
  int device_;
  CUstream stream_;
};

inline int64_t blocks_for(int64_t n, int64_t per_block) { return (n + per_block - 1) / per_block; }

}  // namespace undertow::core::cuda
