// spatial.cpp: derivatives and compositions of operators on images.
#include "core/autograd/formulas/formulas.h"

namespace undertow::ops {

Dims negated(IntSpan values) {
  Dims out;
  for (int64_t v : values) out.push_back(-v);
  return out;
}

}  // namespace undertow::ops
