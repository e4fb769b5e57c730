// elements.h: whether a decision may look at a tensor's elements.
#pragma once
#include "core/tensor/tensor.h"

namespace undertow::fwd {

// False where the device keeps shapes only (Backend::has_elements); item() raises there.
bool has_elements(const Tensor& t);

}  // namespace undertow::fwd
