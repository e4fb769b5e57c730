// driver.cpp: see driver.h.
#include "core/kernels/cuda/driver/driver.h"

#include <unistd.h>

#include "core/kernels/cuda/driver/shared_library.h"

namespace undertow::core::cuda {

namespace {

struct OpenedDriver {
  Driver functions{};
  std::string reason;  // empty if it can be used
  pid_t process = getpid();

  OpenedDriver() {
    static SharedLibrary library("UNDERTOW_CUDA_DRIVER", "libcuda.so.1");
    if (!library) {
      reason = "no CUDA driver was found (" + library.error() + ")";
      return;
    }
    load(library);
    CUresult result = functions.init(0);
    int count = 0;
    if (result == kSuccess) result = functions.device_get_count(&count);
    if (result == kSuccess && count > 0) return;
    const char* text = nullptr;
    functions.get_error_string(result, &text);
    reason = count == 0 && result == kSuccess ? "the CUDA driver sees no device" : text ? text : "unknown CUDA error";
  }

  void load(const SharedLibrary& from) {
    Driver& d = functions;
    from.load(d.init, "cuInit");
    from.load(d.driver_get_version, "cuDriverGetVersion");
    from.load(d.get_error_name, "cuGetErrorName");
    from.load(d.get_error_string, "cuGetErrorString");
    from.load(d.device_get, "cuDeviceGet");
    from.load(d.device_get_count, "cuDeviceGetCount");
    from.load(d.device_get_name, "cuDeviceGetName");
    from.load(d.device_get_attribute, "cuDeviceGetAttribute");
    from.load(d.device_get_uuid, "cuDeviceGetUuid_v2");
    from.load(d.device_total_mem, "cuDeviceTotalMem_v2");
    from.load(d.device_can_access_peer, "cuDeviceCanAccessPeer");
    from.load(d.device_primary_ctx_retain, "cuDevicePrimaryCtxRetain");
    from.load(d.ctx_set_current, "cuCtxSetCurrent");
    from.load(d.ctx_synchronize, "cuCtxSynchronize");
    from.load(d.ctx_get_stream_priority_range, "cuCtxGetStreamPriorityRange");
    from.load(d.mem_alloc, "cuMemAlloc_v2");
    from.load(d.mem_free, "cuMemFree_v2");
    from.load(d.mem_get_info, "cuMemGetInfo_v2");
    from.load(d.mem_host_alloc, "cuMemHostAlloc");
    from.load(d.memcpy_async, "cuMemcpyAsync");
    from.load(d.memcpy_peer_async, "cuMemcpyPeerAsync");
    from.load(d.memset_d8_async, "cuMemsetD8Async");
    from.load(d.memset_d32_async, "cuMemsetD32Async");
    from.load(d.stream_create_with_priority, "cuStreamCreateWithPriority");
    from.load(d.stream_query, "cuStreamQuery");
    from.load(d.stream_synchronize, "cuStreamSynchronize");
    from.load(d.stream_wait_event, "cuStreamWaitEvent");
    from.load(d.stream_begin_capture, "cuStreamBeginCapture_v2");
    from.load(d.stream_end_capture, "cuStreamEndCapture");
    from.load(d.stream_is_capturing, "cuStreamIsCapturing");
    from.load(d.thread_exchange_stream_capture_mode, "cuThreadExchangeStreamCaptureMode");
    from.load(d.event_create, "cuEventCreate");
    from.load(d.event_destroy, "cuEventDestroy_v2");
    from.load(d.event_record, "cuEventRecord");
    from.load(d.event_query, "cuEventQuery");
    from.load(d.event_synchronize, "cuEventSynchronize");
    from.load(d.event_elapsed_time, "cuEventElapsedTime");
    from.load(d.module_load_data, "cuModuleLoadData");
    from.load(d.module_get_function, "cuModuleGetFunction");
    from.load(d.func_set_attribute, "cuFuncSetAttribute");
    from.load(d.launch_kernel, "cuLaunchKernel");
    from.load(d.graph_instantiate, "cuGraphInstantiateWithFlags");
    from.load(d.graph_launch, "cuGraphLaunch");
    from.load(d.graph_exec_destroy, "cuGraphExecDestroy");
    from.load(d.graph_destroy, "cuGraphDestroy");
  }
};

// Never destroyed: tensors may be freed after static destructors have run.
const OpenedDriver& opened() {
  static const OpenedDriver& driver = *new OpenedDriver;
  return driver;
}

}  // namespace

bool is_available() { return opened().reason.empty(); }
const char* unavailable_reason() { return opened().reason.c_str(); }

const Driver& driver() {
  const OpenedDriver& o = opened();
  UT_CHECK(o.reason.empty(), "CUDA is not available: ", o.reason);
  return o.functions;
}

void throw_driver_error(CUresult error, const char* operation) {
  const OpenedDriver& o = opened();
  const char *name = nullptr, *text = nullptr;
  o.functions.get_error_name(error, &name);
  o.functions.get_error_string(error, &text);
  UT_CHECK(o.process == getpid(),
           "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' "
           "start method");
  UT_FAIL_AS(Accelerator, "CUDA error: ", text ? text : "unknown error", " (", name ? name : "?", ", in ", operation,
             "). Work runs asynchronously, so the error may come from an earlier operation; "
             "with UNDERTOW_CUDA_SYNC=1 the operator that caused it raises");
}

}  // namespace undertow::core::cuda
