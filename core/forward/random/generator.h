// generator.h: a source of random numbers: torch's CPU stream, one default generator for the process.
#pragma once
#include <mutex>

#include "core/kernels/cpu/random/random.h"

namespace undertow {

struct Generator {
  std::mutex mutex;  // guards state: any thread may draw
  random::RandomState state;
  uint64_t seed = 67280421310721ull;  // torch's default seed
  void manual_seed(uint64_t s) {
    std::lock_guard lock(mutex);
    seed = s;
    state.set_seed(s);
  }
};
Generator& default_generator();
// The given one, or the default.
inline Generator& or_default(Generator* g) { return g ? *g : default_generator(); }

}  // namespace undertow
