// softmax.cpp: forward functions of ops/softmax.toml.
#include "core/base/parallel.h"
#include "core/forward/copy.h"
#include "core/forward/reduce_util.h"
#include "core/kernels/cpu/softmax_kernels.h"
#include "generated/fwd_softmax.h"

namespace undertow::fwd {

namespace {

template <class T>
const cpu::SoftmaxKernels<T>& kernels() {
  using namespace cpu;
  if constexpr (std::is_same_v<T, float>) return UNDERTOW_CHOOSE_ISA(softmax_float());
  else return UNDERTOW_CHOOSE_ISA(softmax_double());
}

// Calls lines(at, count) for groups of contiguous lines, or columns(at, width) for groups of columns, of a row-major
// tensor normalised along d; `at` counts elements.
template <class Lines, class Columns>
void for_each_block(const Tensor& t, int64_t d, int64_t n, Lines&& lines, Columns&& columns) {
  int64_t outer = 1, inner = 1;
  for (int64_t k = 0; k < d; k++) outer *= t.size(k);
  for (int64_t k = d + 1; k < t.dim(); k++) inner *= t.size(k);
  if (inner == 1) {
    parallel_for(0, outer, std::max<int64_t>(1, 16384 / n), [&](int64_t begin, int64_t end) { lines(begin * n, end - begin); });
    return;
  }
  int64_t blocks = (inner + cpu::kSoftmaxWidth - 1) / cpu::kSoftmaxWidth, width = std::min(inner, cpu::kSoftmaxWidth);
  parallel_for(0, outer * blocks, std::max<int64_t>(1, 16384 / (n * width)), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; b++) {
      int64_t j = b % blocks * cpu::kSoftmaxWidth;
      columns(b / blocks * n * inner + j, inner, std::min(cpu::kSoftmaxWidth, inner - j));
    }
  });
}

Tensor normalised(const Tensor& self, int64_t dim, std::optional<DType> dtype, bool log) {
  int64_t d = wrap_dim(dim, self.dim());
  DType t = dtype.value_or(self.dtype());
  UT_CHECK_AS(NotImplemented, is_floating(t), "\"", log ? "log_softmax_lastdim_kernel_impl" : "softmax_kernel_impl", "\" not implemented for '", long_name(t), "'");
  DType wide = is_reduced_float(t) ? DType::Float32 : t;
  Tensor in = contiguous(to_dtype(self, wide)), out = empty(in.sizes(), wide);
  int64_t n = in.dim() ? in.size(d) : 1;
  if (in.numel() == 0) return to_dtype(out, t);
  auto run = [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto& k = kernels<T>();
    const T* p = in.data_as<T>();
    T* o = out.data_as<T>();
    for_each_block(in, d, n, [&](int64_t at, int64_t count) { k.lines(p + at, o + at, count, n, log); },
                   [&](int64_t at, int64_t stride, int64_t width) { k.columns(p + at, o + at, n, stride, width, log); });
  };
  if (wide == DType::Float32) run(TypeTag<float>{});
  else run(TypeTag<double>{});
  return to_dtype(out, t);
}

Tensor backward(const Tensor& grad, const Tensor& output, int64_t dim, DType dtype, bool log) {
  int64_t d = wrap_dim(dim, output.dim());
  DType wide = is_reduced_float(output.dtype()) ? DType::Float32 : output.dtype();
  Tensor g = contiguous(to_dtype(grad, wide)), out = contiguous(to_dtype(output, wide)), to = empty(out.sizes(), wide);
  int64_t n = out.dim() ? out.size(d) : 1;
  if (out.numel() == 0) return to_dtype(to, dtype);
  auto run = [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto& k = kernels<T>();
    const T *a = g.data_as<T>(), *b = out.data_as<T>();
    T* c = to.data_as<T>();
    for_each_block(out, d, n, [&](int64_t at, int64_t count) { k.lines_backward(a + at, b + at, c + at, count, n, log); },
                   [&](int64_t at, int64_t stride, int64_t width) { k.columns_backward(a + at, b + at, c + at, n, stride, width, log); });
  };
  if (wide == DType::Float32) run(TypeTag<float>{});
  else run(TypeTag<double>{});
  return to_dtype(to, dtype);
}

}  // namespace

Tensor softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) { return normalised(self, dim, dtype, false); }
Tensor log_softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) { return normalised(self, dim, dtype, true); }
Tensor _softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim, DType input_dtype) {
  return backward(grad_output, output, dim, input_dtype, false);
}
Tensor _log_softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim, DType input_dtype) {
  return backward(grad_output, output, dim, input_dtype, true);
}

}  // namespace undertow::fwd
