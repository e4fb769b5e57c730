// softmax.cpp: see softmax.h. Chooses a kernel by the length and the alignment of the rows.
#include "core/kernels/cuda/softmax/softmax.h"

#include <algorithm>
#include <bit>

#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/cuda/device/pack_choice.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate short_rows("softmax/softmax.cuh", "softmax_short");
KernelTemplate long_rows("softmax/softmax.cuh", "softmax_long");
KernelTemplate columns("softmax/softmax.cuh", "softmax_columns");
KernelTemplate short_rows_backward("softmax/softmax.cuh", "softmax_backward_short");
KernelTemplate long_rows_backward("softmax/softmax.cuh", "softmax_backward_long");
KernelTemplate columns_backward("softmax/softmax.cuh", "softmax_backward_columns");

// Names of the device's enum SoftmaxResult.
constexpr const char *kSoftmax = "Softmax", *kLogSoftmax = "LogSoftmax", *kLogSumExp = "LogSumExp";

constexpr int64_t kShort = 1024;  // elements of a row that a warp keeps in registers
constexpr unsigned kShortThreads = 128;

LaunchShape shape_of_short(int64_t rows) {
  return {.blocks = blocks_for(rows, kShortThreads / 32), .threads = kShortThreads};
}
LaunchShape shape_of_long(const SoftmaxBlock& b, int pack) {
  int64_t threads = std::bit_ceil(static_cast<uint64_t>((b.n / pack + 3) / 4));
  return {.blocks = b.outer, .threads = static_cast<unsigned>(std::clamp<int64_t>(threads, 128, 1024))};
}
LaunchShape shape_of_columns(const SoftmaxBlock& b) {
  return {.blocks = b.outer * blocks_for(b.inner, 32), .threads = 32, .threads_y = 8};
}

void forward(const Tensor& out, const Tensor& in, const SoftmaxBlock& b, const char* result) {
  Launcher on(in);
  DType t = in.dtype();
  if (b.inner > 1) return on.run(columns, {t, result}, shape_of_columns(b), out.data(), in.data(), b.n, b.inner);
  if (b.n <= kShort) {
    int pack = pack_for_rows(b.n, {&in, &out}), n = static_cast<int>(b.n);
    on.run(short_rows, {t, pack, packs_per_lane(b.n, pack, 32), result}, shape_of_short(b.outer), out.data(), in.data(),
           b.outer, n);
    return;
  }
  int pack = pack_for_any_rows({&in, &out});
  on.run(long_rows, {t, pack, result}, shape_of_long(b, pack), out.data(), in.data(), b.n);
}

void softmax(const Tensor& out, const Tensor& in, const SoftmaxBlock& b, bool log) {
  forward(out, in, b, log ? kLogSoftmax : kSoftmax);
}
void logsumexp(const Tensor& out, const Tensor& in, const SoftmaxBlock& b) { forward(out, in, b, kLogSumExp); }

void softmax_backward(const Tensor& to, const Tensor& grad, const Tensor& y, const SoftmaxBlock& b, bool log) {
  Launcher on(y);
  DType t = y.dtype();
  const char* result = log ? kLogSoftmax : kSoftmax;
  if (b.inner > 1)
    return on.run(columns_backward, {t, result}, shape_of_columns(b), to.data(), grad.data(), y.data(), b.n, b.inner);
  if (b.n <= kShort) {
    int pack = pack_for_rows(b.n, {&to, &grad, &y}), n = static_cast<int>(b.n);
    on.run(short_rows_backward, {t, pack, packs_per_lane(b.n, pack, 32), result}, shape_of_short(b.outer), to.data(),
           grad.data(), y.data(), b.outer, n);
    return;
  }
  int pack = pack_for_any_rows({&to, &grad, &y});
  on.run(long_rows_backward, {t, pack, result}, shape_of_long(b, pack), to.data(), grad.data(), y.data(), b.n);
}

}  // namespace

const SoftmaxKernels softmax_kernels = {
    .softmax = softmax,
    .softmax_backward = softmax_backward,
    .logsumexp = logsumexp,
};

}  // namespace undertow::core::cuda
