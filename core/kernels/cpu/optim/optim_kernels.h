// optim_kernels.h: one step of each optimizer over flat runs of elements, compiled once per instruction set.
// Knows arithmetic only: which pointer is what is said in optim.isa.cpp, beside each formula.
#pragma once
#include <cstdint>

namespace undertow::cpu {

enum class Optim : uint8_t {
  Sgd,
  Adam,
  Adamax,
  NAdam,
  RAdam,
  RMSprop,
  Adagrad,
  Adadelta,
  Rprop,
  Asgd,
  Ftrl,
  RMSpropInRoot,
  Count
};
inline constexpr int kOptims = static_cast<int>(Optim::Count);
inline constexpr int kMaxOptimTensors = 6;
inline constexpr int kMaxOptimConstants = 12;

// p: parameter, gradient, then the states; a state that is not in use is null. c: the step's constants.
using OptimFn = void (*)(void* const* p, int64_t n, const double* c);

namespace isa_baseline {
OptimFn optim_step(Optim which, bool is_double);
}
namespace isa_avx2 {
OptimFn optim_step(Optim which, bool is_double);
}
namespace isa_avx512 {
OptimFn optim_step(Optim which, bool is_double);
}

}  // namespace undertow::cpu
