// errors.cuh: how a kernel reports a bad value to the host. See Note [Errors From Device Code] in
// runtime/device_errors.h.
#pragma once
#include "device/prelude.cuh"
// After prelude.cuh, which defines int64_t.
#include "device/errors_params.h"

namespace undertow {

// The first report stays until the host has read it.
UT_DEVICE void report_error(DeviceErrorSlot* slot, int64_t raise, int64_t a, int64_t b, int64_t c) {
  if (atomicExch(&slot->taken, 1u)) return;
  slot->raise = raise;
  slot->values[0] = a;
  slot->values[1] = b;
  slot->values[2] = c;
  __threadfence_system();
  *const_cast<volatile uint32_t*>(&slot->complete) = 1;
}

}  // namespace undertow
