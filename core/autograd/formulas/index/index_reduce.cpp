// index_reduce.cpp: derivatives of scatter_reduce and index_reduce.
//
// Note [Derivatives Of Scattered Reductions]
// Both compute, for each target index, a reduction of self's element and of the source elements sent there. Each
// element of self and of the source has a coefficient: the partial derivative of the result at its target. With them
//   grad_self = grad * conj(of_self),  grad_source = read(grad) * conj(of_source),
//   tangent   = self_t * of_self + add(source_t * of_source),
// where read copies the value of a target to the source elements sent there (gather, index_select), and add is its
// transpose. The coefficients are computed by operators, so everything can be differentiated again. Ties of amax and
// amin share the gradient evenly.
// build: small
// build: small
#include "core/autograd/formulas/formulas.h"
#include "core/autograd/recording.h"
#include "core/forward/copy/copy.h"
#include "core/forward/copy/elements.h"

namespace undertow::core::ops {

namespace {

struct Reduction {
  const Tensor &self, &index, &source, &result;
  int64_t dim;
  std::string_view reduce;
  bool include_self, slices;  // slices: true for index_reduce

  Tensor read(const Tensor& t) const {
    return slices ? index_select_as(t, dim, index, source.sizes()) : gather_as(t, dim, index, source.sizes());
  }
  Tensor add(const Tensor& to, const Tensor& src) const {
    return slices ? index_add(to, dim, index, src, Scalar(1)) : scatter_add(to, dim, index, src);
  }
  Tensor reduce_again(const Tensor& s, const Tensor& src) const {
    return slices ? index_reduce(s, dim, index, src, reduce, include_self)
                  : scatter_reduce(s, dim, index, src, reduce, include_self);
  }
  // Sets every target that receives a source element to zero.
  Tensor clear(const Tensor& t) const {
    return slices ? index_fill(t, dim, index, Scalar(0)) : scatter(t, dim, index, Scalar(0));
  }

  Tensor zeros_like_self() const { return fwd::zeros_on_device_of(self, self.sizes(), self.dtype()); }
  Tensor ones(const Tensor& like) const { return fwd::full_on_device_of(like, like.sizes(), Scalar(1), like.dtype()); }
  // The number of elements reduced at each target; at least one.
  Tensor counts() const {
    Tensor n = add(include_self ? ones(self) : zeros_like_self(), ones(source));
    return masked_fill(n, eq(n, Scalar(0)), Scalar(1));
  }
  // For elements equal to the result at their target, one over the number of such elements; otherwise zero.
  Tensor ties(bool of_self) const {
    Tensor self_is = to_dtype(eq(self, result), self.dtype());
    if (!include_self) self_is = clear(self_is);
    Tensor source_is = to_dtype(eq(source, read(result)), self.dtype());
    Tensor n = add(self_is, source_is);
    Tensor share = reciprocal(masked_fill(n, eq(n, Scalar(0)), Scalar(1)));
    return of_self ? self_is * share : source_is * read(share);
  }

  Tensor of_self() const {
    Tensor c;
    if (reduce == "sum") {
      c = ones(self);
    } else if (reduce == "mean") {
      c = reciprocal(counts());
    } else if (reduce == "prod") {
      // The product without self's own factor, which may be zero.
      Tensor nonzero_self = masked_fill(self, eq(self, Scalar(0)), Scalar(1));
      c = reduce_again(nonzero_self, source) / nonzero_self;
    } else {
      c = ties(true);
    }
    return include_self ? c : clear(c);
  }

  Tensor of_source() const {
    if (reduce == "sum") return ones(source);
    if (reduce == "mean") return read(reciprocal(counts()));
    if (reduce != "prod") return ties(false);
    // For a source element that is the only zero of its target: the product of the rest. With several zeros, every
    // derivative is zero.
    Tensor zero = eq(source, Scalar(0));
    Tensor zeros_here = read(add(zeros_like_self(), to_dtype(zero, self.dtype())));
    Tensor single =
        to_dtype(to_dtype(zero, self.dtype()) * to_dtype(eq(zeros_here, Scalar(1)), self.dtype()), DType::Bool);
    Tensor rest = read(reduce_again(self, masked_fill(source, single, Scalar(1))));
    Tensor ratio = read(result) / masked_fill(source, zero, Scalar(1));
    Tensor chosen = to_dtype(single, self.dtype());
    return rest * chosen + masked_fill(ratio, single, Scalar(0));
  }

