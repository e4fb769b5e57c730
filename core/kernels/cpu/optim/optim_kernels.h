// optim_kernels.h: one step of each optimizer over flat runs of elements, compiled once per instruction set.
// Knows arithmetic only: optim.isa.cpp lists the pointers and constants next to each formula.
#pragma once
#include <cstdint>

#include "core/kernels/cpu/isa.h"
#include "core/kernels/optim_algorithm.h"

namespace undertow::core::cpu {

// p: parameter, gradient, then the states; an unused state is null. c: the step's constants.
using OptimFn = void (*)(void* const* p, int64_t n, const double* c);

UNDERTOW_FOR_EACH_ISA(OptimFn optim_step(OptimAlgorithm which, bool is_double);)

}  // namespace undertow::core::cpu
