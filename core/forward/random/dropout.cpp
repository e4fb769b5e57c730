// dropout.cpp: dropout as one operator that also returns its mask.
// build: small
#include "core/forward/copy/copy.h"
#include "generated/fwd.h"

namespace undertow::core::fwd {

std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double p, std::optional<bool> train) {
  if (input.numel() == 0 || !train.value_or(true))
    return {contiguous_copy(input), full_on_device_of(input, input.sizes(), Scalar(true), DType::Bool)};
  if (p == 1)
    return {zeros_on_device_of(input, input.sizes(), input.dtype()),
            zeros_on_device_of(input, input.sizes(), DType::Bool)};
  Tensor kept = empty_on_device_of(input, input.sizes(), DType::Bool);
  bernoulli_out(kept, kept, 1 - p, nullptr);
  return {mul(mul(input, kept), Scalar(1 / (1 - p))), kept};
}

}  // namespace undertow::core::fwd
