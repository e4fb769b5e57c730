// forward_types.h: what every family of forward functions needs in its signatures. No graph is known here.
#pragma once
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/tensor/device.h"
#include "core/tensor/tensor.h"

namespace undertow {

struct Generator;  // forward/generator.h

}  // namespace undertow
