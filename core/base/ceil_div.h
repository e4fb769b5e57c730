// ceil_div.h: integer division that rounds up.
#pragma once
#include <cstdint>

namespace undertow::core {

// ceil(x / y), for x >= 0 and y > 0.
constexpr int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }

}  // namespace undertow::core
