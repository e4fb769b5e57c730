// matmul.cpp: gradients and tangents of matrix products, and matmul as a composition of products.
// build: small
#include "core/forward/matmul/matmul.h"
#include "core/autograd/formulas/formulas.h"
#include "core/autograd/recording.h"
#include "core/tensor/layout.h"

namespace undertow::core::ops {

Tensor adjoint_of(const Tensor& m) {
  Tensor transposed = transpose(m, -2, -1);
  return m.is_complex() ? conj(transposed) : transposed;
}
Tensor matrix_adjoint(const Tensor& m) {
  Tensor transposed = t(m);
  return m.is_complex() ? conj(transposed) : transposed;
}
Tensor mm_batched(const Tensor& a, const Tensor& b) { return matmul(a, b); }

// With C = A B: dA = dC B^H, and its transpose conj(B) dC^T; dB = A^H dC, and its transpose dC^T conj(A).
Tensor mm_left_grad(const Tensor& grad, const Tensor& mat2, bool column_major) {
  return column_major ? t(mm(conj_of(mat2), t(grad))) : mm(grad, matrix_adjoint(mat2));
}
Tensor mm_right_grad(const Tensor& grad, const Tensor& mat1, bool column_major) {
  return column_major ? t(mm(t(grad), conj_of(mat1))) : mm(matrix_adjoint(mat1), grad);
}

Tensor repeat_in_batch(const Tensor& matrix, const Tensor& batch) {
  return expand(unsqueeze(matrix, 0), Dims{batch.size(0), matrix.size(0), matrix.size(1)}, false);
}
Tensor trace_backward(const Tensor& grad, IntSpan sizes) {
  return grad * eye(sizes[0], sizes[1], grad.dtype(), grad.device());
}

namespace {
template <class F>
Tensor product_tangent(const Tensor& a, const Tensor& a_t, const Tensor& b, const Tensor& b_t, F&& f) {
  return self_t_plus(a_t.defined() ? f(a_t, b) : Tensor(), b_t.defined() ? f(a, b_t) : Tensor());
}
Tensor sum_of_products(const Tensor& a, const Tensor& b) {
  return sum(bmm(a, b), IntSpan(Dims{0}), false, std::nullopt);
}
}  // namespace

Tensor mm_tangent(const Tensor& a, const Tensor& a_t, const Tensor& b, const Tensor& b_t) {
  return product_tangent(a, a_t, b, b_t, mm);
}
Tensor bmm_tangent(const Tensor& a, const Tensor& a_t, const Tensor& b, const Tensor& b_t) {
  return product_tangent(a, a_t, b, b_t, bmm);
}
Tensor mv_tangent(const Tensor& a, const Tensor& a_t, const Tensor& b, const Tensor& b_t) {
  return product_tangent(a, a_t, b, b_t, mv);
}
Tensor dot_tangent(const Tensor& a, const Tensor& a_t, const Tensor& b, const Tensor& b_t) {
  return product_tangent(a, a_t, b, b_t, dot);
}
Tensor vdot_tangent(const Tensor& a, const Tensor& a_t, const Tensor& b, const Tensor& b_t) {
  return product_tangent(a, a_t, b, b_t, vdot);
}
Tensor outer_tangent(const Tensor& a, const Tensor& a_t, const Tensor& b, const Tensor& b_t) {
  return product_tangent(a, a_t, b, b_t, outer);
}
Tensor addbmm_tangent(const Tensor& a, const Tensor& a_t, const Tensor& b, const Tensor& b_t) {
  return product_tangent(a, a_t, b, b_t, sum_of_products);
}
Tensor cross_tangent(const Tensor& a, const Tensor& a_t, const Tensor& b, const Tensor& b_t, int64_t dim) {
  return product_tangent(a, a_t, b, b_t, [dim](const Tensor& x, const Tensor& y) { return linalg_cross(x, y, dim); });
}
Tensor added_tangent(const Tensor& self_t, const Scalar& beta, const Tensor& product_t, const Scalar& alpha) {
  return self_t_plus(maybe_mul(self_t, beta), maybe_mul(product_t, alpha));
}

namespace {

// Note [Folding In Matmul]
// A batch of matrices times one matrix is one tall product if the rows of the batch are contiguous in memory. It is
// also folded if they are not but the single matrix needs a gradient, because the gradient of an expanded copy would be
// as large as the batch and then be summed. These are torch's conditions, so that graphs look like torch's.
bool should_fold(const Tensor& a, const Tensor& b) {
  bool a_larger = a.dim() >= b.dim();
  const Tensor &large = a_larger ? a : b, &small = a_larger ? b : a;
  if (large.dim() < 3 || small.dim() > 2) return false;
  if (small.requires_grad()) return true;
  if (a.dim() == 2) return false;
  if (large.numel() == 0) return true;
  Dims sizes(large.sizes()), strides(large.strides());
  if (!a_larger) {
    std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
    std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  }
  for (size_t d = 0; d + 2 < sizes.size(); d++)
    if (strides[d] != strides[d + 1] * sizes[d + 1]) return false;
  return true;
}

Tensor folded(const Tensor& a, const Tensor& b) {
  bool transposed = b.dim() > a.dim();
  Tensor large = transposed ? transpose(b, -2, -1) : a, small = !transposed ? b : a.dim() == 2 ? t(a) : a;
  Dims shape(large.sizes());
  int64_t k = shape.back();
  shape.pop_back();
  int64_t rows = product(shape);
  Tensor tall = reshape(large, Dims{rows, k});
  if (small.dim() == 1) return _unsafe_view(mv(tall, small), shape);
  shape.push_back(small.size(1));
  Tensor out = _unsafe_view(mm(tall, small), shape);
  return transposed ? clone(transpose(out, -2, -1), MemoryFormat::Contiguous) : out;
}

Tensor batched(const Tensor& a, const Tensor& b) {
  int64_t da = a.dim(), db = b.dim();
  if (da == 3 && db == 3 && a.size(0) != b.size(0)) {
    if (a.size(0) == 1 && a.requires_grad()) return matmul(squeeze(a, 0), b);
    if (b.size(0) == 1 && b.requires_grad()) return matmul(a, squeeze(b, 0));
  }
  int64_t n = da > 1 ? a.size(-2) : 1, m1 = a.size(-1), m2 = db > 1 ? b.size(-2) : b.size(-1),
          p = db > 1 ? b.size(-1) : 1;
  Dims shape = broadcast_sizes(a.sizes().first(static_cast<size_t>(std::max<int64_t>(da - 2, 0))),
                               b.sizes().first(static_cast<size_t>(std::max<int64_t>(db - 2, 0))));
  int64_t count = product(shape);
  auto with = [&](std::initializer_list<int64_t> tail) {
    Dims s = shape;
    for (int64_t v : tail) s.push_back(v);
    return s;
  };
  Tensor left = reshape(expand(a, with({n, m1}), false), Dims{count, n, m1});
  Tensor right = db == 1 ? unsqueeze(reshape(expand(b, with({m2}), false), Dims{count, m2}), 2)
                         : reshape(expand(b, with({m2, p}), false), Dims{count, m2, p});
  Tensor out = bmm(left, right);
  if (da > 1) shape.push_back(n);
  if (db > 1) shape.push_back(p);
  return _unsafe_view(db == 1 ? squeeze(out, -1) : out, shape);
}

// For a row times a matrix: the node that squeeze_(row, 0) would record on a result that nobody else has seen. It skips
// the checks of squeeze_ for views, leaves and owners, which cost as much as an 8 x 8 product.
class SqueezeBackward4 final : public NodeWithEdges<1> {
 public:
  UT_NODE_MEMORY(SqueezeBackward4)
  void apply(std::span<Tensor> grads, std::span<Tensor> grad_inputs) override {
    if (grads[0].defined()) grad_inputs[0] = unsqueeze(grads[0], 0);
  }
  std::string name() const override { return "SqueezeBackward4"; }
  const SavedField* saved_fields(size_t* count) const override {
    static const SavedField fields[] = {{"dim", UT_OFFSET_IN(SqueezeBackward4, dim_), SavedKind::Int},
                                        {"self_sym_sizes", UT_OFFSET_IN(SqueezeBackward4, sizes_), SavedKind::Ints}};
    *count = 2;
    return fields;
  }
  int64_t dim_ = 0;
  Dims sizes_;
};

Tensor row_times_matrix(const Tensor& self, const Tensor& other) {
  Tensor row = mm(unsqueeze(self, 0), other);
  TensorImpl* impl = row.impl();
  if (UT_UNLIKELY(!impl->grad_fn || impl->meta || (thread_mode.bits & kModeSlow))) {
    squeeze_(row, 0);
    return row;
  }
  auto* node = new SqueezeBackward4;
  NodeGuard guard(node);
  node->sizes_ = Dims(row.sizes());
  node->edges()[0].node = Ref<Node>::adopt(std::exchange(impl->grad_fn, nullptr));
  node->edges()[0].input_nr = impl->output_nr;
  node->finish_recording();
  int64_t n = row.size(1);
  impl->set_sizes(IntSpan(&n, 1));
  row.bump_version("squeeze_");
  guard.give_to(row);
  return row;
}

}  // namespace

Tensor matmul_composite(const Tensor& self, const Tensor& other) {
  uint32_t flags = flags_of(self) | flags_of(other);
  if (!wants_record(flags) && !(flags & (kConj | kNeg | kHasTangent | kDelegated | kDispatched)) && !dispatch_mode() &&
      self.device() == other.device()) {
    // Nothing observes the intermediate steps, so skip them. If the shapes do not match, continue to the operator that
    // raises.
    Tensor out = fwd::matmul_direct(self, other);
    if (out.defined()) {
      if (UT_UNLIKELY(thread_mode.bits & kModeObserved)) observe_result("matmul", 3u, out, self, other);
      return out;
    }
  }
  int64_t a = self.dim(), b = other.dim();
  UT_CHECK(a != 0 && b != 0, "both arguments to matmul need to be at least 1D, but they are ", a, "D and ", b, "D");
  if (b == 1 && a <= 2) return a == 1 ? dot(self, other) : mv(self, other);
  if (a == 2 && b == 2) return mm(self, other);
  if (a == 1 && b == 2) return row_times_matrix(self, other);
  return should_fold(self, other) ? folded(self, other) : batched(self, other);
}

}  // namespace undertow::core::ops
