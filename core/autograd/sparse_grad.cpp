// sparse_grad.cpp: see sparse_grad.h.
// build: small
#include "core/autograd/sparse_grad.h"

#include "core/autograd/delegated/delegated.h"
#include "core/autograd/recording.h"
#include "core/forward/copy/copy.h"
#include "core/tensor/layout.h"
#include "generated/fwd.h"
#include "generated/ops.h"

namespace undertow::core::sparse {

namespace {
bool is_coo(const Tensor& t) { return layout_of(t) == Layout::SparseCoo; }
bool are_similar(const Tensor& a, const Tensor& b) {
  return is_coo(a) && is_coo(b) && same(a.sizes(), b.sizes()) && a.dtype() == b.dtype() &&
         sparse_parts(a).indices.size(0) == sparse_parts(b).indices.size(0);
}
Tensor joined(const Tensor& a, const Tensor& b, int64_t dim) {
  const Tensor both[] = {a, b};
  return ops::cat(TensorSpan(both, 2), dim);
}
SparseParts joined(const SparseParts& a, const SparseParts& b) {
  return {.layout = Layout::SparseCoo,
          .indices = joined(a.indices, b.indices, 1),
          .plain_indices = {},
          .values = joined(a.values, b.values, 0)};
}
bool is_recorded(const Tensor& a, const Tensor& b) {
  return grad_enabled() && (ops::flags_of(a) | ops::flags_of(b)) & kRequiresGrad;
}
// Sums that have a rule of their own: those that are recorded, of two coalesced tensors, or of other layouts.
bool is_simple(const Tensor& a, const Tensor& b) {
  return are_similar(a, b) && !is_recorded(a, b) && !(sparse_parts(a).coalesced && sparse_parts(b).coalesced);
}
// A dense tensor and a COO tensor that it can be added to here, at the indices of the latter only.
bool is_simple_dense(const Tensor& dense, const Tensor& t) {
  return !dense.is_sparse() && is_coo(t) && same(dense.sizes(), t.sizes()) && dense.dtype() == t.dtype() &&
         !(dense.impl()->flags & kFlagSlow) && !is_recorded(dense, t) && sparse_parts(t).indices.size(0) > 0;
}
void add_to(const Tensor& dense, const SparseParts& p) {
  std::vector<Tensor> at = ops::unbind(p.indices, 0);
  if (at.size() == 1)
    ops::index_add_(dense, 0, at[0], p.values, Scalar(1));
  else
    ops::index_put_(dense, at, p.values, true);
}
}  // namespace

Tensor gradient(const Tensor& indices, const Tensor& values, IntSpan sizes) {
  if (ops::wants_record(ops::flags_of(values)) || ops::flags_of(values) & kFlagSlow)
    return delegated::call<Tensor>("@sparse_coo_tensor", {indices, values, sizes});
  return make_sparse({.indices = indices, .plain_indices = {}, .values = values}, sizes);
}

Tensor rows_gradient(const Tensor& rows, const Tensor& at, IntSpan sizes, int64_t padding_idx) {
  if (padding_idx < 0) return gradient(ops::reshape(at, Dims{1, at.numel()}), rows, sizes);
  const Tensor kept[] = {ops::reshape(ops::nonzero(ops::ne(at, Scalar(padding_idx)), std::false_type()), Dims{-1})};
  Tensor used = ops::index(at, TensorSpan(kept, 1));
  return gradient(ops::reshape(used, Dims{1, used.numel()}), ops::index(rows, TensorSpan(kept, 1)), sizes);
}

Tensor gather_gradient(const Tensor& grad, IntSpan sizes, int64_t dim, const Tensor& index) {
  int64_t count = static_cast<int64_t>(sizes.size());
  if (!count)  // every index is 0
    return gradient(fwd::zeros(Dims{1, 1}, DType::Int64, grad.device()),
                    ops::sum_to_size(ops::reshape(grad, Dims{-1}), Dims{1}), sizes);
  if (index.dim() == 0) return gather_gradient(ops::reshape(grad, Dims{1}), sizes, dim, ops::reshape(index, Dims{1}));
  dim = wrap_dim(dim, count);
  std::vector<Tensor> positions;
  for (int64_t d = 0; d < count; d++) {
    Dims along(static_cast<size_t>(count), 1);
    along[static_cast<size_t>(d)] = index.size(d);
    Tensor at = d == dim ? fwd::to_dtype(index, DType::Int64)
                         : ops::reshape(ops::arange(Scalar(int64_t{0}), Scalar(index.size(d)), Scalar(int64_t{1}),
                                                    DType::Int64, grad.device()),
                                        along);
    positions.push_back(ops::reshape(ops::expand(at, index.sizes(), false), Dims{-1}));
  }
  return gradient(ops::stack(positions, 0), ops::reshape(grad, Dims{-1}), sizes);
}

Tensor clone(const Tensor& t) {
  const SparseParts& p = sparse_parts(t);
  auto copied = [](const Tensor& x) { return x.defined() ? ops::clone(x, std::nullopt) : Tensor(); };
  return make_sparse({p.layout, p.coalesced, copied(p.indices), copied(p.plain_indices), copied(p.values)}, t.sizes());
}

Tensor add(const Tensor& a, const Tensor& b) {
  if (a.is_sparse() && b.is_sparse() && is_simple(a, b))
    return make_sparse(joined(sparse_parts(a), sparse_parts(b)), a.sizes());
  if (a.is_sparse() && !b.is_sparse()) return add(b, a);  // a dense tensor is the first operand
  if (is_simple_dense(a, b)) {
    Tensor sum = ops::clone(a, std::nullopt);
    add_to(sum, sparse_parts(b));
    return sum;
  }
  return ops::add(a, b, Scalar(1));
}

void add_in_place(const Tensor& a, const Tensor& b) {
  if (a.is_sparse() && b.is_sparse() && is_simple(a, b)) {
    sparse_parts(a) = joined(sparse_parts(a), sparse_parts(b));
    sparse_parts(a).note_few();
    a.bump_version("add_");
    return;
  }
  if (is_simple_dense(a, b)) return add_to(a, sparse_parts(b));
  ops::add_(a, b, Scalar(1));
}

bool is_exclusive(const Tensor& t) {
  auto alone = [](const Tensor& x) {
    return !x.defined() || (x.impl()->use_count() == 1 && x.storage().use_count() == 1);
  };
  const SparseParts& p = sparse_parts(t);
  if (!p.values.is_contiguous() || !p.indices.is_contiguous()) return false;  // as in torch, such a gradient is copied
  return alone(t) && alone(p.values);                                         // indices are never written in place
}

}  // namespace undertow::core::sparse
