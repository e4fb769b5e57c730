// moments.h: derivatives of variances and norms.
// Each function is differentiable: it calls only operators.
#pragma once
#include <span>

#include "core/autograd/op_types.h"

namespace undertow::core::ops {

Tensor var_backward(const Tensor& grad, const Tensor& self, const std::optional<IntSpan>& dim,
                    const std::optional<Scalar>& correction, bool keepdim);
Tensor var_jvp(const Tensor& self_t, const Tensor& self, const std::optional<IntSpan>& dim,
               const std::optional<Scalar>& correction, bool keepdim);
Tensor std_backward(const Tensor& grad, const Tensor& self, const Tensor& result, const std::optional<IntSpan>& dim,
                    const std::optional<Scalar>& correction, bool keepdim);
Tensor std_jvp(const Tensor& self_t, const Tensor& self, const Tensor& result, const std::optional<IntSpan>& dim,
               const std::optional<Scalar>& correction, bool keepdim);
Tensor var_mean_backward(std::span<Tensor> grads, const Tensor& self, const std::optional<IntSpan>& dim,
                         const std::optional<Scalar>& correction, bool keepdim);
Tensor std_mean_backward(std::span<Tensor> grads, const Tensor& self, const Tensor& std,
                         const std::optional<IntSpan>& dim, const std::optional<Scalar>& correction, bool keepdim);

Tensor norm_backward(const Tensor& grad, const Tensor& self, const Scalar& p, const Tensor& norm,
                     const std::optional<IntSpan>& dim, bool keepdim);
// The same, but undefined for order 0, which counts nonzero elements: torch has no gradient there, not even zeros.
Tensor vector_norm_backward(const Tensor& grad, const Tensor& self, const Scalar& p, const Tensor& norm,
                            const std::optional<IntSpan>& dim, bool keepdim);
Tensor norm_jvp(const Tensor& self_t, const Tensor& self, const Scalar& p, const Tensor& norm,
                const std::optional<IntSpan>& dim, bool keepdim);
Tensor minus_defined(const Tensor& a, const Tensor& b);  // a - b, either of which may be undefined
// The gradients of cdist, the distances between every row of a and every row of b. Bits of `wanted` select a's and b's.
std::tuple<Tensor, Tensor> cdist_backward(const Tensor& grad, const Tensor& a, const Tensor& b, double p,
                                          const Tensor& result, int64_t wanted);
Tensor cdist_jvp(const Tensor& a, const Tensor& a_t, const Tensor& b, const Tensor& b_t, double p,
                 const Tensor& result);
Tensor pdist_backward(const Tensor& grad, const Tensor& self, double p, const Tensor& result);
Tensor pdist_jvp(const Tensor& self_t, const Tensor& self, double p, const Tensor& result);
Tensor renorm_backward(const Tensor& grad, const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm);
Tensor renorm_jvp(const Tensor& self_t, const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm);

Tensor norm_by_name(const Tensor& self, std::string_view p, const std::optional<IntSpan>& dim, bool keepdim,
                    std::optional<DType> dtype);
Tensor linalg_norm_composite(const Tensor& self, const std::optional<Scalar>& ord, const std::optional<IntSpan>& dim,
                             bool keepdim, std::optional<DType> dtype);
Tensor linalg_norm_composite(const Tensor& self, std::string_view ord, const std::optional<IntSpan>& dim, bool keepdim,
                             std::optional<DType> dtype);
Tensor matrix_norm_composite(const Tensor& self, const Scalar& ord, IntSpan dim, bool keepdim,
                             std::optional<DType> dtype);
Tensor matrix_norm_composite(const Tensor& self, std::string_view ord, IntSpan dim, bool keepdim,
                             std::optional<DType> dtype);
Tensor cosine_similarity_composite(const Tensor& x1, const Tensor& x2, int64_t dim, double eps);
Tensor pairwise_distance_composite(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim);

}  // namespace undertow::core::ops
