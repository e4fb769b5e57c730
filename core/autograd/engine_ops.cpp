// engine_ops.cpp: defines the operators of graph/tensor_ops.h by those of the operator table.
#include <algorithm>
#include <cmath>
#include <optional>

#include "core/autograd/delegated/batched.h"
#include "core/autograd/delegated/delegated.h"
#include "core/autograd/delegated/dispatched.h"
#include "core/autograd/sparse_grad.h"
#include "core/autograd/views/inplace.h"
#include "core/forward/copy/copy.h"
#include "core/forward/copy/elements.h"
#include "core/graph/engine/aggregate.h"
#include "core/graph/tensor_ops.h"
#include "core/kernels/backend.h"
#include "core/kernels/reduce.h"
#include "core/tensor/layout.h"
#include "core/tensor/mode.h"
#include "generated/fwd.h"
#include "generated/ops.h"

namespace undertow::core::graph_ops {

Tensor add(const Tensor& a, const Tensor& b) {
  if (UT_UNLIKELY(a.is_sparse() || b.is_sparse())) return sparse::add(a, b);
  return ops::add(a, b, Scalar(1));
}
void add_in_place(const Tensor& a, const Tensor& b) {
  NoGradGuard no_grad;
  if (UT_UNLIKELY(a.is_sparse() || b.is_sparse())) return sparse::add_in_place(a, b);
  ops::add_(a, b, Scalar(1));
}

Tensor add_n(std::span<const Tensor> terms) {
  DType dtype = terms[0].dtype();
  bool plain = !grad_enabled() && std::all_of(terms.begin(), terms.end(), [&](const Tensor& t) {
    return t.dtype() == dtype && t.is_contiguous() && !t.impl()->has(kFlagSlow) && same(t.sizes(), terms[0].sizes());
  });
  if (plain && (dtype == DType::Float32 || dtype == DType::Float64)) {
    Tensor out = empty_on_device_of(terms[0], terms[0].sizes(), dtype);
    backend_of(out).reduce->add_n(out, terms);
    return out;
  }
  bool narrow = dtype == DType::Float16 || dtype == DType::BFloat16;
  Tensor sum = narrow ? cast(terms[0], DType::Float32) : terms[0];
  for (const Tensor& t : terms.subspan(1)) sum = add(sum, t);
  return narrow ? cast(sum, dtype) : sum;
}
Tensor sum_to(const Tensor& t, IntSpan sizes) { return ops::sum_to_size(t, sizes); }
Tensor cast(const Tensor& t, DType dtype) { return ops::to_dtype(t, dtype); }
Tensor real(const Tensor& t) { return ops::real(t); }
Tensor clone(const Tensor& t) {
  if (UT_UNLIKELY(t.is_sparse()) && !(grad_enabled() && t.requires_grad())) return sparse::clone(t);
  return ops::clone(t, std::nullopt);
}

Tensor clone_into_layout_of(const Tensor& t, const TensorImpl* like) {
  if (UT_UNLIKELY(t.is_sparse())) return clone(t);
  if (UT_UNLIKELY(ops::is_dispatched(t)) && is_non_overlapping_and_dense(like->sizes(), like->strides())) {
    Tensor out = ops::new_empty_strided(t, like->sizes(), like->strides(), std::nullopt, std::nullopt);
    return ops::copy_(out, t, false);
  }
  if (!is_non_overlapping_and_dense(like->sizes(), like->strides())) return ops::clone(t, MemoryFormat::Contiguous);
  // The node of a recorded copy is CopyBackwards, as in torch.
  const bool recorded = grad_enabled() && t.requires_grad();
  if (!recorded && (same(t.strides(), like->strides()) || (t.is_contiguous() && like->has(kContiguous))))
    return ops::clone(t, std::nullopt);
  Tensor out = empty_strided_on_device_of(t, like->sizes(), like->strides(), t.dtype());
  return ops::copy_(out, t, false);
}

Tensor detach(const Tensor& t) {
  if (UT_LIKELY(!ops::is_dispatched(t))) return alias(t);
  Tensor out = delegated::call<Tensor>("aten::detach", {t});
  ops::share_version(t, out);
  return out;
}
bool is_exclusive_sparse(const Tensor& t) { return sparse::is_exclusive(t); }

namespace {
// The sum, if its type has a fast one. It is finite only if every element is, so one read answers the common case; if
// it is not, it may also have overflowed.
std::optional<double> quick_sum(const Tensor& t) {
  DType d = t.dtype();
  if (d != DType::Float32 && d != DType::Float64 && d != DType::BFloat16) return std::nullopt;
  return ops::item(ops::sum(t)).to<double>();
}
bool has_any(const Tensor& mask) { return ops::item(ops::any(mask)).to<bool>(); }
}  // namespace

bool has_nan(const Tensor& t) {
  if (t.is_sparse()) return has_nan(sparse_parts(t).values);
  if (!t.numel() || !fwd::has_elements(t)) return false;
  Tensor all = batched::physical(t);  // true if any sample has a NaN
  if (auto sum = quick_sum(all); sum && std::isfinite(*sum)) return false;
  return has_any(ops::isnan(all));
}

ValueKind classify(const Tensor& t) {
  NoGradGuard no_grad;
  ModeGuard no_profile(kProfile, false);
  ModeGuard unrecorded(kProvenance, false);
  if (t.is_sparse()) return classify(sparse_parts(t).values);
  if (!fwd::has_elements(t)) return ValueKind::Finite;
  if (!t.numel()) return ValueKind::Zero;
  Tensor all = batched::physical(t);
  auto sum = quick_sum(all);
  if (sum && std::isfinite(*sum) && *sum != 0) return ValueKind::Finite;
  if (!sum || !std::isfinite(*sum)) {
    if (has_any(ops::isnan(all))) return ValueKind::Nan;
    if (has_any(ops::isinf(all))) return ValueKind::Infinite;
  }
  return has_any(ops::ne(all, Scalar(0))) ? ValueKind::Finite : ValueKind::Zero;
}

}  // namespace undertow::core::graph_ops
