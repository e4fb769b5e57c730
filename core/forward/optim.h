// optim.h: one native update of many parameters, in place: what optimizers' steps are made of. Records nothing.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "core/tensor/tensor.h"

namespace undertow::fwd {

// tensors[k] is the k-th list (parameters, gradients, states), all of one length; an empty state list means unused.
// Each parameter has its own row of constants. Parameters are real, of one dtype with their states, and share their
// layout.
void optim_update(std::string_view algorithm, std::span<const std::vector<Tensor>> tensors,
                  std::span<const std::vector<double>> constants);

}  // namespace undertow::fwd
