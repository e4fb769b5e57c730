// op_types.h: the types in the signatures of operators, for the generated headers.
#pragma once
#include <limits>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/forward/forward_types.h"
#include "core/tensor/tensor.h"
