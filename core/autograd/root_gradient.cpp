// root_gradient.cpp: see root_gradient.h.
#include "core/autograd/root_gradient.h"

#include <algorithm>

#include "core/forward/copy/copy.h"
#include "core/tensor/layout.h"

namespace undertow::core::autograd {

namespace {

// A Size as Python prints it, as in torch's messages about gradients.
std::string size_text(IntSpan sizes) { return str("undertow.Size(", ShapeText{sizes}, ")"); }

Tensor implicit_gradient(const RootOutput& output, size_t index) {
  bool scalar = std::all_of(output.sizes.begin(), output.sizes.end(), [](int64_t s) { return s == 1; });
  UT_CHECK(scalar, "grad can be implicitly created only for scalar outputs: output[", index, "] has a shape of ",
           size_text(output.sizes), "; pass its gradient");
  UT_CHECK(is_floating(output.dtype), "grad can be implicitly created only for real scalar outputs but got undertow.",
           output.dtype);
  return fwd::full(output.sizes, Scalar(1), output.dtype, output.device);
}

void check_shape(const RootOutput& output, const Tensor& grad, size_t index, bool batched) {
  if (same(batched && grad.dim() ? grad.sizes().subspan(1) : grad.sizes(), output.sizes) && !(batched && !grad.dim()))
    return;
  std::string facts = str("grad_output[", index, "] has a shape of ", size_text(grad.sizes()), " and output[", index,
                          "] has a shape of ", size_text(output.sizes), ".");
  UT_CHECK(!batched,
           "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension, "
           "and the others must be those of the output: ",
           facts);
  UT_FAIL("Mismatch in shape: ", facts);
}

}  // namespace

Tensor root_gradient(const RootOutput& output, const Tensor& grad, size_t index, bool batched) {
  if (!grad.defined()) return implicit_gradient(output, index);
  check_shape(output, grad, index, batched);
  UT_CHECK(is_complex(output.dtype) == grad.is_complex(),
           "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
           "grad_output[",
           index, "] has a dtype of undertow.", grad.dtype(), " and output[", index, "] has a dtype of undertow.",
           output.dtype, ".");
  return grad;
}

}  // namespace undertow::core::autograd
