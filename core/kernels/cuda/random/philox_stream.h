// philox_stream.h: the state of a GPU's random numbers: torch's seed and offset, in its form of 16 bytes.
#pragma once
#include <cstring>

#include "core/kernels/cuda/random/philox_params.h"
#include "core/kernels/generator.h"

namespace undertow::core::cuda {

class PhiloxStream final : public RandomStream {
 public:
  void set_seed(uint64_t seed) override {
    seed_ = seed;
    offset_ = 0;
  }
  std::unique_ptr<RandomStream> clone() const override { return std::make_unique<PhiloxStream>(*this); }
  size_t state_bytes() const override { return 16; }
  void get_state(uint8_t* bytes) const override {
    std::memcpy(bytes, &seed_, 8);
    std::memcpy(bytes + 8, &offset_, 8);
  }
  // Offsets count words, of which a counter has four.
  bool set_state(const uint8_t* bytes) override {
    uint64_t offset;
    std::memcpy(&offset, bytes + 8, 8);
    if (offset % 4) return false;
    std::memcpy(&seed_, bytes, 8);
    offset_ = offset;
    return true;
  }
  // The next `blocks` counters, for the caller alone.
  undertow::PhiloxRange reserve(int64_t blocks) {
    undertow::PhiloxRange range{seed_, offset_ / 4};
    offset_ += static_cast<uint64_t>(blocks) * 4;
    return range;
  }

 private:
  uint64_t seed_ = 67280421310721ull;  // torch's default seed
  uint64_t offset_ = 0;
};

inline undertow::PhiloxRange reserve(Generator& g, int64_t blocks) {
  std::lock_guard lock(g.mutex);
  return static_cast<PhiloxStream&>(*g.stream).reserve(blocks);
}

}  // namespace undertow::core::cuda
