// half_loops.h: a float loop run over operands of a half type, block by block.
// Knows element types and strides; not which operator the loop computes.
#pragma once
#include "core/kernels/cpu/loops.h"

namespace undertow::cpu {

// `loop` computes in float: inputs are widened into blocks, and its results rounded once to `half`; results of one byte
// (bool) are stored as they come. A kernel of its own for every operator would not be faster and took 1.4 MB.
void loop_in_float(LoopFn loop, DType half, int inputs, bool to_bool, char* const* p, const int64_t* strides, int64_t n, const Scalar* params);

}  // namespace undertow::cpu
