// softmax.cpp: forward functions of ops/softmax.toml, and softmax.h.
#include "core/forward/softmax.h"

#include "core/base/parallel.h"
#include "core/forward/copy/copy.h"
#include "core/forward/reduce/lines.h"
#include "core/kernels/cpu/half/half_loops.h"
#include "core/kernels/cpu/softmax/softmax_kernels.h"
#include "core/kernels/cpu/temporary.h"
#include "generated/fwd_softmax.h"

namespace undertow::fwd {

namespace {

template <class T>
const cpu::SoftmaxKernels<T>& kernels() {
  using namespace cpu;
  if constexpr (std::is_same_v<T, float>)
    return UNDERTOW_CHOOSE_ISA(softmax_float());
  else
    return UNDERTOW_CHOOSE_ISA(softmax_double());
}

constexpr int64_t kGrain = 16384;  // elements a thread is woken for

// A row-major tensor as outer blocks of n rows of `inner` columns, each column to be normalised.
struct Block {
  int64_t outer = 1, n = 1, inner = 1;
};
Block around(const Tensor& t, int64_t d) {
  Block b;
  for (int64_t k = 0; k < t.dim(); k++) (k < d ? b.outer : k == d ? b.n : b.inner) *= t.size(k);
  return b;
}

// Columns are read several times: as many at once as leave their rows in the second cache, in whole cache lines.
// Several groups for each thread, because threads that write neighbouring columns at the same time take the lines
// between them from each other.
int64_t columns_at_once(const Block& b, int64_t itemsize) {
  constexpr int64_t kCached = 512 * 1024, kLine = 64, kGroups = 8;
  int64_t most = kCached / std::max<int64_t>(1, b.n * itemsize), line = kLine / itemsize;
  if (b.outer == 1 && b.n * b.inner > kGrain) most = std::min(most, b.inner / kGroups);
  return std::clamp(most / line * line, 2 * line, cpu::kSoftmaxWidth);
}

// Calls lines(at, count) for groups of contiguous lines, or columns(at, stride, width) for groups of columns; `at`
// counts elements.
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

struct WideLines;  // the purpose of borrowed memory

// Lines of a half type, a few at a time as floats.
Tensor lines_of_half(const Tensor& in, const Block& b, bool log) {
  Tensor out = empty(in.sizes(), in.dtype());
  cpu::HalfLines half(in.dtype());
  int64_t step = half.at_once(b.n);
  const auto& k = kernels<float>();
  parallel_for(0, b.outer, std::max<int64_t>(1, kGrain / b.n), [&](int64_t begin, int64_t end) {
    cpu::Temporary<WideLines, float> memory(2 * step * b.n);
    float *x = memory.get(), *y = x + step * b.n;
    for (int64_t line = begin; line < end; line += step) {
      int64_t count = std::min(step, end - line), at = 2 * line * b.n;
      half.to_float(in.data() + at, count * b.n, x);
      k.lines(x, y, count, b.n, log);
      half.to_half(y, count * b.n, out.data() + at);
    }
  });
  return out;
}
Tensor lines_of_half_backward(const Tensor& grad, const Tensor& output, const Block& b, bool log) {
  Tensor to = empty(output.sizes(), output.dtype());
  cpu::HalfLines half(output.dtype());
  int64_t step = half.at_once(b.n);
  const auto& k = kernels<float>();
  parallel_for(0, b.outer, std::max<int64_t>(1, kGrain / b.n), [&](int64_t begin, int64_t end) {
    cpu::Temporary<WideLines, float> memory(3 * step * b.n);
    float *g = memory.get(), *y = g + step * b.n, *x = y + step * b.n;
    for (int64_t line = begin; line < end; line += step) {
      int64_t count = std::min(step, end - line), at = 2 * line * b.n;
      half.to_float(grad.data() + at, count * b.n, g);
      half.to_float(output.data() + at, count * b.n, y);
      k.lines_backward(g, y, x, count, b.n, log);
      half.to_half(x, count * b.n, to.data() + at);
    }
  });
  return to;
}

Tensor normalised(const Tensor& self, int64_t dim, std::optional<DType> dtype, bool log) {
  int64_t d = wrap_dim(dim, self.dim());
  DType t = dtype.value_or(self.dtype());
  UT_CHECK_AS(NotImplemented, is_floating(t), "\"", log ? "log_softmax_lastdim_kernel_impl" : "softmax_kernel_impl",
              "\" not implemented for '", long_name(t), "'");
  DType wide = is_reduced_float(t) ? DType::Float32 : t;
  if (wide != t && self.dtype() == t && self.numel() > 0) {
    Tensor in = contiguous(self);
    Block b = around(in, d);
    if (b.inner == 1) return lines_of_half(in, b, log);
  }
  Tensor in = contiguous(to_dtype(self, wide)), out = empty(in.sizes(), wide);
  Block b = around(in, d);
  if (in.numel() == 0) return to_dtype(out, t);
  auto run = [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto& k = kernels<T>();
    const T* p = in.data_as<T>();
    T* o = out.data_as<T>();
    for_each_block(
        b, sizeof(T), [&](int64_t at, int64_t count) { k.lines(p + at, o + at, count, b.n, log); },
        [&](int64_t at, int64_t stride, int64_t width) { k.columns(p + at, o + at, b.n, stride, width, log); });
  };
  if (wide == DType::Float32)
    run(TypeTag<float>{});
  else
    run(TypeTag<double>{});
  return to_dtype(out, t);
}

Tensor backward(const Tensor& grad, const Tensor& output, int64_t dim, DType dtype, bool log) {
  int64_t d = wrap_dim(dim, output.dim());
  DType wide = is_reduced_float(output.dtype()) ? DType::Float32 : output.dtype();
  if (wide != output.dtype() && grad.dtype() == output.dtype() && dtype == output.dtype() && output.numel() > 0) {
    Tensor g = contiguous(grad), out = contiguous(output);
    Block b = around(out, d);
    if (b.inner == 1) return lines_of_half_backward(g, out, b, log);
  }
  Tensor g = contiguous(to_dtype(grad, wide)), out = contiguous(to_dtype(output, wide)), to = empty(out.sizes(), wide);
  Block block = around(out, d);
  if (out.numel() == 0) return to_dtype(to, dtype);
  auto run = [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto& k = kernels<T>();
    const T *a = g.data_as<T>(), *b = out.data_as<T>();
    T* c = to.data_as<T>();
    for_each_block(
        block, sizeof(T),
        [&](int64_t at, int64_t count) { k.lines_backward(a + at, b + at, c + at, count, block.n, log); },
        [&](int64_t at, int64_t stride, int64_t width) {
          k.columns_backward(a + at, b + at, c + at, block.n, stride, width, log);
        });
  };
  if (wide == DType::Float32)
    run(TypeTag<float>{});
  else
    run(TypeTag<double>{});
  return to_dtype(to, dtype);
}

}  // namespace

Tensor logsumexp_of_neighbours(const Tensor& in, uint64_t mask, IntSpan sizes) {
  Block b;
  int64_t first = in.dim(), last = -1;
  for (int64_t d = 0; d < in.dim(); d++)
    if (mask >> d & 1) {
      first = std::min(first, d);
      last = d;
    }
  for (int64_t d = 0; d < in.dim(); d++) {
    if (d >= first && d <= last && !(mask >> d & 1) && in.size(d) != 1) return {};
    (d < first ? b.outer : d <= last ? b.n : b.inner) *= in.size(d);
  }
  Tensor x = contiguous(in), out = empty(sizes, in.dtype());
  auto run = [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto& k = kernels<T>();
    const T* p = x.data_as<T>();
    T* o = out.data_as<T>();
    for_each_block(
        b, sizeof(T), [&](int64_t at, int64_t count) { k.lines_lse(p + at, o + at / b.n, count, b.n); },
        [&](int64_t at, int64_t stride, int64_t width) {
          k.columns_lse(p + at, o + at / (b.n * b.inner) * b.inner + at % b.inner, b.n, stride, width);
        });
  };
  if (in.dtype() == DType::Float32)
    run(TypeTag<float>{});
  else
    run(TypeTag<double>{});
  return out;
}

Tensor softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return normalised(self, dim, dtype, false);
}
Tensor log_softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return normalised(self, dim, dtype, true);
}
Tensor _softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim, DType input_dtype) {
  return backward(grad_output, output, dim, input_dtype, false);
}
Tensor _log_softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim, DType input_dtype) {
  return backward(grad_output, output, dim, input_dtype, true);
}

}  // namespace undertow::fwd
