// cuda_control.h: what programs can ask of the CUDA backend besides tensors: devices, streams, events, figures about
// memory, captured graphs. A table of functions, because the library is opened at run time. Streams, events and graphs
// are passed as numbers (their handles), so that a caller needs no type of the driver's.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace undertow::core {

using CudaFigures = std::vector<std::pair<std::string, int64_t>>;

struct CudaControl {
  // ---- the library ----
  bool (*is_available)();  // is there a driver that sees a device? Does not raise
  std::string (*unavailable_reason)();
  // Where NVIDIA's wheels keep their libraries, separated by ':'.
  void (*set_wheel_folders)(std::string folders);
  int64_t (*driver_version)();

  // ---- devices ----
  int64_t (*device_count)();
  int64_t (*current_device)();
  void (*set_current_device)(int64_t device);
  std::string (*device_name)(int64_t device);
  std::string (*device_uuid)(int64_t device);
  CudaFigures (*device_properties)(int64_t device);
  bool (*can_access_peer)(int64_t device, int64_t peer);
  void (*synchronize)(int64_t device);

  // ---- streams and events ----
  int64_t (*current_stream)(int64_t device);
  void (*set_current_stream)(int64_t device, int64_t stream);
  int64_t (*new_stream)(int64_t device, int64_t priority);  // from a pool: it may be given out again
  bool (*stream_query)(int64_t device, int64_t stream);
  void (*stream_synchronize)(int64_t device, int64_t stream);
  void (*stream_wait_event)(int64_t device, int64_t stream, int64_t event);
  // Work issued to `stream` from now on starts after what `other` has now.
  void (*stream_wait_stream)(int64_t device, int64_t stream, int64_t other);
  bool (*is_capturing)(int64_t device, int64_t stream);
  int64_t (*new_event)(int64_t device, bool timing, bool blocking);
  void (*destroy_event)(int64_t event);
  void (*record_event)(int64_t device, int64_t event, int64_t stream);
  bool (*event_query)(int64_t event);
  void (*event_synchronize)(int64_t device, int64_t event);
  double (*event_elapsed)(int64_t start, int64_t end);  // milliseconds

  // ---- memory ----
  CudaFigures (*memory_stats)(int64_t device);
  std::pair<int64_t, int64_t> (*memory_info)(int64_t device);  // free and total, as the driver sees them
  void (*reset_peak_stats)(int64_t device);
  void (*reset_accumulated_stats)(int64_t device);
  void (*empty_cache)();
  void (*set_memory_fraction)(int64_t device, double fraction);
  double (*memory_fraction)(int64_t device);
  int64_t (*allocate)(int64_t nbytes, int64_t device, int64_t stream);
  void (*deallocate)(int64_t address, int64_t device);
  // The block is not given out again before the work that `stream` has when the tensor dies is done.
  void (*record_stream)(int64_t address, int64_t device, int64_t stream);
  std::vector<CudaFigures> (*memory_snapshot)(int64_t device);  // one entry per block
  // Memory of the host that a device copies from and to directly. Freed blocks are kept for the next request.
  int64_t (*allocate_pinned)(int64_t nbytes);
  void (*deallocate_pinned)(int64_t address);
  bool (*is_pinned)(int64_t address);
  CudaFigures (*pinned_stats)();

  // ---- captured graphs ----
  int64_t (*new_pool)();  // the number of a private pool of memory
  // Starts to capture the current stream of the device; memory comes from the pool. `mode`: 0 global, 1 thread local, 2
  // relaxed, as CUDA numbers them.
  void (*capture_begin)(int64_t device, int64_t pool, int64_t mode);
  int64_t (*capture_end)(int64_t device, int64_t pool);  // returns the executable graph
  void (*capture_abandon)(int64_t device, int64_t pool);
  void (*graph_launch)(int64_t graph, int64_t device);
  void (*graph_destroy)(int64_t graph);
  void (*release_pool)(int64_t pool, int64_t device);

  // ---- switches, by name (core/kernels/cuda/settings.h) ----
  int64_t (*get_switch)(std::string name);  // -1 if there is none of this name
  bool (*set_switch)(std::string name, bool value);
};

}  // namespace undertow::core
