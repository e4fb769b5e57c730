// nesting.h: limits on containers in containers, as a file may contain them.
#pragma once
#include <cstddef>

#include <undertow/types/ivalue.h>

namespace undertow::formats {

inline constexpr int kDeepest = 500;  // of containers in containers: they are destroyed recursively

// Raises for a value that contains itself, and for containers that are nested more than kDeepest deep. One container
// may be an element of many others, so that the number of paths is exponential: at most `most_visits` are followed.
void check_nesting(const IValue& value, size_t most_visits);

}  // namespace undertow::formats
