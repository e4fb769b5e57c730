// elementwise_params.h: parameters of the kernels in elementwise.cuh. Included by the host and the device; the includer
// has defined int64_t.
#pragma once

namespace undertow {

struct LossOperands {
  char* p[6];
};

// How elements outside [0, 1] are reported: see device/errors.cuh.
struct DeviceErrorSlot;
struct UnitCheck {
  DeviceErrorSlot* slot;
  int64_t raise;
};

}  // namespace undertow
