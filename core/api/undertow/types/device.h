// device.h: Device, Layout and MemoryFormat by libtorch's names: Device("cpu"), kCPU, kStrided.
#pragma once
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

#include "core/tensor/device.h"

namespace undertow {

using DeviceType = core::DeviceType;
using DeviceIndex = int8_t;
using Layout = core::Layout;
using MemoryFormat = core::MemoryFormat;

class Device : public core::Device {
 public:
  using Type = DeviceType;
  Device(core::Device d) : core::Device(d) {}
  Device(DeviceType type, DeviceIndex index = -1) : core::Device{type, index} {}
  // "cpu", "cuda:0", "meta"; raises for anything else.
  Device(const std::string& text);
  Device(const char* text) : Device(std::string(text)) {}

  DeviceType type() const { return core::Device::type; }
  DeviceIndex index() const { return core::Device::index; }
  bool has_index() const { return index() >= 0; }
  bool is_cuda() const { return type() == DeviceType::CUDA; }
  bool is_privateuseone() const { return type() == DeviceType::PrivateUse1; }
  bool is_mps() const { return type() == DeviceType::MPS; }
  std::string str() const;
};
inline bool operator==(const Device& a, const Device& b) {
  return static_cast<const core::Device&>(a) == static_cast<const core::Device&>(b);
}
std::ostream& operator<<(std::ostream& out, const Device& d);
namespace core {                                                   // where argument-dependent lookup finds them
std::ostream& operator<<(std::ostream& out, DeviceType type);      // "cpu"
std::ostream& operator<<(std::ostream& out, Layout layout);        // "SparseCsr"
std::ostream& operator<<(std::ostream& out, MemoryFormat format);  // "ChannelsLast"
}  // namespace core

inline constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA, kMeta = DeviceType::Meta,
                            kMPS = DeviceType::MPS, kXPU = DeviceType::XPU, kHIP = DeviceType::HIP,
                            kPrivateUse1 = DeviceType::PrivateUse1;
inline constexpr Layout kStrided = Layout::Strided, kSparse = Layout::SparseCoo, kSparseCsr = Layout::SparseCsr,
                        kSparseCsc = Layout::SparseCsc, kSparseBsr = Layout::SparseBsr, kSparseBsc = Layout::SparseBsc;

}  // namespace undertow

template <>
struct std::hash<undertow::Device> {
  size_t operator()(const undertow::Device& d) const noexcept {
    return static_cast<size_t>(d.type()) << 8 | static_cast<uint8_t>(d.index());
  }
};
