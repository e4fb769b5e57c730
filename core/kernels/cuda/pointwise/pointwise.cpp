// pointwise.cpp: the CUDA backend's PointwiseKernels: operators of the tables, and the few with several results or
// mixed dtypes.
#include "core/kernels/cuda/pointwise/pointwise.h"

#include "core/kernels/cuda/device/loop_nest_host.h"
#include "core/kernels/cuda/pointwise/operators.h"
#include "core/kernels/cuda/pointwise/special.h"

namespace undertow::core::cuda {

namespace {

constexpr char kMixed[] = "#include \"pointwise/mixed.cuh\"\n";
PointwiseProgram where_program(kMixed, "Where"), complex_program(kMixed, "MakeComplex"), polar_program(kMixed, "Polar"),
    nextafter_program(kMixed, "NextAfterHalf");
KernelTemplate frexp_kernel("pointwise/mixed.cuh", "frexp_strided");

void run(const PointwiseOp& op, DType compute, const ElementwiseIter& iter, const Scalar* params) {
  PointwiseProgram& program = program_of(op, compute);
  PointwiseOperands operands;
  write_parameters(op, compute, params, operands.numbers);
  int64_t width = itemsize(compute), widths[] = {itemsize(op.result_dtype(compute)), width, width, width};
  run_program(program, compute, iter, widths, operands);
}

// Only moves elements, so only their width matters.
void where(const ElementwiseIter& iter, DType dtype) {
  PointwiseOperands operands;
  int64_t width = itemsize(dtype), widths[] = {width, 1, width, width};
  run_program(where_program, same_width(dtype), iter, widths, operands);
}

void nextafter_half(const ElementwiseIter& iter, DType half) {
  PointwiseOperands operands;
  int64_t widths[] = {2, 2, 2};
  run_program(nextafter_program, half, iter, widths, operands);
}

void make_complex(PointwiseProgram& program, const ElementwiseIter& iter, DType real) {
  PointwiseOperands operands;
  int64_t width = itemsize(real), widths[] = {2 * width, width, width};
  run_program(program, real, iter, widths, operands);
}
void complex(const ElementwiseIter& iter, DType real) { make_complex(complex_program, iter, real); }
void polar(const ElementwiseIter& iter, DType real) { make_complex(polar_program, iter, real); }

void frexp(const ElementwiseIter& iter, DType dtype) {
  if (iter.numel() == 0) return;
  Launcher on(iter.device().index);
  for_each_part(loop_of<3>(iter), [&](const Loop<3>& part) {
    uint32_t n = static_cast<uint32_t>(part.numel());
    on.run(frexp_kernel, {dtype}, {.blocks = blocks_for(n, 256), .threads = 256}, part.pointers[0], part.pointers[1],
           part.pointers[2], n, part.nest());
  });
}

}  // namespace

const PointwiseKernels pointwise_kernels = {
    .run = run,
    .where = where,
    .frexp = frexp,
    .nextafter_half = nextafter_half,
    .complex = complex,
    .polar = polar,
    .special_function = special_function,
    .special_polynomial = special_polynomial,
};

}  // namespace undertow::core::cuda
