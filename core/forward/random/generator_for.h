// generator_for.h: which generator an operator draws from.
#pragma once
#include "core/kernels/backend.h"
#include "core/kernels/generator.h"

namespace undertow::core::fwd {

// The given generator, which must be on the tensor's device, or the device's default. Where a device draws
// no random numbers, any generator is accepted.
inline Generator& generator_for(const Tensor& t, Generator* g) {
  bool draws = backend_of(t).new_random_stream;
  if (!g) return default_generator(draws ? t.device() : kCpu);
  UT_CHECK(!draws || g->device == t.device(), "Expected a '", t.device(), "' device type for generator but found '",
           g->device, "'");
  return *g;
}

}  // namespace undertow::core::fwd
