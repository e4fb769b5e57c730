// backends.cpp: the devices of this build. A new device needs a folder and a line here.
#include <array>

#include "core/kernels/backend.h"
#include "core/kernels/cpu/cpu_backend.h"
#include "core/kernels/kernel.h"
#include "core/kernels/load_backend.h"
#include "core/kernels/meta/meta_backend.h"

namespace undertow::core {

constinit std::array<const Backend*, kNumDeviceTypes> backends = [] {
  std::array<const Backend*, kNumDeviceTypes> all{};
  all[static_cast<int>(DeviceType::CPU)] = &cpu::backend;
  all[static_cast<int>(DeviceType::Meta)] = &meta::backend;
  return all;
}();

const DeviceMemory& device_memory(Device device) {
  const Backend* backend = backends[static_cast<size_t>(device.type)];
  if (UT_UNLIKELY(!backend)) backend = load_backend(device.type);
  UT_CHECK(backend && backend->memory, "device '", device, "': this build of Undertow has no backend for ",
           name(device.type), " devices");
  return *backend->memory;
}

void throw_missing_kernel(const char* name, Device device) {
  UT_FAIL_AS(NotImplemented, "Could not run '", name, "' with arguments from the '", device,
             "' backend: that device has no kernel for it");
}

void check_storage_kernel(const char* name, uint8_t supported, DType t) {
  if (!(supported & storage_group(t))) throw_not_implemented(name, t);
}

}  // namespace undertow::core
