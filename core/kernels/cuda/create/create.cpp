// create.cpp: the CUDA backend's CreateKernels: arange, linspace and logspace.
#include "core/kernels/cuda/create/create.h"

#include <algorithm>

#include "core/kernels/cuda/compile/kernel.h"
#include "core/tensor/dtype/storage_dtypes.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate arange_kernel("create/create.cuh", "arange");
KernelTemplate spaced_kernel("create/create.cuh", "spaced");

constexpr unsigned kThreads = 256;
LaunchShape shape_for(int64_t n) {
  return {.blocks = std::min<int64_t>(blocks_for(n, kThreads), 65536), .threads = kThreads};
}

struct alignas(16) Value {
  char bytes[16];
  Value(DType t, const Scalar& v) { write_element(t, v, bytes); }
};

void arange(const Tensor& out, const Scalar& start, const Scalar& step) {
  DType t = out.dtype();
  DType math = is_integral(t) ? DType::Int64 : is_reduced_float(t) ? DType::Float32 : DType::Float64;
  Launcher(out).run(arange_kernel, {t}, shape_for(out.numel()), out.data(), Value(math, start), Value(math, step),
                    out.numel());
}

void spaced(const Tensor& out, const Scalar& start, const Scalar& end, double base, bool logarithmic) {
  DType t = out.dtype() == DType::Bool ? DType::Float64 : out.dtype();
  Launcher(out).run(spaced_kernel, {out.dtype(), logarithmic}, shape_for(out.numel()), out.data(), Value(t, start),
                    Value(t, end), base, out.numel());
}
void linspace(const Tensor& out, const Scalar& start, const Scalar& end) { spaced(out, start, end, 0, false); }
void logspace(const Tensor& out, const Scalar& start, const Scalar& end, double base) {
  spaced(out, start, end, base, true);
}

}  // namespace

const CreateKernels create_kernels = {.arange = arange, .linspace = linspace, .logspace = logspace};

}  // namespace undertow::core::cuda
