// layer_norm.cpp: launches of layer_norm.cuh: rows that fit registers, and longer ones.
#include <algorithm>

#include "core/kernels/cuda/device/pack_choice.h"
#include "core/kernels/cuda/normalization/layer_norm_params.h"
#include "core/kernels/cuda/normalization/norms.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate rows_kernel("normalization/layer_norm.cuh", "layer_norm_rows");
KernelTemplate long_kernel("normalization/layer_norm.cuh", "layer_norm_long");
KernelTemplate rows_backward("normalization/layer_norm.cuh", "layer_norm_rows_backward");
KernelTemplate long_backward("normalization/layer_norm.cuh", "layer_norm_long_backward");
KernelTemplate long_sums("normalization/layer_norm.cuh", "layer_norm_long_sums");
KernelTemplate add_up("normalization/layer_norm.cuh", "add_up_parts");

// How the threads share the rows of a table.
struct Plan {
  int pack, packs;
  bool whole_block;  // a block per row; else a warp
  unsigned threads;
  int64_t rows_at_once;  // per block
  bool fits;             // in registers
};
Plan plan_for(const NormLines& l, const Tensor& x, std::initializer_list<const Tensor*> tensors) {
  // The weights' type is wider than a half type: their packs are then of 32 bytes.
  const int pack = pack_for_rows(l.n, tensors) == 1 ? 1 : static_cast<int>(16 / x.itemsize());
  constexpr int64_t kWarpRow = 1024;
  constexpr int kMostElements = 16;  // per thread, of a row that has a block
  if (l.n <= kWarpRow) return {pack, packs_per_lane(l.n, pack, 32), false, kWarpRowThreads, kWarpRowThreads / 32, true};
  for (unsigned threads : {kRowThreads / 2, kRowThreads}) {
    int packs = packs_per_lane(l.n, pack, threads);
    if (packs * pack <= kMostElements) return {pack, packs, true, threads, 1, true};
  }
  return {pack, 1, true, kRowThreads, 1, false};
}

using Forward = LayerNormParams<char, float, char>;
using ForwardDouble = LayerNormParams<char, double, char>;
using Backward = LayerNormBackwardParams<char, char, char>;

DType parameter_dtype(const Tensor& weight, const Tensor& bias, DType otherwise) {
  return weight.defined() ? weight.dtype() : bias.defined() ? bias.dtype() : otherwise;
}

}  // namespace

void layer_norm(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& x, const Tensor& weight,
                const Tensor& bias, const NormLines& l, double eps) {
  if (l.count == 0 || l.n == 0) return;
  Launcher on(x);
  const DType t = x.dtype(), wide = rstd.dtype(), parameters = parameter_dtype(weight, bias, wide);
  const Plan plan = plan_for(l, x, {&x, &out, &weight, &bias});
  auto run = [&](auto params) {
    using W = decltype(params.eps);
    params.out = out.data();
    params.mean = reinterpret_cast<W*>(data_or_null(mean));
    params.rstd = rstd.data_as<W>();
    params.x = x.data();
    params.weight = data_or_null(weight);
    params.bias = data_or_null(bias);
    params.rows = l.count;
    params.n = l.n;
    params.eps = static_cast<W>(eps);
    if (plan.fits)
      on.run(rows_kernel, {t, wide, parameters, plan.pack, plan.packs, plan.whole_block},
             {.blocks = blocks_for(l.count, plan.rows_at_once), .threads = plan.threads}, params);
    else
      on.run(long_kernel, {t, wide, parameters, pack_for_any_rows({&x, &out})},
             {.blocks = l.count, .threads = plan.threads}, params);
  };
  if (wide == DType::Float64)
    run(ForwardDouble());
  else
    run(Forward());
}

void layer_norm_backward(const Tensor& to, const Tensor& weight_sums, const Tensor& bias_sums, const Tensor& grad,
                         const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                         const NormLines& l, int64_t step) {
  if (l.count == 0 || l.n == 0) return;
  UT_ASSERT(step >= l.count, "layer_norm_backward adds up all rows");
  Launcher on(x);
  const DType t = x.dtype(), wide = rstd.dtype(), parameters = parameter_dtype(weight, {}, wide),
              result = parameter_dtype(weight_sums, bias_sums, wide);
  const Plan plan = plan_for(l, x, {&x, &grad, &to, &weight});
  const bool sums = weight_sums.defined() || bias_sums.defined();
  // As many blocks as are resident at once: each writes one row of partial sums.
  int64_t blocks = blocks_for(l.count, plan.rows_at_once);
  constexpr int64_t kLongRows = 64;  // per block
  if (plan.fits && sums) blocks = std::min<int64_t>(blocks, on.multiprocessors() * (plan.threads <= 256 ? 4 : 2));
  const int64_t parts = plan.fits ? blocks : blocks_for(l.count, kLongRows);
  Tensor partial;
  if (sums && (parts > 1 || result != wide)) partial = empty_on_device_of(x, Dims{2, parts, l.n}, wide);
  auto part_of = [&](const Tensor& s, int64_t which) -> char* {
    if (!s.defined()) return nullptr;
    return partial.defined() ? partial.data() + which * parts * l.n * partial.itemsize() : s.data();
  };
  Backward a{};
  a.to = data_or_null(to);
  a.weight_parts = part_of(weight_sums, 0);
  a.bias_parts = part_of(bias_sums, 1);
  a.grad = grad.data();
  a.x = x.data();
  a.mean = data_or_null(mean);
  a.rstd = rstd.data();
  a.weight = data_or_null(weight);
  a.rows = l.count;
  a.n = l.n;
  if (plan.fits) {
    on.run(rows_backward, {t, wide, parameters, plan.pack, plan.packs, plan.whole_block},
           {.blocks = blocks, .threads = plan.threads}, a);
  } else {
    if (to.defined())
      on.run(long_backward, {t, wide, parameters, plan.pack}, {.blocks = l.count, .threads = plan.threads}, a);
    if (sums)
      on.run(long_sums, {t, wide, parameters},
             {.blocks = blocks_for(l.n, 32), .threads = 32, .blocks_y = static_cast<unsigned>(parts), .threads_y = 8},
             a, kLongRows);
  }
  if (partial.defined())
    on.run(add_up, {wide, result}, {.blocks = blocks_for(l.n, 32), .threads = 32, .blocks_y = 2, .threads_y = 32},
           data_or_null(weight_sums), a.weight_parts, data_or_null(bias_sums), a.bias_parts, parts, l.n);
}

}  // namespace undertow::core::cuda
