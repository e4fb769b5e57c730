// softmax.cpp: forward functions of ops/softmax.toml, and softmax.h.
#include "core/forward/softmax.h"

#include <limits>

#include "core/forward/copy/copy.h"
#include "core/forward/create/create.h"
#include "core/kernels/backend.h"
#include "core/kernels/softmax.h"
#include "core/tensor/layout.h"
#include "generated/fwd_comparison.h"
#include "generated/fwd_reduce.h"
#include "generated/fwd_softmax.h"

namespace undertow::core::fwd {

namespace {

SoftmaxBlock around(const Tensor& t, int64_t d) {
  SoftmaxBlock b;
  for (int64_t k = 0; k < t.dim(); k++) (k < d ? b.outer : k == d ? b.n : b.inner) *= t.size(k);
  return b;
}

// The kernel accepts half dtypes along the last dimension; otherwise they are computed in float.
DType computed_in(DType t, const SoftmaxBlock& b) { return is_reduced_float(t) && b.inner != 1 ? DType::Float32 : t; }

Tensor normalised(const Tensor& self, int64_t dim, std::optional<DType> dtype, bool log) {
  int64_t d = wrap_dim(dim, self.dim());
  DType t = dtype.value_or(self.dtype());
  UT_CHECK_AS(NotImplemented, is_floating(t), "\"", log ? "log_softmax_lastdim_kernel_impl" : "softmax_kernel_impl",
              "\" not implemented for '", long_name(t), "'");
  SoftmaxBlock b = around(self, d);
  DType compute = self.dtype() == t || !is_reduced_float(t) ? computed_in(t, b) : DType::Float32;
  Tensor in = contiguous(to_dtype(self, compute)), out = empty_on_device_of(in, in.sizes(), compute);
  if (in.numel()) backend_of(in).softmax->softmax(out, in, b, log);
  return to_dtype(out, t);
}

Tensor backward(const Tensor& grad, const Tensor& output, int64_t dim, DType dtype, bool log) {
  UT_CHECK_AS(NotImplemented, is_floating(output.dtype()) && is_floating(grad.dtype()), "\"",
              log ? "log_softmax_backward" : "softmax_backward", "\" not implemented for '",
              long_name(is_floating(output.dtype()) ? grad.dtype() : output.dtype()), "'");
  UT_CHECK(same(grad.sizes(), output.sizes()), "softmax_backward: grad_output has shape ", ShapeText{grad.sizes()},
           ", output ", ShapeText{output.sizes()});
  SoftmaxBlock b = around(output, wrap_dim(dim, output.dim()));
  bool alike = grad.dtype() == output.dtype() && dtype == output.dtype();
  DType compute = alike || !is_reduced_float(output.dtype()) ? computed_in(output.dtype(), b) : DType::Float32;
  Tensor g = contiguous(to_dtype(grad, compute)), out = contiguous(to_dtype(output, compute)),
         to = empty_on_device_of(out, out.sizes(), compute);
  if (out.numel()) backend_of(out).softmax->softmax_backward(to, g, out, b, log);
  return to_dtype(to, dtype);
}

}  // namespace

Tensor logsumexp_of_neighbours(const Tensor& in, uint64_t mask, IntSpan sizes) {
  SoftmaxBlock b;
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
  Tensor x = contiguous(in), out = empty_on_device_of(in, sizes, in.dtype());
  backend_of(x).softmax->logsumexp(out, x, b);
  return out;
}

Tensor softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return normalised(self, dim, dtype, false);
}
Tensor log_softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return normalised(self, dim, dtype, true);
}
Tensor _safe_softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  Tensor p = softmax(self, dim, dtype);
  if (self.numel() == 0) return p;
  const int64_t dims[1] = {dim};
  Tensor nothing = eq(amax(self, IntSpan(dims, 1), true), Scalar(-std::numeric_limits<double>::infinity()));
  return where(nothing, zeros_on_device_of(p, {}, p.dtype()), p);
}
Tensor _softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim, DType input_dtype) {
  return backward(grad_output, output, dim, input_dtype, false);
}
Tensor _log_softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim, DType input_dtype) {
  return backward(grad_output, output, dim, input_dtype, true);
}

}  // namespace undertow::core::fwd
