// tensor_protocols.h: Tensor with Python's operators: arithmetic, comparison, indexing, iteration, truth value.
#pragma once
#include <vector>

#include "core/python/tensor/tensor_object.h"

namespace undertow::core::python {

void add_tensor_protocols(std::vector<PyType_Slot>& slots);

}  // namespace undertow::core::python
