// optim.h: one native in-place update of many parameters, used by the optimizers' steps. Records nothing.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "core/tensor/tensor.h"

namespace undertow::core::fwd {

// tensors[k] is the k-th list (parameters, gradients, states), all of the same length; an empty state list means
// unused. Each parameter has its own row of constants. Parameters are real, and have the same dtype and layout as their
// states.
void optim_update(std::string_view algorithm, std::span<const std::vector<Tensor>> tensors,
                  std::span<const std::vector<double>> constants);
// The same with a row of constants for each parameter in a float64 tensor on their device: a captured step reads them
// when it is replayed.
void optim_update(std::string_view algorithm, std::span<const std::vector<Tensor>> tensors, const Tensor& constants);

}  // namespace undertow::core::fwd
