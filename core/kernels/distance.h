// distance.h: kernels for distances between rows. All tensors are row-major and have the same floating dtype.
#pragma once
#include "core/kernels/kernel.h"

namespace undertow::core {

struct DistanceKernels {
  // out[..., i, j] = the p-norm of a[..., i, :] - b[..., j, :].
  Kernel<"cdist", void(const Tensor& out, const Tensor& a, const Tensor& b, double p)> cdist;
  // out = the p-norms of the differences of all pairs i < j of rows.
  Kernel<"pdist", void(const Tensor& out, const Tensor& rows, double p)> pdist;
};

}  // namespace undertow::core
