// special.h: special functions of tensors, selected by name. See PointwiseKernels.
#pragma once
#include <string_view>

#include "core/tensor/tensor.h"

namespace undertow::core::cpu {

void special_function(const Tensor& out, const Tensor& x, std::string_view name);
void special_polynomial(const Tensor& out, const Tensor& x, const Tensor& degrees, std::string_view name);

}  // namespace undertow::core::cpu
