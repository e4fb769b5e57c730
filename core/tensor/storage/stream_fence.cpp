// stream_fence.cpp: see stream_fence.h.
#include "core/tensor/storage/stream_fence.h"

namespace undertow::core {

constinit std::atomic<const StreamFence*> stream_fence{nullptr};

}  // namespace undertow::core
