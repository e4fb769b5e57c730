// forward_types.h: types used in the signatures of all forward functions. Knows no graph.
#pragma once
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/tensor/device.h"
#include "core/tensor/tensor.h"

namespace undertow::core {

struct Generator;  // kernels/generator.h

}  // namespace undertow::core
