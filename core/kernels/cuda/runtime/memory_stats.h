// memory_stats.h: the figures of the caching allocator, with the names of torch's memory_stats().
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>

#include "core/kernels/cuda_control.h"

namespace undertow::core::cuda {

struct Figure {
  int64_t current = 0, peak = 0, allocated = 0, freed = 0;
  void add(int64_t v) {
    current += v;
    if (v > 0) {
      allocated += v;
      peak = std::max(peak, current);
    } else {
      freed -= v;
    }
  }
};

enum class Quantity {
  Allocation,
  Segment,
  Active,
  InactiveSplit,
  AllocatedBytes,
  ReservedBytes,
  ActiveBytes,
  InactiveSplitBytes,
  RequestedBytes
};
inline constexpr int kNumQuantities = 9;

class MemoryStats {
 public:
  void add(Quantity what, bool small, int64_t v) {
    auto& row = figures_[static_cast<size_t>(what)];
    row[0].add(v);
    row[small ? 1 : 2].add(v);
  }
  int64_t current(Quantity what) const { return figures_[static_cast<size_t>(what)][0].current; }
  void reset_peak();
  void reset_accumulated();
  CudaFigures all() const;

  int64_t retries = 0, out_of_memory = 0, driver_allocations = 0, driver_frees = 0, synchronizations = 0;

 private:
  std::array<std::array<Figure, 3>, kNumQuantities> figures_;  // of all blocks, small ones, large ones
};

}  // namespace undertow::core::cuda
