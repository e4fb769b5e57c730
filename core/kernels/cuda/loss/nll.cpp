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
KernelTemplate sums_kernel("loss/nll.cuh", "nll_sums");
KernelTemplate finish_kernel("loss/nll.cuh", "nll_finish");
KernelTemplate gradients_kernel("loss/nll.cuh", "nll_gradients");

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

void nll(const Tensor& each, const Tensor&, const Tensor& in, const Tensor& target, const Tensor& weight,
         const ClassGeometry& geometry, int64_t ignore, bool) {
  Launcher on(in);
  NllItems items = items_of(on, target, geometry, ignore);
  on.run(values_kernel, {in.dtype(), each.dtype()}, shape_for(items.n), each.data(), in.data(), data_or_null(weight),
         items);
}

// One launch for most batches: a block reads 8 bytes of the target and a score per item.
void nll_total(const Tensor& out, const Tensor& total, const Tensor& in, const Tensor& target, const Tensor& weight,
               const ClassGeometry& geometry, int64_t ignore, bool mean) {
  Launcher on(in);
  NllItems items = items_of(on, target, geometry, ignore);
  constexpr int64_t kOneBlock = 1 << 15;
  const DType t = in.dtype(), w = is_reduced_float(t) ? DType::Float32 : t;
  const bool alone = items.n <= kOneBlock;
  const LaunchShape shape{.blocks = alone ? 1 : std::min<int64_t>(blocks_for(items.n, 4096), 1024), .threads = 1024};
  Tensor parts;
  if (!alone) parts = empty_on_device_of(in, Dims{shape.blocks, int64_t{2}}, DType::Float64);
  on.run(sums_kernel, {t, w}, shape, out.data(), total.data(), data_or_null(parts), in.data(), data_or_null(weight),
         items, mean);
  if (!alone)
    on.run(finish_kernel, {t}, {.blocks = 1, .threads = 1024}, out.data(), total.data(), parts.data(), shape.blocks,
           mean);
}

void nll_backward(const Tensor& out, const Tensor& grad, const Tensor& target, const Tensor& weight,
                  const Tensor& total, const ClassGeometry& geometry, int64_t ignore, int64_t reduction) {
  Launcher on(out);
  NllItems items = items_of(on, target, geometry, ignore);
  const DType t = grad.dtype(), w = is_reduced_float(t) ? DType::Float32 : t;
  on.run(gradients_kernel, {out.dtype(), w, t}, shape_for(items.n), out.data(), grad.data(), data_or_null(weight),
         reduction == kMean ? total.data() : nullptr, reduction == kNone, items);
}

const LossKernels loss_kernels = {
    .values = loss_values,
    .total = loss_total,
    .gradients = loss_gradients,
    .nll = nll,
    .nll_total = nll_total,
    .nll_backward = nll_backward,
    .check_labels = check_labels,
    .ctc = ctc,
    .ctc_backward = ctc_backward,
};

}  // namespace undertow::core::cuda
