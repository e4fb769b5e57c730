// generator.h: a source of random numbers that operators take: make_generator(7), manual_seed(7).
#pragma once
#include <cstdint>
#include <memory>

#include <undertow/types/device.h>

namespace undertow {

namespace core {
struct Generator;
}

// A handle: copies draw from the same numbers.
class Generator {
 public:
  Generator() = default;  // undefined: operators use the default generator
  explicit Generator(std::shared_ptr<core::Generator> impl) : impl_(std::move(impl)) {}
  bool defined() const { return impl_ != nullptr; }
  core::Generator* get() const { return impl_.get(); }
  void set_current_seed(uint64_t seed);
  uint64_t current_seed() const;
  Device device() const;
  Generator clone() const;

 private:
  std::shared_ptr<core::Generator> impl_;
};

// A new generator, and the default one of a device.
Generator make_generator(uint64_t seed, const Device& device = kCPU);
Generator default_generator(const Device& device = kCPU);
// Seeds the default generators of the CPU and of all GPUs: the numbers are those of Python's manual_seed.
void manual_seed(uint64_t seed);

}  // namespace undertow
