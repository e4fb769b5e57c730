// device.h: where a tensor's memory is, and the layouts and memory formats that torch's signatures name.
#pragma once
#include <compare>
#include <cstdint>
#include <string>

namespace undertow::core {

// Torch's device types, in torch's order. All of them can be named; tensors can be created only on those with a backend
// (kernels/backend.h).
enum class DeviceType : uint8_t {
  CPU,
  CUDA,
  IPU,
  XPU,
  MKLDNN,
  OpenGL,
  OpenCL,
  IDEEP,
  HIP,
  VE,
  FPGA,
  MAIA,
  XLA,
  Lazy,
  Vulkan,
  MPS,
  Meta,
  HPU,
  MTIA,
  PrivateUse1,
  COMPILE_TIME_MAX_DEVICE_TYPES  // torch's name for their number
};
inline constexpr int kNumDeviceTypes = static_cast<int>(DeviceType::COMPILE_TIME_MAX_DEVICE_TYPES);
// The names used in strings: "cpu", "cuda", "meta".
extern const char* const kDeviceNames[kNumDeviceTypes];
inline const char* name(DeviceType t) { return kDeviceNames[static_cast<int>(t)]; }

struct Device {
  DeviceType type = DeviceType::CPU;
  int8_t index = -1;  // -1: the current device; always -1 for the CPU and meta, which have one device each
  auto operator<=>(const Device&) const = default;
  bool is_cpu() const { return type == DeviceType::CPU; }
  bool is_meta() const { return type == DeviceType::Meta; }
};
inline constexpr Device kCpu{};
void append_text(std::string& out, Device d);  // "cpu", "cuda:0"

enum class Layout : uint8_t { Strided, SparseCoo, SparseCsr, SparseCsc, SparseBsr, SparseBsc };
inline constexpr int kNumLayouts = 6;
const char* name(Layout layout);  // of the Python object: "sparse_coo"
enum class MemoryFormat : uint8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

}  // namespace undertow::core
