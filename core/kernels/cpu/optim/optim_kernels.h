// optim_kernels.h: one step of each optimizer over flat runs of elements, compiled once per instruction set.
// Knows arithmetic only: which pointer is what is said in optim.isa.cpp, beside each formula.
#pragma once
#include <cstdint>

#include "core/kernels/cpu/isa.h"
#include "core/kernels/optim_algorithm.h"

namespace undertow::cpu {

// p: parameter, gradient, then the states; a state that is not in use is null. c: the step's constants.
using OptimFn = void (*)(void* const* p, int64_t n, const double* c);

UNDERTOW_FOR_EACH_ISA(OptimFn optim_step(OptimAlgorithm which, bool is_double);)

}  // namespace undertow::cpu
