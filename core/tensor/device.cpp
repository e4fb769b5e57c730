// device.cpp: see device.h.
#include "core/tensor/device.h"

namespace undertow {

const char* const kDeviceNames[kNumDeviceTypes] = {"cpu",    "cuda", "ipu",  "xpu",  "mkldnn", "opengl",       "opencl",
                                                   "ideep",  "hip",  "ve",   "fpga", "maia",   "xla",          "lazy",
                                                   "vulkan", "mps",  "meta", "hpu",  "mtia",   "privateuseone"};

std::ostream& operator<<(std::ostream& out, Device d) {
  out << name(d.type);
  if (d.index >= 0) out << ':' << static_cast<int>(d.index);
  return out;
}

}  // namespace undertow
