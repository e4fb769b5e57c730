// nll_params.h: parameters of the kernels in nll.cuh. Included by the host and the device; the includer has defined
// int64_t.
#pragma once

namespace undertow {

struct DeviceErrorSlot;

struct NllItems {
  const int64_t* target;
  int64_t n;  // items, at all points
  int64_t classes, space, ignore;
  DeviceErrorSlot* slot;  // how a target that is not a class is reported: see device/errors.cuh
  int64_t raise;
};

}  // namespace undertow
