// moments.cpp: variances, norms and logsumexp: reductions of values computed from the elements.
#include <cmath>

#include "core/forward/copy/carriers.h"
#include "core/forward/copy/copy.h"
#include "core/forward/reduce/dims.h"
#include "core/forward/reduce/fold.h"
#include "core/forward/softmax.h"
#include "core/kernels/backend.h"
#include "core/tensor/dtype/promotion.h"
#include "generated/fwd.h"

namespace undertow::core::fwd {

namespace {

void finish(const Tensor& t, Finish op, double number = 0) { backend_of(t).reduce->finish(t, op, number); }

// |self| in the real dtype, as a new contiguous tensor.
Tensor magnitudes(const Tensor& self) {
  Tensor in = contiguous(self), out = empty_on_device_of(self, self.sizes(), to_real(self.dtype()));
  backend_of(in).reduce->magnitudes(out, in);
  return out;
}

DType wide_of(DType t) { return is_reduced_float(t) ? DType::Float32 : t == DType::Complex32 ? DType::Complex64 : t; }

struct Moments {
  Tensor variance, mean;  // in the wide dtype; the mean of a complex tensor is complex
};

// Two passes: the mean, then the squared deviations from it. A single pass with running updates divides for every
// element, and sums of squares suffer from cancellation.
Moments moments(const Tensor& self, const std::optional<IntSpan>& dim, const std::optional<Scalar>& correction,
                bool keepdim, const char* name) {
  uint64_t mask = mask_of(dim, self);
  Tensor in = to_dtype(self, wide_of(self.dtype()));
  double n = static_cast<double>(reduced_count(in.sizes(), mask)), c = correction ? correction->to_double() : 1;
  if (n - c <= 0)
    warn(str(name,
             "(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input "
             "numel divided by output numel)."));
  Dims dims;
  for (int64_t d = 0; d < in.dim(); d++)
    if (mask >> d & 1) dims.push_back(d);
  Tensor mean = dims.empty() ? clone_preserve(in) : fwd::mean(in, IntSpan(dims), true, std::nullopt);
  Tensor away = sub(in, mean, Scalar(1));
  if (away.is_complex()) away = magnitudes(away);
  Tensor variance = fold(Fold::SumSquares, away, mask, true, "std_var_cpu");
  double over = n ? std::max(0.0, n - c) : 0;
  finish(variance, Finish::Divide, over);
  auto shaped = [&](const Tensor& t) {
    if (keepdim) return t;
    Dims sizes = reduced_sizes(in.sizes(), mask, false);
    return alias(t, sizes, contiguous_strides(sizes), t.storage_offset(), t.dtype());
  };
  return {shaped(variance), shaped(contiguous(mean))};
}

}  // namespace

Tensor var(const Tensor& self, std::optional<IntSpan> dim, const std::optional<Scalar>& correction, bool keepdim) {
  UT_CHECK(is_differentiable(self.dtype()), "std and var only support floating point and complex dtypes");
  return to_dtype(moments(self, dim, correction, keepdim, "var").variance, to_real(self.dtype()));
}
Tensor std(const Tensor& self, std::optional<IntSpan> dim, const std::optional<Scalar>& correction, bool keepdim) {
  UT_CHECK(is_differentiable(self.dtype()), "std and var only support floating point and complex dtypes");
  Tensor v = moments(self, dim, correction, keepdim, "std").variance;
  finish(v, Finish::Sqrt);
  return to_dtype(v, to_real(self.dtype()));
}
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, std::optional<IntSpan> dim,
                                    const std::optional<Scalar>& correction, bool keepdim) {
  UT_CHECK(is_differentiable(self.dtype()), "var_mean only support floating point and complex dtypes");
  Moments m = moments(self, dim, correction, keepdim, "var_mean");
  return {to_dtype(m.variance, to_real(self.dtype())), to_dtype(m.mean, self.dtype())};
}
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, std::optional<IntSpan> dim,
                                    const std::optional<Scalar>& correction, bool keepdim) {
  UT_CHECK(is_differentiable(self.dtype()), "std_mean only support floating point and complex dtypes");
  Moments m = moments(self, dim, correction, keepdim, "std_mean");
  finish(m.variance, Finish::Sqrt);
  return {to_dtype(m.variance, to_real(self.dtype())), to_dtype(m.mean, self.dtype())};
}

