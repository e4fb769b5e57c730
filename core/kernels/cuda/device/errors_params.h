// errors_params.h: where a kernel reports a bad value. Included by the host and by device code; the includer has
// defined int64_t. See Note [Errors From Device Code] in runtime/device_errors.h.
#pragma once

namespace undertow {

struct DeviceErrorSlot {
  uint32_t taken;     // 1 once a kernel has reported
  uint32_t complete;  // 1 once all fields are written
  int64_t raise;      // address of a function void(int64_t, int64_t, int64_t) of the host, which raises
  int64_t values[3];
};

}  // namespace undertow
