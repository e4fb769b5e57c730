// driver.h: CUDA's driver, opened at run time. Knows no tensors.
#pragma once
#include "core/base/error.h"
#include "core/kernels/cuda/driver/driver_types.h"

namespace undertow::core::cuda {

// The functions of libcuda that we call, by the names of cuda.h without "cu" and versions.
struct Driver {
  CUresult (*init)(unsigned flags);
  CUresult (*driver_get_version)(int* version);
  CUresult (*get_error_name)(CUresult error, const char** name);
  CUresult (*get_error_string)(CUresult error, const char** text);

  CUresult (*device_get)(CUdevice* device, int ordinal);
  CUresult (*device_get_count)(int* count);
  CUresult (*device_get_name)(char* name, int size, CUdevice device);
  CUresult (*device_get_attribute)(int* value, DeviceAttribute attribute, CUdevice device);
  CUresult (*device_get_uuid)(Uuid* uuid, CUdevice device);
  CUresult (*device_total_mem)(size_t* bytes, CUdevice device);
  CUresult (*device_can_access_peer)(int* can, CUdevice device, CUdevice peer);
  CUresult (*device_primary_ctx_retain)(CUcontext* context, CUdevice device);
  CUresult (*ctx_set_current)(CUcontext context);
  CUresult (*ctx_synchronize)();
  CUresult (*ctx_get_stream_priority_range)(int* least, int* greatest);

  CUresult (*mem_alloc)(CUdeviceptr* p, size_t bytes);
  CUresult (*mem_free)(CUdeviceptr p);
  CUresult (*mem_get_info)(size_t* free, size_t* total);
  CUresult (*mem_host_alloc)(void** p, size_t bytes, unsigned flags);
  CUresult (*memcpy_async)(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream);
  CUresult (*memcpy_peer_async)(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context,
                                size_t bytes, CUstream stream);
  CUresult (*memset_d8_async)(CUdeviceptr dst, unsigned char value, size_t count, CUstream stream);
  CUresult (*memset_d32_async)(CUdeviceptr dst, unsigned value, size_t count, CUstream stream);

  CUresult (*stream_create_with_priority)(CUstream* stream, unsigned flags, int priority);
  CUresult (*stream_query)(CUstream stream);
  CUresult (*stream_synchronize)(CUstream stream);
  CUresult (*stream_wait_event)(CUstream stream, CUevent event, unsigned flags);
  CUresult (*stream_begin_capture)(CUstream stream, int mode);
  CUresult (*stream_end_capture)(CUstream stream, CUgraph* graph);
  CUresult (*stream_is_capturing)(CUstream stream, int* status);
  CUresult (*thread_exchange_stream_capture_mode)(int* mode);

  CUresult (*event_create)(CUevent* event, unsigned flags);
  CUresult (*event_destroy)(CUevent event);
  CUresult (*event_record)(CUevent event, CUstream stream);
  CUresult (*event_query)(CUevent event);
  CUresult (*event_synchronize)(CUevent event);
  CUresult (*event_elapsed_time)(float* milliseconds, CUevent start, CUevent end);

  CUresult (*module_load_data)(CUmodule* module, const void* image);
  CUresult (*module_get_function)(CUfunction* function, CUmodule module, const char* name);
  CUresult (*func_set_attribute)(CUfunction function, int attribute, int value);
  CUresult (*launch_kernel)(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                            unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void** params,
                            void** extra);

  CUresult (*graph_instantiate)(CUgraphExec* executable, CUgraph graph, unsigned long long flags);
  CUresult (*graph_launch)(CUgraphExec executable, CUstream stream);
  CUresult (*graph_exec_destroy)(CUgraphExec executable);
  CUresult (*graph_destroy)(CUgraph graph);
};

// True if a driver is installed and sees a device. Does not raise; the reason is in unavailable_reason().
bool is_available();
const char* unavailable_reason();
// Opened and initialised on first use; raises if there is none.
const Driver& driver();

[[noreturn]] void throw_driver_error(CUresult error, const char* operation);
// Raises if a call of the driver failed. `operation`: what was being done, for the message.
inline void check(CUresult result, const char* operation) {
  if (UT_UNLIKELY(result != kSuccess)) throw_driver_error(result, operation);
}

}  // namespace undertow::core::cuda
