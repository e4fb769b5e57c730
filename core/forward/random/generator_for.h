// generator_for.h: which generator an operator draws from.
#pragma once
#include "core/kernels/backend.h"
#include "core/kernels/generator.h"

namespace undertow::fwd {

// The given generator, which must be on the tensor's device, or the device's default. Tensors without memory draw
// nothing, so any generator is accepted.
inline Generator& generator_for(const Tensor& t, Generator* g) {
  if (!g) return default_generator(t.is_meta() ? kCpu : t.device());
  UT_CHECK(t.is_meta() || g->device == t.device(), "Expected a '", t.device(),
           "' device type for generator but found '", g->device, "'");
  return *g;
}

}  // namespace undertow::fwd
