// philox_stream.h: the state of a GPU's random numbers: torch's seed and offset, in its form of 16 bytes.
//
// Note [Random Numbers In Graphs]
// A kernel in a captured graph runs with the same parameters at every replay, but should draw new numbers. So it reads
// its seed and first counter from device memory, which a small kernel sets before each replay: the range that the whole
// graph needs is reserved then, as if its kernels were launched one by one. Capturing draws nothing.
#pragma once
#include <cstring>

#include "core/kernels/cuda/random/philox_params.h"
#include "core/kernels/generator.h"

namespace undertow::core::cuda {

// Shared with the graphs that draw from it, which may outlive the generator.
class PhiloxState {
 public:
  uint64_t seed = 67280421310721ull;  // torch's default seed
  uint64_t offset = 0;                // counts words, of which a counter has four
  std::mutex mutex;                   // guards both: a replay does not hold the generator's lock

  // The next `blocks` counters, for the caller alone.
  undertow::PhiloxRange reserve(uint64_t blocks) {
    std::lock_guard lock(mutex);
    undertow::PhiloxRange range{seed, offset / 4, nullptr};
    offset += blocks * 4;
    return range;
  }
};

class PhiloxStream final : public RandomStream {
 public:
  void set_seed(uint64_t seed) override { set(seed, 0); }
  std::unique_ptr<RandomStream> clone() const override {
    auto copy = std::make_unique<PhiloxStream>();
    std::lock_guard lock(state_->mutex);
    copy->set(state_->seed, state_->offset);
    return copy;
  }
  size_t state_bytes() const override { return 16; }
  void get_state(uint8_t* bytes) const override {
    std::lock_guard lock(state_->mutex);
    std::memcpy(bytes, &state_->seed, 8);
    std::memcpy(bytes + 8, &state_->offset, 8);
  }
  bool set_state(const uint8_t* bytes) override {
    uint64_t seed, offset;
    std::memcpy(&seed, bytes, 8);
    std::memcpy(&offset, bytes + 8, 8);
    if (offset % 4) return false;
    set(seed, offset);
    return true;
  }
  const std::shared_ptr<PhiloxState>& state() const { return state_; }

 private:
  void set(uint64_t seed, uint64_t offset) {
    std::lock_guard lock(state_->mutex);
    state_->seed = seed;
    state_->offset = offset;
  }
  std::shared_ptr<PhiloxState> state_ = std::make_shared<PhiloxState>();
};

// The next `blocks` counters of a generator for a kernel on the device's current stream. See Note [Random Numbers In
// Graphs].
undertow::PhiloxRange reserve(Generator& g, int64_t blocks, int device);

}  // namespace undertow::core::cuda
