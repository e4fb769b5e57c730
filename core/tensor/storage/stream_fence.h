// stream_fence.h: orders the work of all streams of a device around a backward pass, which may use what any of them
// made.
//
// Note [Streams In A Pass]
// A pass issues the work of a device's nodes to the caller's current stream. Tensors that it reads may come from other
// streams, and memory that it frees goes back to them. So the current stream first waits for the others, and they wait
// for it at the end. A program with one stream has no fence and pays nothing.
#pragma once
#include <atomic>

#include "core/tensor/device.h"

namespace undertow::core {

struct StreamFence {
  void (*enter)(Device device);  // the current stream waits for all others
  void (*leave)(Device device);  // they wait for it
};
// Set by a device's library when a program uses a second stream; null until then. Atomic: passes read it on any thread.
extern std::atomic<const StreamFence*> stream_fence;

// For the scope of a pass.
class FencedPass {
 public:
  explicit FencedPass(Device device)
      : fence_(device.is_cpu() ? nullptr : stream_fence.load(std::memory_order_acquire)), device_(device) {
    if (fence_) fence_->enter(device_);
  }
  ~FencedPass() {
    if (fence_) fence_->leave(device_);
  }
  FencedPass(const FencedPass&) = delete;
  FencedPass& operator=(const FencedPass&) = delete;

 private:
  const StreamFence* fence_;
  Device device_;
};

}  // namespace undertow::core