  Tensor tangent(const Tensor& self_t, const Tensor& source_t) const {
    Tensor from_self = self_t.defined() ? self_t * of_self() : zeros_like_self();
    return source_t.defined() ? add(from_self, source_t * of_source()) : from_self;
  }
};

// Stands behind a gradient that cannot be differentiated again: raises when a pass reaches it.
class DelayedError final : public NodeWithEdges<1> {
 public:
  UT_NODE_MEMORY(DelayedError)
  explicit DelayedError(const char* message) : message_(message) {}
  std::string name() const override { return "DelayedError"; }
  void apply(std::span<Tensor>, std::span<Tensor>) override { UT_FAIL(message_); }

 private:
  const char* message_;
};

// The formula's second derivative is that of the place's product without the element itself; of two zeros it would give
// zero for both, which is wrong. So it raises there, as in torch.
Tensor raise_in_second_derivative(const Reduction& r, const Tensor& grad, const char* message) {
  if (r.reduce != "prod" || !grad_enabled() || !grad.requires_grad() || grad.impl()->has(kBatched) ||
      !fwd::has_elements(grad))
    return grad;
  {
    NoGradGuard no_grad;
    Tensor zeros = r.add(r.zeros_like_self(), to_dtype(eq(r.source, Scalar(0)), r.self.dtype()));
    if (!item(any(gt(is_complex(zeros.dtype()) ? real(zeros) : zeros, Scalar(1)))).to<bool>()) return grad;
  }
  auto* node = new DelayedError(message);
  NodeGuard guard(node);
  node->edges()[0] = gradient_edge(grad);
  node->finish_recording();
  Tensor out = alias(grad);
  guard.give_to(out);
  return out;
}

}  // namespace

Tensor scatter_reduce_self_grad(const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& index,
                                const Tensor& src, std::string_view reduce, bool include_self, const Tensor& result) {
  return grad * conj(Reduction{self, index, src, result, dim, reduce, include_self, false}.of_self());
}
Tensor scatter_reduce_src_grad(const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& index,
                               const Tensor& src, std::string_view reduce, bool include_self, const Tensor& result) {
  Reduction r{self, index, src, result, dim, reduce, include_self, false};
  return raise_in_second_derivative(
      r, r.read(grad) * conj(r.of_source()),
      "scatter_reduce(): Double backward is unsupported for src when >1 zeros in src are scattered to "
      "the same position in self");
}
Tensor scatter_reduce_tangent(const Tensor& self, const Tensor& self_t, int64_t dim, const Tensor& index,
                              const Tensor& src, const Tensor& src_t, std::string_view reduce, bool include_self,
                              const Tensor& result) {
  return Reduction{self, index, src, result, dim, reduce, include_self, false}.tangent(self_t, src_t);
}
Tensor index_reduce_self_grad(const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& index,
                              const Tensor& source, std::string_view reduce, bool include_self, const Tensor& result) {
  return grad * conj(Reduction{self, index, source, result, dim, reduce, include_self, true}.of_self());
}
Tensor index_reduce_source_grad(const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& index,
                                const Tensor& source, std::string_view reduce, bool include_self,
                                const Tensor& result) {
  Reduction r{self, index, source, result, dim, reduce, include_self, true};
  return raise_in_second_derivative(
      r, r.read(grad) * conj(r.of_source()),
      "index_reduce(): Double backward is unsupported for source when >1 zeros in source are scattered "
      "to the same position in self");
}
Tensor index_reduce_tangent(const Tensor& self, const Tensor& self_t, int64_t dim, const Tensor& index,
                            const Tensor& source, const Tensor& source_t, std::string_view reduce, bool include_self,
                            const Tensor& result) {
  return Reduction{self, index, source, result, dim, reduce, include_self, true}.tangent(self_t, source_t);
}

}  // namespace undertow::core::ops
