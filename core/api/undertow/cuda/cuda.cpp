// cuda.cpp: see cuda.h.
// build: small
#include <undertow/cuda.h>

#include "core/kernels/cuda_control.h"
#include "core/kernels/generator.h"
#include "core/kernels/load_backend.h"

namespace undertow::cuda {

namespace {

// Null without a GPU.
const core::CudaControl* control() {
  static const core::CudaControl* found = [] {
    auto* table = static_cast<const core::CudaControl*>(core::backend_control(core::DeviceType::CUDA));
    return table && table->is_available() ? table : nullptr;
  }();
  return found;
}

void seed_device(int64_t index, uint64_t seed) {
  core::default_generator({core::DeviceType::CUDA, static_cast<DeviceIndex>(index)}).manual_seed(seed);
}

}  // namespace

bool is_available() { return control() != nullptr; }
DeviceIndex device_count() { return control() ? static_cast<DeviceIndex>(control()->device_count()) : DeviceIndex(0); }
bool cudnn_is_available() { return is_available(); }

void synchronize(int64_t device_index) {
  UT_CHECK(control(), "cuda::synchronize: there is no GPU to wait for");
  control()->synchronize(device_index < 0 ? control()->current_device() : device_index);
}

void manual_seed(uint64_t seed) {
  if (control()) seed_device(control()->current_device(), seed);
}
void manual_seed_all(uint64_t seed) {
  for (DeviceIndex i = 0; i < device_count(); i++) seed_device(i, seed);
}

}  // namespace undertow::cuda
