// where_kernels.h: selects between two runs of elements by a run of booleans, compiled once per instruction set.
// Works on bits of one, two, four, eight or sixteen bytes; knows no tensor type.
#pragma once

#include <cstdint>

#include "core/kernels/cpu/isa.h"

namespace undertow::core::cpu {

// p: output, condition (bytes), value if true, value if false; strides in bytes; n elements of `width` bytes.
using WhereFn = void (*)(char* const* p, const int64_t* strides, int64_t n);

UNDERTOW_FOR_EACH_ISA(WhereFn where_loop(int64_t width);)

}  // namespace undertow::core::cpu
