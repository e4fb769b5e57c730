// memory_stats.cpp: see memory_stats.h.
#include "core/kernels/cuda/runtime/memory_stats.h"

namespace undertow::core::cuda {

void MemoryStats::reset_peak() {
  for (auto& row : figures_)
    for (Figure& f : row) f.peak = f.current;
}

void MemoryStats::reset_accumulated() {
  for (auto& row : figures_)
    for (Figure& f : row) f.allocated = f.freed = 0;
  retries = out_of_memory = 0;
}

CudaFigures MemoryStats::all() const {
  static const char* const names[kNumQuantities] = {
      "allocation",      "segment",        "active",       "inactive_split",
      "allocated_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes",
      "requested_bytes"};
  static const char* const pools[3] = {"all", "small_pool", "large_pool"};
  CudaFigures out;
  for (size_t q = 0; q < figures_.size(); q++)
    for (size_t p = 0; p < 3; p++) {
      const Figure& f = figures_[q][p];
      std::string prefix = std::string(names[q]) + "." + pools[p] + ".";
      out.insert(out.end(), {{prefix + "current", f.current},
                             {prefix + "peak", f.peak},
                             {prefix + "allocated", f.allocated},
                             {prefix + "freed", f.freed}});
    }
  out.insert(out.end(), {{"num_alloc_retries", retries},
                         {"num_ooms", out_of_memory},
                         {"num_sync_all_streams", synchronizations},
                         {"num_device_alloc", driver_allocations},
                         {"num_device_free", driver_frees},
                         {"max_split_size", -1}});
  return out;
}

}  // namespace undertow::core::cuda
