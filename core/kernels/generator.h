// generator.h: a source of random numbers on one device. The form of its state is known only to the device's backend.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>

#include "core/tensor/device.h"

namespace undertow::core {

// The state of a device's random numbers.
class RandomStream {
 public:
  virtual ~RandomStream() = default;
  virtual void set_seed(uint64_t seed) = 0;
  virtual std::unique_ptr<RandomStream> clone() const = 0;
  // The saved form, of state_bytes() bytes. set_state returns false and changes nothing if no generator can have this
  // state.
  virtual size_t state_bytes() const = 0;
  virtual void get_state(uint8_t* bytes) const = 0;
  [[nodiscard]] virtual bool set_state(const uint8_t* bytes) = 0;
};

struct Generator {
  explicit Generator(Device on = kCpu);
  const Device device;
  std::mutex mutex;  // guards stream: any thread may draw
  std::unique_ptr<RandomStream> stream;
  uint64_t seed = 67280421310721ull;  // torch's default seed
  void manual_seed(uint64_t s) {
    std::lock_guard lock(mutex);
    seed = s;
    stream->set_seed(s);
  }
};
// One for each device.
Generator& default_generator(Device device = kCpu);

}  // namespace undertow::core
