// norm.cpp: derivatives of norms, and compositions of norms.
// build: small
#include <cmath>
#include <limits>

#include "core/autograd/delegated/dispatched.h"
#include "core/autograd/formulas/formulas.h"
#include "core/autograd/fused_formula.h"
#include "core/forward/copy/copy.h"
#include "core/tensor/dtype/promotion.h"
#include "core/tensor/layout.h"

namespace undertow::core::ops {

namespace {
Tensor zero_where_zero(const Tensor& t, const Tensor& r) {
  if (is_dispatched_whole(t)) return masked_fill_(t, eq(r, Scalar(0)), Scalar(0));  // torch's operator; t is new
  return masked_fill(t, eq(r, Scalar(0)), Scalar(0));
}
// Without dims, sums over all of them.
Tensor sum_over(const Tensor& t, const std::optional<IntSpan>& dim, bool keepdim) {
  return sum(t, dim, keepdim, std::nullopt);
}
}  // namespace

// d ||x||_p / dx = x |x|^(p-2) / ||x||^(p-1). Where the norm is zero, the subgradient zero. Extrema share evenly.
Tensor norm_backward(const Tensor& grad, const Tensor& self, const Scalar& p_, const Tensor& norm_,
                     const std::optional<IntSpan>& dim, bool keepdim) {
  double p = p_.to_double();
  Tensor g = restore_dims(grad, self.dim(), dim, keepdim), norm = restore_dims(norm_, self.dim(), dim, keepdim);
  if (p == 0) return fwd::zeros_on_device_of(self, self.sizes(), self.dtype());
  if (p == 1) return sgn(self) * g;
  if (p == 2 && needs_operators()) return g * zero_where_zero(self / norm, norm);
  // The same result, by dividing by infinity where the norm is zero: the mask has the size of the norm, not of self.
  // Only if it is not differentiated again, because its derivative there differs.
  if (p == 2)
    return g * (self / masked_fill(norm, eq(norm, Scalar(0)), Scalar(std::numeric_limits<double>::infinity())));
  if (std::isinf(p)) {
    Tensor size = abs(self);
    Tensor is_it = to_dtype(logical_or(eq(size, norm), logical_and(isnan(size), isnan(norm))), size.dtype());
    return sgn(self) * (g / sum_over(is_it, dim, true) * is_it);
  }
  if (p < 1)
    return sgn(self) * masked_fill(pow(abs(self), Scalar(p - 1)), eq(self, Scalar(0)), Scalar(0)) * g *
           pow(norm, Scalar(1 - p));
  Tensor scale = zero_where_zero(g / pow(norm, Scalar(p - 1)), norm);
  if (p < 2) return sgn(self) * pow(abs(self), Scalar(p - 1)) * scale;
  return self * pow(abs(self), Scalar(p - 2)) * scale;
}
Tensor vector_norm_backward(const Tensor& grad, const Tensor& self, const Scalar& p, const Tensor& norm,
                            const std::optional<IntSpan>& dim, bool keepdim) {
  return p.equals(0) ? Tensor() : norm_backward(grad, self, p, norm, dim, keepdim);
}
Tensor norm_jvp(const Tensor& self_t, const Tensor& self, const Scalar& p, const Tensor& norm,
                const std::optional<IntSpan>& dim, bool keepdim) {
  Tensor one = fwd::full_on_device_of(norm, norm.sizes(), Scalar(1), norm.dtype());
  Tensor parts = conj(self_t) * norm_backward(one, self, p, norm, dim, keepdim);
  return sum_over(parts.is_complex() ? real(parts) : parts, dim, keepdim);
}
Tensor minus_defined(const Tensor& a, const Tensor& b) { return !a.defined() ? -b : !b.defined() ? a : a - b; }

namespace {
// The factor of a slice: 1 up to maxnorm, maxnorm / (norm + 1e-7) above; and the norm itself.
struct Renorm {
  Tensor norm, factor, over;
  Dims dims;
};
Renorm renorm_parts(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  Renorm r;
  int64_t keep = wrap_dim(dim, self.dim());
  for (int64_t d = 0; d < self.dim(); d++)
    if (d != keep) r.dims.push_back(d);
  r.norm = linalg_vector_norm(self, p, IntSpan(r.dims), true, std::nullopt);
  r.over = gt(r.norm, maxnorm);
  r.factor = where(r.over, maxnorm * reciprocal(r.norm + Scalar(1e-7)),
                   fwd::full_on_device_of(r.norm, {}, Scalar(1), r.norm.dtype()));
  return r;
}
}  // namespace

// out = x m / (n + e) where n > m: grad m / (n + e) - (sum(grad x) m / (n + e)^2) dn/dx.
Tensor renorm_backward(const Tensor& grad, const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  Renorm r = renorm_parts(self, p, dim, maxnorm);
  Tensor dot = sum(conj(self) * grad, IntSpan(r.dims), true, std::nullopt);
  if (dot.is_complex()) dot = real(dot);
  Tensor inverse = reciprocal(r.norm + Scalar(1e-7));
  Tensor back = norm_backward(dot, self, p, r.norm, IntSpan(r.dims), true);
  return where(r.over, maxnorm * inverse * (grad - inverse * back), grad);
}
Tensor renorm_jvp(const Tensor& self_t, const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  Renorm r = renorm_parts(self, p, dim, maxnorm);
  Tensor norm_t = norm_jvp(self_t, self, p, r.norm, IntSpan(r.dims), true);
  Tensor inverse = reciprocal(r.norm + Scalar(1e-7));
  return where(r.over, maxnorm * inverse * (self_t - self * inverse * norm_t), self_t);
}

Tensor norm_by_name(const Tensor& self, std::string_view p, const std::optional<IntSpan>& dim, bool keepdim,
                    std::optional<DType> dtype) {
  if (p == "fro") return linalg_vector_norm(self, Scalar(2), dim, keepdim, dtype);
  UT_CHECK(p == "nuc", "only valid string values are 'fro' and 'nuc', found ", p);
  Dims dims = dim ? Dims(dim->begin(), dim->end()) : Dims{-2, -1};
  return matrix_norm_composite(self, p, dims, keepdim, dtype);
}

Tensor linalg_norm_composite(const Tensor& self, const std::optional<Scalar>& ord, const std::optional<IntSpan>& dim,
                             bool keepdim, std::optional<DType> dtype) {
  if (dim)
    UT_CHECK(dim->size() == 1 || dim->size() == 2,
             "linalg.norm: If dim is specified, it must be of length 1 or 2. Got ", ShapeText{*dim});
  if (!dim && ord)
    UT_CHECK(self.dim() == 1 || self.dim() == 2,
             "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ", self.dim(), "D.");
  if (ord && ((dim && dim->size() == 2) || (!dim && self.dim() == 2))) {
    Dims dims = dim ? Dims(dim->begin(), dim->end()) : Dims{0, 1};
    return matrix_norm_composite(self, *ord, dims, keepdim, dtype);
  }
  return linalg_vector_norm(self, ord.value_or(Scalar(2)), dim, keepdim, dtype);
}
Tensor linalg_norm_composite(const Tensor& self, std::string_view ord, const std::optional<IntSpan>& dim, bool keepdim,
                             std::optional<DType> dtype) {
  if (dim)
    UT_CHECK(dim->size() == 1 || dim->size() == 2,
             "linalg.norm: If dim is specified, it must be of length 1 or 2. Got ", ShapeText{*dim});
  else
    UT_CHECK(self.dim() == 1 || self.dim() == 2,
             "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ", self.dim(), "D.");
  Dims dims = dim ? Dims(dim->begin(), dim->end()) : Dims{0, 1};
  return matrix_norm_composite(self, ord, dims, keepdim, dtype);
}

namespace {
struct MatrixDims {
  int64_t rows, columns;
};
MatrixDims check_matrix(const Tensor& self, IntSpan dim) {
  UT_CHECK(is_differentiable(self.dtype()),
           "linalg.matrix_norm: Expected a floating point or complex tensor as input. Got ", long_name(self.dtype()));
  UT_CHECK(self.dim() >= 2, "linalg.matrix_norm: The input tensor A must have at least 2 dimensions.");
  UT_CHECK(dim.size() == 2, "linalg.matrix_norm: dim must be a 2-tuple. Got ", ShapeText{dim});
  MatrixDims d{wrap_dim(dim[0], self.dim()), wrap_dim(dim[1], self.dim())};
  UT_CHECK(d.rows != d.columns, "linalg.matrix_norm: dims must be different. Got (", dim[0], ", ", dim[1], ")");
  return d;
}
}  // namespace

namespace {
// The singular values of the matrices in dimensions d, as the last dimension. with_dims_kept inserts two dimensions of
// size one for them.
Tensor singular_values(const Tensor& self, MatrixDims d, std::optional<DType> dtype) {
  Tensor x = dtype ? to_dtype(self, *dtype) : self;
  const Dims from{d.rows, d.columns}, to{-2, -1};
  return linalg_svdvals(movedim(x, from, to), std::nullopt);
}
Tensor with_dims_kept(const Tensor& reduced, MatrixDims d, bool keepdim) {
  if (!keepdim) return reduced;
  return unsqueeze(unsqueeze(reduced, std::min(d.rows, d.columns)), std::max(d.rows, d.columns));
}
// The greatest of no sums is 0; there is no least.
Tensor extreme(const Tensor& sums, int64_t dim, bool greatest, bool keepdim) {
  IntSpan one(&dim, 1);
  if (!greatest) return amin(sums, one, keepdim);
  return sums.size(dim) ? amax(sums, one, keepdim) : sum(sums, one, keepdim, std::nullopt);
}
}  // namespace

Tensor matrix_norm_composite(const Tensor& self, const Scalar& ord, IntSpan dim, bool keepdim,
                             std::optional<DType> dtype) {
  MatrixDims d = check_matrix(self, dim);
  double p = ord.to_double(), size = std::abs(p);
  UT_CHECK(size == 1 || size == 2 || std::isinf(size), "linalg.matrix_norm: Order ", ord, " not supported.");
  if (size == 2) {
    Tensor values = singular_values(self, d, dtype);
    return with_dims_kept(extreme(values, -1, p > 0, false), d, keepdim);
  }
  int64_t first = size == 1 ? d.rows : d.columns, second = size == 1 ? d.columns : d.rows;
  Tensor sums = linalg_vector_norm(self, Scalar(1), IntSpan(&first, 1), keepdim, dtype);
  if (!keepdim && first < second) second--;
  return extreme(sums, second, p > 0, keepdim);
}
Tensor matrix_norm_composite(const Tensor& self, std::string_view ord, IntSpan dim, bool keepdim,
                             std::optional<DType> dtype) {
  MatrixDims d = check_matrix(self, dim);
  if (ord == "fro") return linalg_vector_norm(self, Scalar(2), dim, keepdim, dtype);
  UT_CHECK(ord == "nuc", "linalg.matrix_norm: Order ", ord, " not supported.");
  return with_dims_kept(sum(singular_values(self, d, dtype), IntSpan(Dims{-1}), false, std::nullopt), d, keepdim);
}

// Both vectors are divided by their norms before the product, so that it does not overflow.
Tensor cosine_similarity_composite(const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
  DType t = result_type(x1, x2);
  UT_CHECK(is_floating(t), "expected common dtype to be floating point, yet common dtype is ", long_name(t));
  Dims shape = broadcast_sizes(x1.sizes(), x2.sizes());
  Tensor a = expand(to_dtype(x1, t), shape), b = expand(to_dtype(x2, t), shape);
  int64_t d = dim;
  auto direction = [&](const Tensor& x) {
    Tensor n = linalg_vector_norm(x, Scalar(2), IntSpan(&d, 1), true, std::nullopt);
    // The bound has no gradient: below it, the vector is divided by a constant.
    return x / where(lt(n, Scalar(eps)), Scalar(eps), n);
  };
  return sum(direction(a) * direction(b), IntSpan(&d, 1), false, std::nullopt);
}

Tensor pairwise_distance_composite(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  Tensor away = x1 - x2 + Scalar(eps);
  const int64_t last = -1;
  return linalg_vector_norm(away, Scalar(p), IntSpan(&last, 1), keepdim, std::nullopt);
}

namespace {
Tensor differences(const Tensor& a, const Tensor& b) { return unsqueeze(a, -2) - unsqueeze(b, -3); }
const Dims kLast{-1};
}  // namespace

// For p = 2, with w = grad / result (0 where that is 0/0): the sum over j of w[i, j] (a[i] - b[j]) is one matrix
// product.
std::tuple<Tensor, Tensor> cdist_backward(const Tensor& grad, const Tensor& a, const Tensor& b, double p,
                                          const Tensor& result, int64_t wanted) {
  Tensor to_a, to_b;
  if (p == 2) {
    Tensor w = where(eq(result, Scalar(0)), Scalar(0), grad / result);
    if (wanted & 1) to_a = a * sum(w, IntSpan(kLast), true, std::nullopt) - matmul(w, b);
    if (wanted & 2)
      to_b = b * unsqueeze(sum(w, IntSpan(Dims{-2}), false, std::nullopt), -1) - matmul(transpose(w, -2, -1), a);
    return {to_a, to_b};
  }
  Tensor each = norm_backward(grad, differences(a, b), Scalar(p), result, IntSpan(kLast), false);
  if (wanted & 1) to_a = sum(each, IntSpan(Dims{-2}), false, std::nullopt);
  if (wanted & 2) to_b = -sum(each, IntSpan(Dims{-3}), false, std::nullopt);
  return {to_a, to_b};
}
Tensor cdist_jvp(const Tensor& a, const Tensor& a_t, const Tensor& b, const Tensor& b_t, double p,
                 const Tensor& result) {
  Tensor moved =
      minus_defined(a_t.defined() ? unsqueeze(a_t, -2) : Tensor(), b_t.defined() ? unsqueeze(b_t, -3) : Tensor());
  Tensor difference = differences(a, b);
  return norm_jvp(expand(moved, difference.sizes()), difference, Scalar(p), result, IntSpan(kLast), false);
}
namespace {
// The two rows of each pair: first[k] and second[k].
struct Pairs {
  Tensor first, second;
};
Pairs pairs_of(const Tensor& self) {
  Tensor both = triu_indices(self.size(0), self.size(0), 1, std::nullopt, std::nullopt, self.device(), std::nullopt);
  return {select(both, 0, 0), select(both, 0, 1)};
}
Tensor pair_differences(const Tensor& self, const Pairs& pairs) {
  return index_select(self, 0, pairs.first) - index_select(self, 0, pairs.second);
}
}  // namespace

Tensor pdist_backward(const Tensor& grad, const Tensor& self, double p, const Tensor& result) {
  Pairs pairs = pairs_of(self);
  Tensor each = norm_backward(grad, pair_differences(self, pairs), Scalar(p), result, IntSpan(kLast), false);
  Tensor out = index_add(fwd::zeros_on_device_of(self, self.sizes(), self.dtype()), 0, pairs.first, each, Scalar(1));
  return index_add(out, 0, pairs.second, each, Scalar(-1));
}
Tensor pdist_jvp(const Tensor& self_t, const Tensor& self, double p, const Tensor& result) {
  Pairs pairs = pairs_of(self);
  return norm_jvp(pair_differences(self_t, pairs), pair_differences(self, pairs), Scalar(p), result, IntSpan(kLast),
                  false);
}

}  // namespace undertow::core::ops
