// reduce.cpp: the CUDA backend's ReduceKernels: steps after a reduction, and sums of whole tensors. fold.cpp has the
// reductions, extremum.cpp and select.cpp the selections.
#include "core/kernels/cuda/reduce/reduce.h"

#include <algorithm>

#include "core/kernels/cuda/copy/copy.h"
#include "core/kernels/cuda/pointwise/operators.h"
#include "core/kernels/cuda/reduce/extremum.h"
#include "core/kernels/cuda/reduce/finish_params.h"
#include "core/kernels/cuda/reduce/fold.h"
#include "core/kernels/cuda/reduce/select.h"
#include "core/tensor/dtype/storage_dtypes.h"

namespace undertow::core::cuda {

namespace {

constexpr unsigned kThreads = 256;
constexpr char kFinishSource[] = "#include \"reduce/finish.cuh\"\n";
PointwiseProgram divide_by(kFinishSource, "DivideBy"), square_root(kFinishSource, "SquareRoot"),
    to_power(kFinishSource, "ToPower"), zero_infinite(kFinishSource, "ZeroInfinite"),
    scale_down_to(kFinishSource, "ScaleDownTo"), magnitude(kFinishSource, "Magnitude"),
    log_plus_program(kFinishSource, "LogPlus");
KernelTemplate add_terms("reduce/finish.cuh", "add_terms");

void elementwise(PointwiseProgram& program, DType argument, const Tensor& out, TensorSpan in, double number = 0) {
  ElementwiseIter iter;
  iter.add_output(out, out.dtype());
  int64_t widths[3] = {out.itemsize()};
  for (size_t k = 0; k < in.size(); k++) {
    iter.add_input(in[k]);
    widths[k + 1] = in[k].itemsize();
  }
  iter.build();
  PointwiseOperands operands;
  write_element(DType::Float64, Scalar(number), operands.numbers[0].bytes);
  run_program(program, argument, iter, widths, operands);
}

void finish(const Tensor& t, Finish op, double number) {
  PointwiseProgram* const programs[] = {&divide_by, &square_root, &to_power, &zero_infinite, &scale_down_to};
  elementwise(*programs[static_cast<size_t>(op)], t.dtype(), t, {&t, 1}, number);
}

void magnitudes(const Tensor& out, const Tensor& in) { elementwise(magnitude, in.dtype(), out, {&in, 1}); }

void log_plus(const Tensor& sum, const Tensor& most) {
  const Tensor in[] = {sum, most};
  elementwise(log_plus_program, sum.dtype(), sum, in);
}

void add_n(const Tensor& out, TensorSpan terms) {
  Launcher on(out);
  int64_t n = out.numel();
  bool more = false;
  while (!terms.empty()) {
    undertow::AddTerms part;
    part.count = static_cast<int>(std::min<size_t>(terms.size(), undertow::AddTerms::kMost));
    for (int k = 0; k < part.count; k++) part.from[k] = terms[static_cast<size_t>(k)].data();
    terms = terms.subspan(static_cast<size_t>(part.count));
    on.run(add_terms, {out.dtype()}, {.blocks = std::min<int64_t>(blocks_for(n, kThreads), 65536), .threads = kThreads},
           out.data(), part, n, more);
    more = true;
  }
}

}  // namespace

const ReduceKernels reduce_kernels = {
    .fold = fold,
    .finish = finish,
    .magnitudes = magnitudes,
    .log_plus = log_plus,
    .extremum = extremum,
    .median = median,
    .kthvalue = kthvalue,
    .mode = mode,
    .add_n = add_n,
    .mean = mean,
};

}  // namespace undertow::core::cuda
