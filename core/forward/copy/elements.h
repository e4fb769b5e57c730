// elements.h: whether a decision may look at a tensor's elements.
#pragma once
#include "core/tensor/tensor.h"

namespace undertow::core::fwd {

// False where the device keeps shapes only (Backend::has_elements), so that item() raises, and for a tensor whose class
// has a __torch_dispatch__.
bool has_elements(const Tensor& t);

}  // namespace undertow::core::fwd
