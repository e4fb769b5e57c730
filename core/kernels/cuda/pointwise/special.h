// special.h: the special functions that are selected by name.
#pragma once
#include "core/kernels/pointwise.h"

namespace undertow::core::cuda {

void special_function(const Tensor& out, const Tensor& x, std::string_view name);
void special_polynomial(const Tensor& out, const Tensor& x, const Tensor& degrees, std::string_view name);

}  // namespace undertow::core::cuda
