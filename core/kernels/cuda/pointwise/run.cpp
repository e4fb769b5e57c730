// run.cpp: chooses the kernel of a pointwise program by the operands' layouts, and launches it.
#include <algorithm>
#include <cstring>

#include "core/kernels/cuda/pointwise/operators.h"

namespace undertow::core::cuda {

namespace {

using undertow::kPointwiseInputs;
using undertow::kPointwiseThreads;

bool is_multiple(const void* p, int64_t of) { return reinterpret_cast<uintptr_t>(p) % static_cast<uintptr_t>(of) == 0; }

// Fills in pointers, and constants from host memory. True if every operand is dense in the same order or one value.
bool describe(const ElementwiseIter& iter, const int64_t* widths, int64_t vector, PointwiseOperands& o) {
  bool single = iter.dims().empty();
  bool dense = single || (iter.dims().size() == 1 && iter.byte_strides(0)[0] == widths[0]);
  o.out = iter.pointer(0);
  o.aligned = is_multiple(o.out, vector * widths[0]);
  for (int k = 0; k + 1 < iter.count(); k++) {
    int64_t width = widths[k + 1];
    if (iter.on_host(k + 1)) {
      std::memcpy(o.constants[k].bytes, iter.pointer(k + 1), static_cast<size_t>(width));
      o.kinds[k] = undertow::kConstantInput;
      continue;
    }
    o.in[k] = iter.pointer(k + 1);
    o.kinds[k] = undertow::kDenseInput;
    if (single || !dense) continue;
    int64_t stride = iter.byte_strides(k + 1)[0];
    if (stride == 0)
      o.kinds[k] = undertow::kScalarInput;
    else if (stride == width)
      o.aligned &= is_multiple(o.in[k], vector * width);
    else
      dense = false;
  }
  return dense;
}

// Do all operands consist of whole aligned vectors along the innermost dimension, or repeat one value there?
bool has_vectors(const PointwiseLoop& loop, int operands, const int64_t* widths, int64_t vector,
                 const PointwiseOperands& o, uint32_t& repeated) {
  if (vector == 1 || loop.sizes.empty() || loop.sizes[0] % vector) return false;
  for (int k = 0; k < operands; k++) {
    if (k > 0 && o.kinds[k - 1] == undertow::kConstantInput) continue;
    const Dims& strides = loop.strides[k];
    if (k > 0 && strides[0] == 0) {
      repeated |= 1u << (k - 1);
      continue;
    }
    if (strides[0] != widths[k] || !is_multiple(loop.pointers[k], vector * widths[k])) return false;
    for (size_t d = 1; d < strides.size(); d++)
      if (strides[d] % (vector * widths[k])) return false;
  }
  return true;
}

int64_t widest_of(const int64_t* widths, int operands) { return *std::max_element(widths, widths + operands); }

}  // namespace

void run_program(PointwiseProgram& program, DType argument, const ElementwiseIter& iter, const int64_t* widths,
                 PointwiseOperands& o) {
  int64_t n = iter.numel();
  if (n == 0) return;
  int widest = static_cast<int>(widest_of(widths, iter.count()));
  int64_t vector = undertow::vector_elements(widest);
  Launcher on(iter.device().index);
  if (UT_UNLIKELY(!describe(iter, widths, vector, o)))
    return run_loop(on, program, argument, loop_of<kPointwiseInputs + 1>(iter), iter.count(), widths, o);
  on.run(program.dense, {program.functor, argument},
         {.blocks = blocks_for(n, kPointwiseThreads * vector * undertow::vectors_per_thread(widest)),
          .threads = kPointwiseThreads},
         o, n);
}

void run_loop(const Launcher& on, PointwiseProgram& program, DType argument, PointwiseLoop loop, int operands,
              const int64_t* widths, PointwiseOperands& o) {
  int widest = static_cast<int>(widest_of(widths, operands));
  int64_t vector = undertow::vector_elements(widest), vectors = undertow::vectors_per_thread(widest);
  uint32_t repeated = 0;
  bool by_vectors = has_vectors(loop, operands, widths, vector, o, repeated);
  if (by_vectors) {
    loop.sizes[0] /= vector;
    for (Dims& strides : loop.strides) strides[0] *= vector;
  }
  for_each_part(loop, [&](const PointwiseLoop& part) {
    o.out = part.pointers[0];
    for (int k = 0; k < kPointwiseInputs; k++) o.in[k] = part.pointers[k + 1];
    uint32_t count = static_cast<uint32_t>(part.numel());
    if (by_vectors)
      on.run(program.vectors, {program.functor, argument},
             {.blocks = blocks_for(count, kPointwiseThreads * vectors), .threads = kPointwiseThreads}, o, count,
             repeated, part.nest());
    else
      on.run(
          program.strided, {program.functor, argument},
          {.blocks = blocks_for(count, kPointwiseThreads * undertow::strided_elements), .threads = kPointwiseThreads},
          o, count, part.nest());
  });
}

}  // namespace undertow::core::cuda
