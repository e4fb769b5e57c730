// gathered.h: runs a loop that was compiled for contiguous operands over strided ones, block by block.
// Knows widths and strides; not what the loop computes.
#pragma once
#include <cstdint>

namespace undertow::core::cpu {

// p[0] is the output, p[1..] the inputs, all contiguous; op is the operator with its parameters.
using ContiguousLoop = void (*)(const void* op, int64_t n, char* const* p);

struct OperandWidths {
  int inputs;   // one or two, of the same width
  int in, out;  // bytes of an element
};

// One function for all loops: a copy of it in each loop took 350 KB. A loop of integers may raise (division by zero);
// callers with other loops need no unwind tables.
void run_gathered_integers(ContiguousLoop loop, const void* op, OperandWidths widths, char* const* p,
                           const int64_t* strides, int64_t n);
void run_gathered(ContiguousLoop loop, const void* op, OperandWidths widths, char* const* p, const int64_t* strides,
                  int64_t n) noexcept;

}  // namespace undertow::core::cpu
