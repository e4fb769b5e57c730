// control.cpp: the table of core/kernels/cuda_control.h.
#include "core/kernels/cuda_control.h"

#include "core/kernels/cuda/driver/driver.h"
#include "core/kernels/cuda/driver/shared_library.h"
#include "core/kernels/cuda/runtime/allocator.h"
#include "core/kernels/cuda/runtime/device_errors.h"
#include "core/kernels/cuda/runtime/event.h"
#include "core/kernels/cuda/runtime/graph.h"
#include "core/kernels/cuda/runtime/pinned_memory.h"
#include "core/kernels/cuda/runtime/stream.h"
#include "core/kernels/cuda/settings.h"

namespace undertow::core::cuda {

namespace {

template <class Handle>
Handle handle(int64_t number) {
  return reinterpret_cast<Handle>(static_cast<intptr_t>(number));
}
int64_t number_of(const void* handle) { return static_cast<int64_t>(reinterpret_cast<intptr_t>(handle)); }
// Of a number that names a device; raises otherwise.
int checked(int64_t device) {
  device_state(device < 0 || device >= kMaxDevices ? kMaxDevices : static_cast<int>(device));
  return static_cast<int>(device);
}

int64_t driver_version() {
  int version = 0;
  check(driver().driver_get_version(&version), "cuDriverGetVersion");
  return version;
}

std::string device_name(int64_t device) {
  char text[256] = {};
  check(driver().device_get_name(text, sizeof(text) - 1, device_state(checked(device)).handle), "cuDeviceGetName");
  return text;
}

std::string device_uuid(int64_t device) {
  Uuid uuid;
  check(driver().device_get_uuid(&uuid, device_state(checked(device)).handle), "cuDeviceGetUuid");
  std::string text;
  for (int i = 0; i < 16; i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    auto byte = static_cast<unsigned char>(uuid.bytes[i]);
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

CudaFigures device_properties(int64_t device) {
  CUdevice d = device_state(checked(device)).handle;
  size_t total = 0;
  check(driver().device_total_mem(&total, d), "cuDeviceTotalMem");
  CudaFigures out = {{"total_memory", static_cast<int64_t>(total)}};
  for (auto [name, attribute] :
       {std::pair{"major", DeviceAttribute::ComputeCapabilityMajor},
        {"minor", DeviceAttribute::ComputeCapabilityMinor},
        {"multi_processor_count", DeviceAttribute::MultiprocessorCount},
        {"is_integrated", DeviceAttribute::Integrated},
        {"is_multi_gpu_board", DeviceAttribute::MultiGpuBoard},
        {"max_threads_per_multi_processor", DeviceAttribute::MaxThreadsPerMultiprocessor},
        {"max_threads_per_block", DeviceAttribute::MaxThreadsPerBlock},
        {"warp_size", DeviceAttribute::WarpSize},
        {"regs_per_multiprocessor", DeviceAttribute::MaxRegistersPerMultiprocessor},
        {"shared_memory_per_multiprocessor", DeviceAttribute::MaxSharedMemoryPerMultiprocessor},
        {"shared_memory_per_block_optin", DeviceAttribute::MaxSharedMemoryPerBlockOptin},
        {"L2_cache_size", DeviceAttribute::L2CacheSize},
        {"pci_bus_id", DeviceAttribute::PciBusId},
        {"pci_device_id", DeviceAttribute::PciDeviceId},
        {"pci_domain_id", DeviceAttribute::PciDomainId}}) {
    int value = 0;
    check(driver().device_get_attribute(&value, attribute, d), "cuDeviceGetAttribute");
    out.emplace_back(name, value);
  }
  return out;
}

bool can_access_peer(int64_t device, int64_t peer) {
  int can = 0;
  check(driver().device_can_access_peer(&can, device_state(checked(device)).handle, device_state(checked(peer)).handle),
        "cuDeviceCanAccessPeer");
  return can != 0;
}

std::pair<int64_t, int64_t> memory_info(int64_t device) {
  DeviceGuard guard(checked(device));
  size_t available = 0, total = 0;
  check(driver().mem_get_info(&available, &total), "cuMemGetInfo");
  return {static_cast<int64_t>(available), static_cast<int64_t>(total)};
}

int64_t new_event(int64_t device, bool timing, bool blocking) {
  return number_of(
      create_event(checked(device), (timing ? 0 : kEventDisableTiming) | (blocking ? kEventBlockingSync : 0)));
}
void record_event(int64_t device, int64_t event, int64_t stream) {
  DeviceGuard guard(checked(device));
  check(driver().event_record(handle<CUevent>(event), handle<CUstream>(stream)), "cuEventRecord");
}
void event_synchronize(int64_t device, int64_t event) {
  check(driver().event_synchronize(handle<CUevent>(event)), "cuEventSynchronize");
  raise_device_errors(checked(device));
}
double event_elapsed(int64_t start, int64_t end) {
  float milliseconds = 0;
  check(driver().event_elapsed_time(&milliseconds, handle<CUevent>(start), handle<CUevent>(end)), "cuEventElapsedTime");
  return static_cast<double>(milliseconds);
}

void stream_wait_event(int64_t device, int64_t stream, int64_t event) {
  DeviceGuard guard(checked(device));
  check(driver().stream_wait_event(handle<CUstream>(stream), handle<CUevent>(event), 0), "cuStreamWaitEvent");
}

const CudaControl control = {
    .is_available = is_available,
    .unavailable_reason = []() -> std::string { return unavailable_reason(); },
    .set_wheel_folders = set_wheel_folders,
    .driver_version = driver_version,
    .device_count = []() -> int64_t { return device_count(); },
    .current_device = []() -> int64_t { return current_device(); },
    .set_current_device = [](int64_t device) { set_current_device(checked(device)); },
    .device_name = device_name,
    .device_uuid = device_uuid,
    .device_properties = device_properties,
    .can_access_peer = can_access_peer,
    .synchronize = [](int64_t device) { synchronize_device(checked(device)); },
    .current_stream = [](int64_t device) { return number_of(current_stream(checked(device))); },
    .set_current_stream = [](int64_t device,
                             int64_t stream) { set_current_stream(checked(device), handle<CUstream>(stream)); },
    .new_stream =
        [](int64_t device, int64_t priority) {
          return number_of(pooled_stream(checked(device), static_cast<int>(priority)));
        },
    .stream_query = [](int64_t device, int64_t stream) { return is_idle(checked(device), handle<CUstream>(stream)); },
    .stream_synchronize = [](int64_t device,
                             int64_t stream) { synchronize_stream(checked(device), handle<CUstream>(stream)); },
    .stream_wait_event = stream_wait_event,
    .stream_wait_stream =
        [](int64_t device, int64_t stream, int64_t other) {
          wait_for_stream(checked(device), handle<CUstream>(stream), handle<CUstream>(other));
        },
    .is_capturing = [](int64_t device,
                       int64_t stream) { return DeviceGuard(checked(device)), is_capturing(handle<CUstream>(stream)); },
    .new_event = new_event,
    .destroy_event = [](int64_t event) { driver().event_destroy(handle<CUevent>(event)); },
    .record_event = record_event,
    .event_query = [](int64_t event) { return is_reached(handle<CUevent>(event)); },
    .event_synchronize = event_synchronize,
    .event_elapsed = event_elapsed,
    .memory_stats = [](int64_t device) { return memory_stats(checked(device)); },
    .memory_info = memory_info,
    .reset_peak_stats = [](int64_t device) { reset_peak_stats(checked(device)); },
    .reset_accumulated_stats = [](int64_t device) { reset_accumulated_stats(checked(device)); },
    .empty_cache = empty_cache,
    .set_memory_fraction = [](int64_t device, double fraction) { set_memory_fraction(checked(device), fraction); },
    .memory_fraction = [](int64_t device) { return memory_fraction(checked(device)); },
    .allocate =
        [](int64_t nbytes, int64_t device, int64_t stream) {
          return number_of(allocate_on_stream(static_cast<size_t>(nbytes), checked(device), handle<CUstream>(stream)));
        },
    .deallocate = [](int64_t address, int64_t device) { deallocate(handle<void*>(address), checked(device)); },
    .record_stream =
        [](int64_t address, int64_t device, int64_t stream) {
          record_stream(handle<void*>(address), checked(device), handle<CUstream>(stream));
        },
    .memory_snapshot = [](int64_t device) { return memory_snapshot(checked(device)); },
    .allocate_pinned = [](int64_t nbytes) { return number_of(allocate_pinned(static_cast<size_t>(nbytes))); },
    .deallocate_pinned = [](int64_t address) { deallocate_pinned(handle<void*>(address)); },
    .is_pinned = [](int64_t address) { return is_pinned(handle<void*>(address)); },
    .pinned_stats = pinned_stats,
    .new_pool = new_pool,
    .capture_begin = [](int64_t device, int64_t pool,
                        int64_t mode) { begin_capture(checked(device), pool, static_cast<int>(mode)); },
    .capture_end = [](int64_t device, int64_t pool) { return number_of(end_capture(checked(device), pool).release()); },
    .capture_abandon = [](int64_t device, int64_t pool) { abandon_capture(checked(device), pool); },
    .graph_launch = [](int64_t graph,
                       int64_t device) { launch_graph(*handle<CapturedGraph*>(graph), checked(device)); },
    .graph_destroy = [](int64_t graph) { delete handle<CapturedGraph*>(graph); },
    .release_pool = [](int64_t pool, int64_t device) { release_pool(checked(device), pool); },
    .get_switch = [](std::string name) -> int64_t {
      const std::atomic<bool>* found = NamedSwitch::find(name);
      return found ? found->load() : -1;
    },
    .set_switch =
        [](std::string name, bool value) {
          std::atomic<bool>* found = NamedSwitch::find(name);
          if (found) found->store(value);
          return found != nullptr;
        },
};

}  // namespace

}  // namespace undertow::core::cuda

// Called by core/kernels/load_backend.cpp, by name.
extern "C" __attribute__((visibility("default"))) const undertow::core::CudaControl* undertow_cuda_control() {
  return &undertow::core::cuda::control;
}
