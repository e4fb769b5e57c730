// softmax.cpp: the CPU's SoftmaxKernels: lines and groups of columns, in parallel.
#include "core/kernels/softmax.h"

#include "core/base/parallel.h"
#include "core/kernels/cpu/cpu_backend.h"
#include "core/kernels/cpu/half/half_loops.h"
#include "core/kernels/cpu/softmax/softmax_kernels.h"
#include "core/kernels/cpu/temporary.h"

namespace undertow::core::cpu {

namespace {

template <class T>
const SoftmaxLoops<T>& loops() {
  if constexpr (std::is_same_v<T, float>)
    return UNDERTOW_CHOOSE_ISA(softmax_float());
  else
    return UNDERTOW_CHOOSE_ISA(softmax_double());
}

using Block = SoftmaxBlock;

constexpr int64_t kGrain = 16384;  // elements that justify another thread

// Columns are read several times: as many at once as fit the L2 cache, in whole cache lines. There are several groups
// per thread, because threads that write neighbouring columns at the same time contend for the cache lines between
// them.
int64_t columns_at_once(const Block& b, int64_t itemsize) {
  constexpr int64_t kCached = 512 * 1024, kLine = 64, kGroups = 8;
  int64_t most = kCached / std::max<int64_t>(1, b.n * itemsize), line = kLine / itemsize;
  if (b.outer == 1 && b.n * b.inner > kGrain) most = std::min(most, b.inner / kGroups);
  return std::clamp(most / line * line, 2 * line, kSoftmaxWidth);
}

// Calls lines(at, count) for groups of contiguous lines, or columns(at, stride, width) for groups of columns; `at` is
// an offset in elements.
template <class Lines, class Columns>
void for_each_block(const Block& b, int64_t itemsize, Lines&& lines, Columns&& columns) {
  if (b.inner == 1) {
    parallel_for(0, b.outer, std::max<int64_t>(1, kGrain / b.n),
                 [&](int64_t begin, int64_t end) { lines(begin * b.n, end - begin); });
    return;
  }
  int64_t step = columns_at_once(b, itemsize), blocks = (b.inner + step - 1) / step, width = std::min(b.inner, step);
  parallel_for(0, b.outer * blocks, std::max<int64_t>(1, kGrain / (b.n * width)), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; k++) {
      int64_t j = k % blocks * step;
      columns(k / blocks * b.n * b.inner + j, b.inner, std::min(step, b.inner - j));
    }
  });
}

struct WideLines;  // scratch

// Lines of a half dtype, converted to float a few at a time.
void lines_of_half(const Tensor& out, const Tensor& in, const Block& b, bool log) {
  HalfLines half(in.dtype());
  int64_t step = half.at_once(b.n);
  const auto& k = loops<float>();
  parallel_for(0, b.outer, std::max<int64_t>(1, kGrain / b.n), [&](int64_t begin, int64_t end) {
    Temporary<WideLines, float> memory(2 * step * b.n);
    float *x = memory.get(), *y = x + step * b.n;
    for (int64_t line = begin; line < end; line += step) {
      int64_t count = std::min(step, end - line), at = 2 * line * b.n;
      half.to_float(in.data() + at, count * b.n, x);
      k.lines(x, y, count, b.n, log);
      half.to_half(y, count * b.n, out.data() + at);
    }
  });
}
void lines_of_half_backward(const Tensor& to, const Tensor& grad, const Tensor& output, const Block& b, bool log) {
  HalfLines half(output.dtype());
  int64_t step = half.at_once(b.n);
  const auto& k = loops<float>();
  parallel_for(0, b.outer, std::max<int64_t>(1, kGrain / b.n), [&](int64_t begin, int64_t end) {
    Temporary<WideLines, float> memory(3 * step * b.n);
    float *g = memory.get(), *y = g + step * b.n, *x = y + step * b.n;
    for (int64_t line = begin; line < end; line += step) {
      int64_t count = std::min(step, end - line), at = 2 * line * b.n;
      half.to_float(grad.data() + at, count * b.n, g);
      half.to_float(output.data() + at, count * b.n, y);
      k.lines_backward(g, y, x, count, b.n, log);
      half.to_half(x, count * b.n, to.data() + at);
    }
  });
}

template <class F>
void of_float_or_double(DType t, F&& run) {
  if (t == DType::Float32)
    run(TypeTag<float>{});
  else
    run(TypeTag<double>{});
}

void softmax(const Tensor& out, const Tensor& in, const Block& b, bool log) {
  if (is_reduced_float(in.dtype())) return lines_of_half(out, in, b, log);
  of_float_or_double(in.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto& k = loops<T>();
    const T* p = in.data_as<T>();
    T* o = out.data_as<T>();
    for_each_block(
        b, sizeof(T), [&](int64_t at, int64_t count) { k.lines(p + at, o + at, count, b.n, log); },
        [&](int64_t at, int64_t stride, int64_t width) { k.columns(p + at, o + at, b.n, stride, width, log); });
  });
}

void softmax_backward(const Tensor& grad_in, const Tensor& grad, const Tensor& result, const Block& block, bool log) {
  if (is_reduced_float(result.dtype())) return lines_of_half_backward(grad_in, grad, result, block, log);
  of_float_or_double(result.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto& k = loops<T>();
    const T *a = grad.data_as<T>(), *b = result.data_as<T>();
    T* c = grad_in.data_as<T>();
    for_each_block(
        block, sizeof(T),
        [&](int64_t at, int64_t count) { k.lines_backward(a + at, b + at, c + at, count, block.n, log); },
        [&](int64_t at, int64_t stride, int64_t width) {
          k.columns_backward(a + at, b + at, c + at, block.n, stride, width, log);
        });
  });
}

void logsumexp(const Tensor& out, const Tensor& in, const Block& b) {
  of_float_or_double(in.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto& k = loops<T>();
    const T* p = in.data_as<T>();
    T* o = out.data_as<T>();
    for_each_block(
        b, sizeof(T), [&](int64_t at, int64_t count) { k.lines_lse(p + at, o + at / b.n, count, b.n); },
        [&](int64_t at, int64_t stride, int64_t width) {
          k.columns_lse(p + at, o + at / (b.n * b.inner) * b.inner + at % b.inner, b.n, stride, width);
        });
  });
}

}  // namespace

constinit const SoftmaxKernels softmax_kernels = {
    .softmax = softmax,
    .softmax_backward = softmax_backward,
    .logsumexp = logsumexp,
};

}  // namespace undertow::core::cpu
