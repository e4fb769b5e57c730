// special.cpp: see special.h. In double for every dtype: they are not performance-critical. The device functions have
// the operators' names.
#include "core/kernels/cuda/pointwise/special.h"

#include <mutex>

#include "core/kernels/cuda/compile/kernel.h"

namespace undertow::core::cuda {

namespace {

constexpr unsigned kThreads = 128;

// One program per name, composed on first use and never freed. Few programs, seldom called: a list and a lock suffice.
KernelTemplate& kernel_of(const char* include, const char* call, std::string_view name) {
  struct Made {
    std::string name;
    KernelTemplate kernel;
    Made* next;
  };
  static std::mutex mutex;
  static Made* first = nullptr;
  std::lock_guard lock(mutex);
  for (Made* m = first; m; m = m->next)
    if (m->name == name) return m->kernel;
  std::string text = str("#include \"", include, "\"\n");
  first = new Made{std::string(name), KernelTemplate::from_text(text, str(call, "<special::", name, ">")), first};
  return first->kernel;
}

}  // namespace

void special_function(const Tensor& out, const Tensor& x, std::string_view name) {
  Launcher on(out);
  on.run(kernel_of("pointwise/special_cylinder.cuh", "special_function", name), {},
         {.blocks = blocks_for(out.numel(), kThreads), .threads = kThreads}, out.data(), x.data(), out.numel());
}

void special_polynomial(const Tensor& out, const Tensor& x, const Tensor& degrees, std::string_view name) {
  Launcher on(out);
  on.run(kernel_of("pointwise/special_polynomial.cuh", "special_polynomial", name), {},
         {.blocks = blocks_for(out.numel(), kThreads), .threads = kThreads}, out.data(), x.data(), degrees.data(),
         out.numel());
}

}  // namespace undertow::core::cuda
