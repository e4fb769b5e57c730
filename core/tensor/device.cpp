// device.cpp: see device.h.
#include "core/tensor/device.h"

#include "core/base/error.h"

namespace undertow::core {

const char* const kDeviceNames[kNumDeviceTypes] = {"cpu",    "cuda", "ipu",  "xpu",  "mkldnn", "opengl",       "opencl",
                                                   "ideep",  "hip",  "ve",   "fpga", "maia",   "xla",          "lazy",
                                                   "vulkan", "mps",  "meta", "hpu",  "mtia",   "privateuseone"};

void append_text(std::string& out, Device d) {
  out += name(d.type);
  if (d.index >= 0) out += str(':', d.index);
}

}  // namespace undertow::core
