// reduce_index.h: finds the first index of a known value, compiled once per instruction set.
#pragma once
#include <cstdint>

#include "core/kernels/cpu/isa.h"
#include "core/tensor/dtype/dtype.h"

namespace undertow::core::cpu {

// in is n rows of `inner` columns; at[j] = the first i with in[i][j] equal to value[j] (NaN equals NaN), which exists.
using FindFn = void (*)(const char* in, const char* value, int64_t n, int64_t inner, int64_t* at);
FindFn find_fn(DType t);

UNDERTOW_FOR_EACH_ISA(FindFn find_for(DType t);)

}  // namespace undertow::core::cpu
