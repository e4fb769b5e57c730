// group_norm.cpp: launches of group_norm.cuh.
#include <algorithm>
#include <bit>

#include "core/kernels/cuda/copy/copy.h"
#include "core/kernels/cuda/normalization/group_norm_params.h"
#include "core/kernels/cuda/normalization/norms.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate blocks_kernel("normalization/group_norm.cuh", "group_norm_blocks");
KernelTemplate channel_sums("normalization/group_norm.cuh", "group_channel_sums");
KernelTemplate weight_grads("normalization/group_norm.cuh", "group_weight_grads");
KernelTemplate backward_blocks("normalization/group_norm.cuh", "group_norm_backward_blocks");

GroupLayout layout_of(const NormGroups& s) { return {s.batch, s.channels, s.inner, s.groups, s.per_group}; }

LaunchShape per_group(const NormGroups& s) {
  auto threads = static_cast<unsigned>(std::bit_ceil(static_cast<uint64_t>(std::clamp<int64_t>(s.each(), 32, 512))));
  return {.blocks = s.batch * s.groups, .threads = threads};
}

}  // namespace

void group_norm(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& x, const Tensor& weight,
                const Tensor& bias, const NormGroups& s, double eps) {
  Launcher on(x);
  in_wide(x.dtype(), eps, [&](auto small) {
    on.run(blocks_kernel, {x.dtype()}, per_group(s), out.data(), mean.data(), rstd.data(), x.data(),
           data_or_null(weight), data_or_null(bias), layout_of(s), small);
  });
}

void group_norm_backward(const Tensor& to, const Tensor& weight_grad, const Tensor& bias_grad, const Tensor& grad,
                         const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                         const NormGroups& s) {
  Launcher on(x);
  DType t = x.dtype();
  Tensor sums = empty_on_device_of(x, Dims{s.batch, s.channels}, t),
         dots = empty_on_device_of(x, Dims{s.batch, s.channels}, t);
  on.run(channel_sums, {t}, {.blocks = blocks_for(s.batch * s.channels, 4), .threads = 128}, sums.data(), dots.data(),
         grad.data(), x.data(), mean.data(), layout_of(s));
  on.run(weight_grads, {t}, {.blocks = blocks_for(s.channels, 128), .threads = 128}, weight_grad.data(),
         bias_grad.data(), sums.data(), dots.data(), rstd.data(), layout_of(s));
  if (to.defined())
    on.run(backward_blocks, {t}, per_group(s), to.data(), grad.data(), x.data(), mean.data(), rstd.data(),
           data_or_null(weight), sums.data(), dots.data(), layout_of(s));
}

// The sums of all items go to the first row of the tables.
void group_norm_lines_backward(const Tensor& to, const Tensor& weight_sums, const Tensor& bias_sums, const Tensor& grad,
                               const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                               const NormGroups& s, int64_t) {
  if (s.batch == 0) return;
  zero(weight_sums);
  zero(bias_sums);
  group_norm_backward(to, weight_sums, bias_sums, grad, x, mean, rstd, weight, s);
}

}  // namespace undertow::core::cuda
