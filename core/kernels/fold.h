// fold.h: the operations of a reduction. In its own file because loops of every instruction set include it.
#pragma once
#include <cstdint>

namespace undertow::core {

enum class Fold : uint8_t { Sum, NanSum, Prod, Max, Min, SumAbs, SumSquares, MaxAbs, MinAbs, Any, All, CountNonzero };

}  // namespace undertow::core
