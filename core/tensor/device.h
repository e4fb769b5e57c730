// device.h: where a tensor lives, and the layouts and memory formats torch's signatures name.
#pragma once
#include <cstdint>

namespace undertow {

struct Device {
  uint16_t type = 0;  // 0 is the CPU
  int16_t index = -1;
  bool operator==(const Device&) const = default;
};
enum class Layout : uint8_t { Strided };
enum class MemoryFormat : uint8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

}  // namespace undertow
