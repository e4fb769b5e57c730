// generator.cpp: see generator.h.
#include "core/kernels/generator.h"

#include <map>

#include "core/base/error.h"
#include "core/kernels/backend.h"

namespace undertow::core {

Generator::Generator(Device on) : device(on) {
  const Backend* backend = backends[static_cast<size_t>(on.type)];
  UT_CHECK(backend && backend->new_random_stream, "device '", on,
           "' does not support random numbers: there is no generator for it");
  stream = backend->new_random_stream(on);
  stream->set_seed(seed);
}

Generator& default_generator(Device device) {
  // Leaked: threads may draw during exit.
  static Generator* cpu = new Generator;
  if (device.is_cpu()) return *cpu;
  static std::mutex guard;  // guards others
  static auto* others = new std::map<Device, Generator*>;
  std::lock_guard lock(guard);
  Generator*& made = (*others)[device];
  if (!made) {
    made = new Generator(device);
    made->manual_seed(cpu->seed);  // as torch: one call seeds all devices, also those used later
  }
  return *made;
}

}  // namespace undertow::core
