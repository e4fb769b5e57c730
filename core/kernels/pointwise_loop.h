// pointwise_loop.h: the type of the CPU's loop for one pointwise operator and dtype.
#pragma once
#include <cstdint>

namespace undertow::core {

class Scalar;

// p[0] is the output, p[1..] the inputs; strides in bytes; n elements; params are the operator's parameters.
using LoopFn = void (*)(char* const* p, const int64_t* strides, int64_t n, const Scalar* params);

}  // namespace undertow::core
