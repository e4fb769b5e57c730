// batch_norm_params.h: the parameters of the kernels in batch_norm.cuh. Included by the host and the device; the
// includer has defined int64_t.
#pragma once

namespace undertow {

// Images of `channels` channels, of which each has `inner` elements in each of `batch` items.
struct ChannelLayout {
  int64_t batch, channels, inner;
  int64_t each;   // batch * inner
  int64_t part;   // elements of a channel, or rows, that a block has
  int64_t parts;  // blocks that share a channel
};

// Threads of a block that combines the parts of channels, at most.
inline constexpr int kSettleThreads = 1024;

// The moments of a part of a channel.
struct PartMoments {
  double mean, squares;
};
struct PartSums {
  double sum, dot;
};

}  // namespace undertow
