// engine_ops.cpp: the operators that graph/tensor_ops.h declares, from the operator table.
#include <algorithm>
#include <vector>

#include "core/autograd/batched.h"
#include "core/base/parallel.h"
#include "core/forward/copy/copy.h"
#include "core/graph/aggregate.h"
#include "core/graph/tensor_ops.h"
#include "core/tensor/layout.h"
#include "core/tensor/mode.h"
#include "generated/fwd.h"
#include "generated/ops.h"

namespace undertow::graph_ops {

Tensor add(const Tensor& a, const Tensor& b) { return ops::add(a, b, Scalar(1)); }
void add_in_place(const Tensor& a, const Tensor& b) {
  NoGradGuard no_grad;
  ops::add_(a, b, Scalar(1));
}

namespace {
constexpr int64_t kSweep = 2048;  // elements of the sum that stay in the first cache while the terms stream through

template <class T>
void sweep(T* out, std::span<const T* const> terms, int64_t begin, int64_t end) {
  for (int64_t at = begin; at < end; at += kSweep) {
    int64_t n = std::min(kSweep, end - at);
    std::copy_n(terms[0] + at, n, out + at);
    for (const T* term : terms.subspan(1))
      for (int64_t i = 0; i < n; i++) out[at + i] += term[at + i];
  }
}
template <class T>
Tensor swept(std::span<const Tensor> terms) {
  Tensor out = empty_beside(terms[0], terms[0].sizes(), terms[0].dtype());
  std::vector<const T*> from;
  for (const Tensor& t : terms) from.push_back(t.data_as<T>());
  parallel_for(0, out.numel(), 16 * 1024,
               [&](int64_t begin, int64_t end) { sweep<T>(out.data_as<T>(), from, begin, end); });
  return out;
}
}  // namespace

Tensor add_n(std::span<const Tensor> terms) {
  DType dtype = terms[0].dtype();
  bool plain = !grad_enabled() && std::all_of(terms.begin(), terms.end(), [&](const Tensor& t) {
    return t.dtype() == dtype && t.is_contiguous() && !t.impl()->has(kFlagSlow) && same(t.sizes(), terms[0].sizes());
  });
  if (plain && dtype == DType::Float32) return swept<float>(terms);
  if (plain && dtype == DType::Float64) return swept<double>(terms);
  bool narrow = dtype == DType::Float16 || dtype == DType::BFloat16;
  Tensor sum = narrow ? cast(terms[0], DType::Float32) : terms[0];
  for (const Tensor& t : terms.subspan(1)) sum = add(sum, t);
  return narrow ? cast(sum, dtype) : sum;
}
Tensor sum_to(const Tensor& t, IntSpan sizes) { return ops::sum_to_size(t, sizes); }
Tensor cast(const Tensor& t, DType dtype) { return ops::to_dtype(t, dtype); }
Tensor real(const Tensor& t) { return ops::real(t); }
Tensor clone(const Tensor& t) { return ops::clone(t, std::nullopt); }

Tensor clone_into_layout_of(const Tensor& t, const TensorImpl* like) {
  if (!is_non_overlapping_and_dense(like->sizes(), like->strides())) return ops::clone(t, MemoryFormat::Contiguous);
  if (same(t.strides(), like->strides()) || (t.is_contiguous() && like->has(kContiguous)))
    return ops::clone(t, std::nullopt);
  Tensor out = empty_strided_beside(t, like->sizes(), like->strides(), t.dtype());
  return ops::copy_(out, t, false);
}

Tensor detach(const Tensor& t) { return alias(t); }

bool has_nan(const Tensor& t) {
  if (!t.numel()) return false;
  return ops::item(ops::any(ops::isnan(batched::physical(t)))).to<bool>();  // of any sample
}

Look look_at(const Tensor& t) {
  NoGradGuard no_grad;
  ModeGuard unwatched(kProfile, false);
  ModeGuard unrecorded(kProvenance, false);
  if (has_nan(t)) return Look::Nan;
  if (t.numel() && ops::item(ops::any(ops::isinf(t))).to<bool>()) return Look::Infinite;
  return t.numel() && ops::item(ops::any(ops::ne(t, Scalar(0)))).to<bool>() ? Look::Finite : Look::Zero;
}

}  // namespace undertow::graph_ops
