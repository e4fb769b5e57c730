// validation.cpp: checks that a gradient fits the forward output it belongs to.
//
// Note [Gradient Projection]
// A formula may return the gradient of a broadcast operand with the full shape, in a wider dtype, or complex for a real
// operand. The engine projects it: it sums over expanded dimensions, takes the real part and casts, so that no formula
// has to.
#include "core/graph/engine/engine.h"
#include "core/graph/tensor_ops.h"
#include "core/tensor/layout.h"

namespace undertow::core {

namespace {
std::string source_text(size_t index, const Node* producer) {
  return producer ? str("Function ", producer->name(), " returned an invalid gradient at index ", index)
                  : str("grad_outputs[", index, "]");
}
}  // namespace

void validate_gradient(const InputMeta& meta, Tensor& grad, size_t index, const Node* producer) {
  if (UT_LIKELY(same(meta.sizes(), grad.sizes()) && meta.dtype() == grad.dtype())) {
    UT_CHECK(meta.device() == grad.impl()->device, source_text(index, producer), " - expected device ", meta.device(),
             " but got ", grad.impl()->device);
    return;
  }
  if (!same(meta.sizes(), grad.sizes())) {
    UT_CHECK(is_expandable_to(meta.sizes(), grad.sizes()), source_text(index, producer), " - got ",
             ShapeText{grad.sizes()}, " but expected shape compatible with ", ShapeText{meta.sizes()});
    grad = graph_ops::sum_to(grad, meta.sizes());
  }
  if (meta.dtype() == grad.dtype() || meta.any_dtype()) return;
  UT_CHECK(is_complex(grad.dtype()) || !is_complex(meta.dtype()) || is_floating(grad.dtype()),
           source_text(index, producer), " - expected type ", meta.dtype(), " but got ", grad.dtype());
  if (is_complex(grad.dtype()) && !is_complex(meta.dtype())) grad = graph_ops::real(grad);
  if (meta.dtype() != grad.dtype()) grad = graph_ops::cast(grad, meta.dtype());
}

}  // namespace undertow::core
