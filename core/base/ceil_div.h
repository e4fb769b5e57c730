// ceil_div.h: division that rounds up, for counting parts.
#pragma once
#include <cstdint>

namespace undertow {

// The least number of parts of y that hold x; neither is negative.
constexpr int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }

}  // namespace undertow
