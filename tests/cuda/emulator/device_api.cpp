// device_api.cpp: the driver's functions about itself, its errors, devices and contexts.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "events.h"
#include "memory.h"
#include "streams.h"

using namespace emulator;

namespace {

constexpr int kDriverVersion = 13000;

struct ErrorText {
  const char* name;
  const char* text;
};
const std::map<int, ErrorText>& error_texts() {
  static const std::map<int, ErrorText> texts = {
      {0, {"CUDA_SUCCESS", "no error"}},
      {1, {"CUDA_ERROR_INVALID_VALUE", "invalid argument"}},
      {2, {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"}},
      {3, {"CUDA_ERROR_NOT_INITIALIZED", "initialization error"}},
      {4, {"CUDA_ERROR_DEINITIALIZED", "driver shutting down"}},
      {100, {"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"}},
      {101, {"CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"}},
      {200, {"CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"}},
      {201, {"CUDA_ERROR_INVALID_CONTEXT", "invalid device context"}},
      {400, {"CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"}},
      {500, {"CUDA_ERROR_NOT_FOUND", "named symbol not found"}},
      {600, {"CUDA_ERROR_NOT_READY", "device not ready"}},
      {700, {"CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"}},
      {701, {"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"}},
      {704, {"CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"}},
      {710, {"CUDA_ERROR_ASSERT", "device-side assert triggered"}},
      {712,
       {"CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped"}},
      {713, {"CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"}},
      {715, {"CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"}},
      {719, {"CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"}},
      {800, {"CUDA_ERROR_NOT_PERMITTED", "operation not permitted"}},
      {801, {"CUDA_ERROR_NOT_SUPPORTED", "operation not supported"}},
      {900, {"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"}},
      {901, {"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"}},
      {902, {"CUDA_ERROR_STREAM_CAPTURE_MERGE", "operation would result in a merge of separate capture sequences"}},
      {903, {"CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began"}},
      {904, {"CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"}},
      {905, {"CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream"}},
      {906,
       {"CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
        "operation would make the legacy stream depend on a capturing blocking stream"}},
      {907, {"CUDA_ERROR_CAPTURED_EVENT", "operation not permitted on an event last recorded in a capturing stream"}},
      {908,
       {"CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
        "attempt to terminate a thread-local capture sequence from another thread"}},
      {999, {"CUDA_ERROR_UNKNOWN", "unknown error"}},
  };
  return texts;
}

// By CUdevice_attribute; those of a small Hopper. An attribute that is not here is 0.
const std::map<int, int>& attributes() {
  static const std::map<int, int> values = {
      {1, 1024},                                 // threads per block
      {2, 1024},        {3, 1024},  {4, 64},     // block dimensions
      {5, 2147483647},  {6, 65535}, {7, 65535},  // grid dimensions
      {8, 48 * 1024},                            // shared memory per block
      {9, 64 * 1024},                            // constant memory
      {10, 32},                                  // warp
      {11, 2147483647},                          // pitch
      {12, 65536},                               // registers per block
      {13, 1980000},                             // clock, kHz
      {14, 512},                                 // texture alignment
      {15, 1},                                   // overlap
      {16, 4},                                   // multiprocessors
      {19, 1},                                   // maps host memory
      {31, 1},                                   // concurrent kernels
      {36, 2619000},                             // memory clock, kHz
      {37, 5120},                                // memory bus, bits
      {38, 1 << 20},                             // L2 cache
      {39, 2048},                                // threads per multiprocessor
      {40, 3},                                   // copy engines
      {41, 1},                                   // unified addressing
      {75, 9},          {76, 0},                 // compute capability
      {78, 1},                                   // stream priorities
      {79, 1},          {80, 1},                 // L1 cache
      {81, 228 * 1024},                          // shared memory per multiprocessor
      {82, 65536},                               // registers per multiprocessor
      {87, 2},                                   // ratio of float to double
      {90, 1},                                   // preemption
      {91, 1},                                   // host pointers of registered memory
      {95, 1},                                   // cooperative launch
      {97, 227 * 1024},                          // shared memory per block, opt-in
      {99, 1},                                   // host registration
      {106, 32},                                 // blocks per multiprocessor
      {111, 1024},                               // reserved shared memory per block
  };
  return values;
}

void report_leaks() {
  report_allocations();
  if (streams().size()) say(text("still alive: %zu streams", streams().size()));
  if (events().size()) say(text("still alive: %zu events", events().size()));
}

}  // namespace

EMULATOR_API(CUresult) cuInit(unsigned) {
  return call("cuInit", Needs::kNothing, [] {
    static bool registered = false;
    if (settings().report_leaks && !registered) std::atexit(report_leaks);
    registered = true;
    initialize();
    if (devices().empty()) throw Failure{CUDA_ERROR_NO_DEVICE, ""};
  });
}

EMULATOR_API(CUresult) cuDriverGetVersion(int* version) {
  *version = kDriverVersion;
  return CUDA_SUCCESS;
}

EMULATOR_API(CUresult) cuGetErrorName(CUresult code, const char** name) {
  auto it = error_texts().find(code);
  *name = it == error_texts().end() ? nullptr : it->second.name;
  return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
EMULATOR_API(CUresult) cuGetErrorString(CUresult code, const char** name) {
  auto it = error_texts().find(code);
  *name = it == error_texts().end() ? nullptr : it->second.text;
  return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EMULATOR_API(CUresult) cuGetProcAddress_v2(const char* symbol, void** function, int version, uint64_t, int* status) {
  static void* self = [] {
    Dl_info info;
    dladdr(reinterpret_cast<void*>(&cuInit), &info);
    return dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
  }();
  constexpr int kSecondCaptureInfo = 12030;  // from this version on its name means _v3
  *function = nullptr;
  for (const char* suffix : {"_v3", "_v2", ""}) {
    if (version < kSecondCaptureInfo && !std::strcmp(suffix, "_v3")) continue;
    if ((*function = dlsym(self, (std::string(symbol) + suffix).c_str()))) break;
  }
  if (status) *status = *function ? 0 : 1;
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

EMULATOR_API(CUresult) cuDeviceGetCount(int* count) {
  return call("cuDeviceGetCount", Needs::kInit, [&] { *count = static_cast<int>(devices().size()); });
}
EMULATOR_API(CUresult) cuDeviceGet(CUdevice* device, int ordinal) {
  return call("cuDeviceGet", Needs::kInit, [&] { *device = device_at(ordinal).ordinal; });
}
EMULATOR_API(CUresult) cuDeviceGetName(char* name, int length, CUdevice device) {
  return call("cuDeviceGetName", Needs::kInit, [&] {
    device_at(device);
    std::snprintf(name, static_cast<size_t>(length), "Emulated GPU");
  });
}
EMULATOR_API(CUresult) cuDeviceGetAttribute(int* value, int attribute, CUdevice device) {
  return call("cuDeviceGetAttribute", Needs::kInit, [&] {
    constexpr int kPciBus = 33;
    auto it = attributes().find(attribute);
    *value = attribute == kPciBus ? device_at(device).ordinal + 1 : it == attributes().end() ? 0 : it->second;
  });
}
EMULATOR_API(CUresult) cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  return call("cuDeviceTotalMem", Needs::kInit, [&] {
    device_at(device);
    *bytes = settings().memory;
  });
}
EMULATOR_API(CUresult) cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  return call("cuDeviceGetUuid", Needs::kInit, [&] {
    *uuid = {{'e', 'm', 'u', 'l', 'a', 't', 'e', 'd'}};
    uuid->bytes[15] = static_cast<char>(device_at(device).ordinal);
  });
}
EMULATOR_API(CUresult) cuDeviceGetPCIBusId(char* id, int length, CUdevice device) {
  return call("cuDeviceGetPCIBusId", Needs::kInit, [&] {
    std::snprintf(id, static_cast<size_t>(length), "0000:%02x:00.0",
                  static_cast<unsigned>(device_at(device).ordinal) + 1);
  });
}
EMULATOR_API(CUresult) cuDeviceCanAccessPeer(int* possible, CUdevice device, CUdevice peer) {
  return call("cuDeviceCanAccessPeer", Needs::kInit, [&] { *possible = &device_at(device) != &device_at(peer); });
}

EMULATOR_API(CUresult) cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice ordinal) {
  return call("cuDevicePrimaryCtxRetain", Needs::kInit, [&] {
    Device& device = device_at(ordinal);
    ++device.retained;
    *context = device.context();
  });
}
EMULATOR_API(CUresult) cuDevicePrimaryCtxRelease_v2(CUdevice ordinal) {
  return call("cuDevicePrimaryCtxRelease", Needs::kInit, [&] {
    Device& device = device_at(ordinal);
    if (!device.retained) fail(CUDA_ERROR_INVALID_CONTEXT, "the context is not retained");
    if (--device.retained == 0) run_device(device);
  });
}
EMULATOR_API(CUresult) cuDevicePrimaryCtxReset_v2(CUdevice ordinal) {
  return call("cuDevicePrimaryCtxReset", Needs::kInit, [&] {
    Device& device = device_at(ordinal);
    drop_pending(ordinal);
    device.broken = CUDA_SUCCESS;
  });
}
EMULATOR_API(CUresult) cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned) {
  return call("cuDevicePrimaryCtxSetFlags", Needs::kInit, [&] { device_at(ordinal); });
}
EMULATOR_API(CUresult) cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned* flags, int* active) {
  return call("cuDevicePrimaryCtxGetState", Needs::kInit, [&] {
    *active = device_at(ordinal).retained > 0;
    *flags = 0;
  });
}

