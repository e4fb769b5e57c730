// batch_norm.cpp: launches of batch_norm.cuh; and the CUDA backend's NormalizationKernels.
#include <algorithm>
#include <bit>

#include "core/kernels/cuda/device/pack_choice.h"
#include "core/kernels/cuda/normalization/batch_norm_params.h"
#include "core/kernels/cuda/normalization/normalization.h"
#include "core/kernels/cuda/normalization/norms.h"

namespace undertow::core::cuda {

namespace {

// For channels that are not innermost, and for those that are.
struct KernelPair {
  KernelTemplate planes, columns;
  KernelTemplate& of(const NormImages& s) { return s.rows ? columns : planes; }
};
KernelTemplate of_file(const char* function) { return {"normalization/batch_norm.cuh", function}; }

KernelPair moments_kernel{of_file("planes_moments"), of_file("columns_moments")};
KernelPair normalise_kernel{of_file("planes_normalise"), of_file("columns_normalise")};
KernelPair sums_kernel{of_file("planes_sums"), of_file("columns_sums")};
KernelPair backward_kernel{of_file("planes_backward"), of_file("columns_backward")};
KernelTemplate settle_moments = of_file("settle_moments");
KernelTemplate settle_sums = of_file("settle_sums");

constexpr unsigned kThreads = 256;

// For the kernels that combine parts: 32 channels side by side, and a power of two of threads for the parts of each.
LaunchShape per_channel(const ChannelLayout& s) {
  const auto down = std::bit_floor(static_cast<uint64_t>(std::clamp<int64_t>(s.parts, 1, kSettleThreads / 32)));
  return {.blocks = blocks_for(s.channels, 32), .threads = 32, .threads_y = static_cast<unsigned>(down)};
}

// How the channels are divided among blocks: for sums, which a second kernel adds up, and for maps.
struct Parts {
  int pack;
  ChannelLayout sums, map;
  LaunchShape sums_shape, map_shape;
};
Parts parts_for(const Launcher& on, const NormImages& s, std::initializer_list<const Tensor*> tensors) {
  const int64_t each = s.each(), processors = on.multiprocessors();
  const int pack = pack_for_rows(s.rows ? s.channels : s.inner, tensors);
  Parts p{pack, {}, {}, {}, {}};
  auto layout = [&](int64_t part) {
    return ChannelLayout{s.batch, s.channels, s.rows ? 1 : s.inner,
                         each,    part,       std::max<int64_t>(1, blocks_for(each, part))};
  };
  if (s.rows) {
    // As many threads beside each other as a row has packs, at most a warp's.
    const auto across = static_cast<unsigned>(
        std::bit_ceil(static_cast<uint64_t>(std::clamp<int64_t>(blocks_for(s.channels, pack), 1, 32))));
    const unsigned down = kThreads / across;
    const int64_t columns = blocks_for(s.channels, static_cast<int64_t>(across) * pack);
    auto divided = [&](int64_t blocks, ChannelLayout& to, LaunchShape& shape) {
      const int64_t wanted = std::clamp<int64_t>(blocks / columns, 1, 32768);
      to = layout(std::max<int64_t>(int64_t{down} * 4, blocks_for(std::max<int64_t>(each, 1), wanted)));
      shape = {.blocks = columns, .threads = across, .blocks_y = static_cast<unsigned>(to.parts), .threads_y = down};
    };
    divided(processors * 4, p.sums, p.sums_shape);
    divided(processors * 32, p.map, p.map_shape);
    return p;
  }
  const int64_t wanted = std::clamp<int64_t>(processors * 8 / s.channels, 1, 32768);
  int64_t part = std::max<int64_t>(2048, blocks_for(std::max<int64_t>(each, 1), wanted));
  part = blocks_for(part, pack) * pack;  // packs do not cross parts
  p.sums = p.map = layout(part);
  p.sums_shape = {.blocks = s.channels, .threads = kThreads, .blocks_y = static_cast<unsigned>(p.sums.parts)};
  p.map_shape = {.blocks = std::clamp<int64_t>(blocks_for(each * s.channels, int64_t{kThreads} * pack), 1, 65536),
                 .threads = kThreads};
  return p;
}

DType parameter_dtype(const Tensor& weight, const Tensor& bias, DType otherwise) {
  return weight.defined() ? weight.dtype() : bias.defined() ? bias.dtype() : otherwise;
}
DType wide_of(DType t) { return is_reduced_float(t) ? DType::Float32 : t; }

}  // namespace

void batch_norm(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& x, const Tensor& weight,
                const Tensor& bias, const Tensor& running_mean, const Tensor& running_var, const NormImages& s,
                DType stats, double momentum, double eps) {
  if (s.channels == 0) return;
  Launcher on(x);
  const DType t = x.dtype(), wide = wide_of(t);
  const Parts p = parts_for(on, s, {&x, &out});
  Tensor moments = empty_on_device_of(x, Dims{p.sums.parts, s.channels, 2}, DType::Float64);
  on.run(moments_kernel.of(s), {t, wide, p.pack}, p.sums_shape, moments.data(), x.data(), p.sums);
  on.run(settle_moments, {wide, stats, parameter_dtype(running_mean, running_var, wide)}, per_channel(p.sums),
         mean.data(), rstd.data(), data_or_null(running_mean), data_or_null(running_var), moments.data(), p.sums,
         momentum, eps);
  if (x.numel())
    on.run(normalise_kernel.of(s), {t, wide, wide, parameter_dtype(weight, bias, wide), p.pack, false}, p.map_shape,
           out.data(), x.data(), mean.data(), rstd.data(), data_or_null(weight), data_or_null(bias), p.map, eps);
}

void batch_norm_evaluate(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
                         const Tensor& mean, const Tensor& var, const NormImages& s, double eps) {
  if (x.numel() == 0) return;
  Launcher on(x);
  const DType wide = wide_of(x.dtype());
  const Parts p = parts_for(on, s, {&x, &out});
  on.run(normalise_kernel.of(s), {x.dtype(), wide, mean.dtype(), parameter_dtype(weight, bias, wide), p.pack, true},
         p.map_shape, out.data(), x.data(), mean.data(), var.data(), data_or_null(weight), data_or_null(bias), p.map,
         eps);
}

void batch_norm_backward(const Tensor& to, const Tensor& weight_grad, const Tensor& bias_grad, const Tensor& grad,
                         const Tensor& x, const Tensor& weight, const Tensor& mean, const Tensor& second,
                         const NormImages& s, bool training, bool sums_wanted, double eps) {
  if (s.channels == 0) return;
  Launcher on(x);
  const DType t = x.dtype(), wide = wide_of(t), stats = mean.dtype();
  const Parts p = parts_for(on, s, {&x, &grad, &to});
  Tensor sums, by = empty_on_device_of(x, Dims{3, s.channels}, wide);
  if (sums_wanted) {
    sums = empty_on_device_of(x, Dims{p.sums.parts, s.channels, 2}, DType::Float64);
    on.run(sums_kernel.of(s), {t, wide, stats, p.pack}, p.sums_shape, sums.data(), grad.data(), x.data(), mean.data(),
           p.sums);
  }
  on.run(settle_sums, {wide, stats, weight_grad.dtype(), training}, per_channel(p.sums), weight_grad.data(),
         bias_grad.data(), by.data(), data_or_null(sums), data_or_null(weight), second.data(), p.sums, eps);
  if (to.defined() && to.numel())
    on.run(backward_kernel.of(s), {t, wide, stats, p.pack, training}, p.map_shape, to.data(), grad.data(), x.data(),
           mean.data(), by.data(), p.map);
}

const NormalizationKernels normalization_kernels = {
    .layer_norm = layer_norm,
    .layer_norm_backward = layer_norm_backward,
    .batch_norm = batch_norm,
    .batch_norm_evaluate = batch_norm_evaluate,
    .batch_norm_backward = batch_norm_backward,
    .group_norm = group_norm,
    .group_norm_lines_backward = group_norm_lines_backward,
    .group_norm_backward = group_norm_backward,
    .half_types = true,
};

}  // namespace undertow::core::cuda
