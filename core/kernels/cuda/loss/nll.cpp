// nll.cpp: launches of nll.cuh; and the CUDA backend's LossKernels.
#include <algorithm>

#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/cuda/loss/loss.h"
#include "core/kernels/cuda/loss/losses.h"
#include "core/kernels/cuda/loss/nll_params.h"
#include "core/kernels/cuda/runtime/device_errors.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate values_kernel("loss/nll.cuh", "nll_values");
KernelTemplate gradients_kernel("loss/nll.cuh", "nll_gradients");
KernelTemplate add_up("loss/elementwise.cuh", "add_up_blocks");

constexpr unsigned kThreads = 256;

void raise_bad_target(int64_t t, int64_t, int64_t) { UT_FAIL_AS(Index, "Target ", t, " is out of bounds."); }

NllItems items_of(const Launcher& on, const Tensor& target, const ClassGeometry& g, int64_t ignore) {
  return {target.data_as<int64_t>(),
          g.n * g.space,
          g.c,
          g.space,
          ignore,
          device_error_slot(on.device()),
          reinterpret_cast<int64_t>(raise_bad_target)};
}
LaunchShape shape_for(int64_t n) {
  return {.blocks = std::clamp<int64_t>(blocks_for(n, kThreads), 1, 1024), .threads = kThreads};
}
char* data_or_null(const Tensor& t) { return t.defined() ? t.data() : nullptr; }

}  // namespace

void nll(const Tensor& each, const Tensor& total, const Tensor& in, const Tensor& target, const Tensor& weight,
         const ClassGeometry& geometry, int64_t ignore, bool sum_weights) {
  Launcher on(in);
  NllItems items = items_of(on, target, geometry, ignore);
  LaunchShape shape = shape_for(items.n);
  Tensor parts;
  if (sum_weights && shape.blocks > 1) parts = empty_on_device_of(in, Dims{shape.blocks}, DType::Float64);
  on.run(values_kernel, {in.dtype(), each.dtype()}, shape, each.data(), sum_weights ? total.data() : nullptr,
         data_or_null(parts), in.data(), data_or_null(weight), items);
  if (parts.defined())
    on.run(add_up, {total.dtype()}, {.blocks = 1, .threads = kThreads}, total.data(), parts.data(), shape.blocks, 1.0);
}

void nll_backward(const Tensor& out, const Tensor& grad, const Tensor& target, const Tensor& weight,
                  const Tensor& total, const ClassGeometry& geometry, int64_t ignore, int64_t reduction) {
  Launcher on(out);
  NllItems items = items_of(on, target, geometry, ignore);
  on.run(gradients_kernel, {out.dtype(), grad.dtype()}, shape_for(items.n), out.data(), grad.data(),
         data_or_null(weight), reduction == kMean ? total.data() : nullptr, reduction == kNone, items);
}

const LossKernels loss_kernels = {
    .values = loss_values,
    .total = loss_total,
    .gradients = loss_gradients,
    .nll = nll,
    .nll_backward = nll_backward,
    .check_labels = check_labels,
    .ctc = ctc,
    .ctc_backward = ctc_backward,
};

}  // namespace undertow::core::cuda