EMULATOR_API(CUresult) cuCtxSetCurrent(CUcontext context) {
  return call("cuCtxSetCurrent", Needs::kInit,
              [&] { set_current_device(context ? &device_of_context(context) : nullptr); });
}
EMULATOR_API(CUresult) cuCtxGetCurrent(CUcontext* context) {
  return call("cuCtxGetCurrent", Needs::kInit, [&] {
    const Device* device = current_device_or_null();
    *context = device ? device->context() : nullptr;
  });
}
EMULATOR_API(CUresult) cuCtxGetDevice(CUdevice* device) {
  return call("cuCtxGetDevice", Needs::kInit, [&] { *device = current_device().ordinal; });
}
EMULATOR_API(CUresult) cuCtxEnablePeerAccess(CUcontext context, unsigned) {
  return call("cuCtxEnablePeerAccess", Needs::kContext, [&] {
    static auto& enabled = *new std::map<std::pair<CUcontext, CUcontext>, bool>;
    if (&device_of_context(context) == &current_device())
      fail(CUDA_ERROR_INVALID_DEVICE, "a device is not its own peer");
    bool& done = enabled[{current_device().context(), context}];
    if (done) throw Failure{CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, ""};
    done = true;
  });
}

EMULATOR_API(CUresult) cuProfilerStart() { return CUDA_SUCCESS; }
EMULATOR_API(CUresult) cuProfilerStop() { return CUDA_SUCCESS; }
