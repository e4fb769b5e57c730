// softmax.cpp: see softmax.h. Chooses a kernel by the length and the alignment of the rows.
#include "core/kernels/cuda/softmax/softmax.h"

#include <algorithm>
#include <bit>

#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/cuda/device/pack_choice.h"
#include "core/kernels/cuda/runtime/device.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate short_rows("softmax/softmax.cuh", "softmax_short");
KernelTemplate long_rows("softmax/softmax.cuh", "softmax_long");
KernelTemplate part_sums("softmax/softmax.cuh", "softmax_part_sums");
KernelTemplate parts_kernel("softmax/softmax.cuh", "softmax_parts");
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
// Threads of a block for n elements.
unsigned threads_of_long(int64_t n, int pack) {
  const uint64_t threads = std::bit_ceil(static_cast<uint64_t>((n / pack + 3) / 4));
  return static_cast<unsigned>(std::clamp<uint64_t>(threads, 128, 512));
}
// A block per row, with shared memory for a row if two blocks of a multiprocessor have it.
LaunchShape shape_of_long(const Launcher& on, const SoftmaxBlock& b, int pack) {
  constexpr int64_t kOther = 2048;  // bytes of a block that are not for the row
  const int64_t bytes = pack > 1 ? b.n / pack * 16 : 0;
  const bool keeps = 2 * (bytes + kOther) <= device_state(on.device()).max_shared_bytes;
  return {.blocks = b.outer,
          .threads = threads_of_long(b.n, pack),
          .shared_bytes = static_cast<unsigned>(keeps ? bytes : 0)};
}
// The blocks of each row, if there are too few rows for all multiprocessors.
int64_t parts_of_rows(const Launcher& on, const SoftmaxBlock& b) {
  constexpr int64_t kLeast = 8192, kMost = 32;  // elements of a part; parts
  if (b.outer >= on.multiprocessors()) return 1;
  return std::min({2 * on.multiprocessors() / b.outer, b.n / kLeast, kMost});
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
  if (const int64_t wanted = parts_of_rows(on, b); wanted > 1) {
    const int64_t part = blocks_for(blocks_for(b.n, wanted), 16) * 16;  // whole packs of every dtype
    const int parts = static_cast<int>(blocks_for(b.n, part));
    Tensor sums = empty_on_device_of(in, Dims{b.outer * parts, int64_t{2}}, t == DType::Float64 ? t : DType::Float32);
    const LaunchShape shape{.blocks = b.outer * parts, .threads = threads_of_long(part, pack)};
    on.run(part_sums, {t, pack}, shape, sums.data(), in.data(), b.n, part, parts);
    on.run(parts_kernel, {t, pack, result}, shape, out.data(), in.data(), sums.data(), b.n, part, parts);
    return;
  }
  const LaunchShape shape = shape_of_long(on, b, pack);
  on.run(long_rows, {t, pack, result, shape.shared_bytes > 0}, shape, out.data(), in.data(), b.n);
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
  const LaunchShape shape = shape_of_long(on, b, pack);
  on.run(long_rows_backward, {t, pack, result, shape.shared_bytes > 0}, shape, to.data(), grad.data(), y.data(), b.n);
}

}  // namespace

const SoftmaxKernels softmax_kernels = {
    .softmax = softmax,
    .softmax_backward = softmax_backward,
    .logsumexp = logsumexp,
};

}  // namespace undertow::core::cuda