Tensor linalg_vector_norm(const Tensor& self, const Scalar& ord, std::optional<IntSpan> dim, bool keepdim,
                          std::optional<DType> dtype) {
  DType from = self.dtype();
  UT_CHECK(is_differentiable(from), "linalg.vector_norm: Expected a floating point or complex tensor as input. Got ",
           long_name(from));
  UT_CHECK(!ord.is_complex(), "linalg.vector_norm: Expected a non-complex scalar as the order of norm.");
  if (dtype) {
    UT_CHECK(is_differentiable(*dtype), "linalg.vector_norm: dtype should be floating point or complex, but got ",
             long_name(*dtype));
    UT_CHECK(is_complex(from) == is_complex(*dtype), "linalg.vector_norm: dtype should be ",
             is_complex(from) ? "complex" : "real", " for ", is_complex(from) ? "complex" : "real", " inputs, but got ",
             long_name(*dtype));
    UT_CHECK(promote_types(from, *dtype) == *dtype, "linalg.vector_norm: the dtype of the input (", long_name(from),
             ") should be convertible without narrowing to the specified dtype (", long_name(*dtype), ")");
  }
  if (from == DType::Complex32)
    return to_dtype(linalg_vector_norm(to_carrier(self), ord, dim, keepdim, std::nullopt),
                    to_real(dtype.value_or(from)));
  double p = ord.to_double();
  constexpr double inf = std::numeric_limits<double>::infinity();
  uint64_t mask = mask_of(dim, self);
  if (self.numel() == 0 && (p < 0 || p == inf)) {
    UT_CHECK(dim && !dim->empty(), "linalg.vector_norm cannot compute the ", ord,
             " norm on an empty tensor because the operation does not have an identity");
    for (int64_t d = 0; d < self.dim(); d++)
      UT_CHECK(!(mask >> d & 1) || self.size(d) != 0, "linalg.vector_norm cannot compute the ", ord,
               " norm on the dimension ", d,
               " because this dimension is empty and the operation does not have an identity");
  }
  DType result = to_real(dtype.value_or(from));
  Tensor in = to_dtype(self, wide_of(dtype.value_or(from)));
  if (in.is_complex()) in = magnitudes(in);
  const char* kernel = "norm_cpu";
  Tensor out;
  // The power of a single element may overflow or underflow.
  if (p != 0 && reduced_count(in.sizes(), mask) == 1) p = inf;
  if (p == inf)
    out = fold(Fold::MaxAbs, in, mask, keepdim, kernel);
  else if (p == -inf)
    out = fold(Fold::MinAbs, in, mask, keepdim, kernel);
  else if (p == 0)
    out = to_dtype(fold(Fold::CountNonzero, in, mask, keepdim, kernel), in.dtype());
  else if (p == 1)
    out = fold(Fold::SumAbs, in, mask, keepdim, kernel);
  else if (p == 2) {
    out = fold(Fold::SumSquares, in, mask, keepdim, kernel);
    finish(out, Finish::Sqrt);
  } else {
    Tensor powers = magnitudes(in);
    finish(powers, Finish::Power, p);
    out = fold(Fold::Sum, powers, mask, keepdim, kernel);
    finish(out, Finish::Power, 1 / p);
  }
  return to_dtype(out, result);
}

// log(sum(exp(x))) = m + log(sum(exp(x - m))) where m is the maximum, or zero if that is infinite.
Tensor logsumexp(const Tensor& self, IntSpan dim, bool keepdim) {
  if (self.dtype() == DType::Complex32) throw_not_implemented("exp_vml_cpu", self.dtype());
  Tensor in = is_integral(self.dtype()) ? to_dtype(self, default_dtype()) : to_dtype(self, wide_of(self.dtype()));
  DType result = is_integral(self.dtype()) ? default_dtype() : self.dtype();
  uint64_t mask = mask_of(dim, in);
  Dims sizes = reduced_sizes(in.sizes(), mask, keepdim);
  if (in.numel() == 0)
    return to_dtype(full_on_device_of(in, sizes, Scalar(-std::numeric_limits<double>::infinity()), in.dtype()), result);
  if (!in.is_complex())
    if (Tensor out = logsumexp_of_neighbours(in, mask, sizes); out.defined()) return to_dtype(out, result);
  Tensor keys = in.is_complex() ? select(view_as_real(in), -1, 0) : in;
  Tensor most = fold(Fold::Max, keys, mask, true, "logsumexp_cpu");
  finish(most, Finish::ZeroInfinite);
  Tensor sum = fold(Fold::Sum, exp(sub(in, most, Scalar(1))), mask, true, "logsumexp_cpu");
  backend_of(sum).reduce->log_plus(sum, most);
  return to_dtype(alias(sum, sizes, contiguous_strides(sizes), 0, sum.dtype()), result);
}

// The p-norm of self - other, broadcast, over all elements.
Tensor dist(const Tensor& self, const Tensor& other, const Scalar& p) {
  Tensor away = sub(self, other, Scalar(1));
  UT_CHECK(is_differentiable(away.dtype()), "norm(): input dtype should be either floating point or complex. Got ",
           long_name(away.dtype()), " instead.");
  return linalg_vector_norm(away, p, std::nullopt, false, std::nullopt);
}

// Scales every slice along dim whose p-norm exceeds maxnorm down to it.
Tensor renorm(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  UT_CHECK(!p.is_complex(), "renorm: p must be real-valued");
  UT_CHECK(p.to_double() > 0, "renorm: non-positive-norm not supported");
  UT_CHECK(!maxnorm.is_complex(), "renorm: maxnorm must be real-valued");
  UT_CHECK(maxnorm.to_double() >= 0, "renorm: expected maxnorm to be >= 0 but got ", maxnorm);
  UT_CHECK(self.dim() > 1, "renorm: input needs at least 2 dimensions, got ", self.dim(), " dimensions");
  int64_t keep = wrap_dim(dim, self.dim());
  Dims others;
  for (int64_t d = 0; d < self.dim(); d++)
    if (d != keep) others.push_back(d);
  Tensor norm = linalg_vector_norm(to_dtype(self, wide_of(self.dtype())), p, IntSpan(others), true, std::nullopt);
  finish(norm, Finish::ScaleDownTo, maxnorm.to_double());
  return mul(contiguous(self), to_dtype(norm, to_real(self.dtype())));
}

}  // namespace undertow::core::fwd
