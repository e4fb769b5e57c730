// generator.cpp: see generator.h.
#include "core/forward/random/generator.h"

namespace undertow {

Generator& default_generator() {
  static Generator* g = [] {
    auto* made = new Generator;
    made->state.set_seed(made->seed);
    return made;
  }();  // leaked: threads may draw during exit
  return *g;
}

}  // namespace undertow
