// driver_types.h: the types and constants of CUDA's driver API that we use, declared here because neither a build nor a
// user needs NVIDIA's headers. Names and values are those of cuda.h.
#pragma once
#include <cstddef>
#include <cstdint>

namespace undertow::core::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;  // null: the default stream
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;

inline constexpr CUresult kSuccess = 0;
inline constexpr CUresult kInvalidValue = 1;
inline constexpr CUresult kOutOfMemory = 2;
inline constexpr CUresult kDeinitialized = 4;
inline constexpr CUresult kNoDevice = 100;
inline constexpr CUresult kNotReady = 600;

// CUdevice_attribute
enum class DeviceAttribute : int {
  MaxThreadsPerBlock = 1,
  WarpSize = 10,
  MultiprocessorCount = 16,
  Integrated = 18,
  PciBusId = 33,
  PciDeviceId = 34,
  L2CacheSize = 38,
  MaxThreadsPerMultiprocessor = 39,
  PciDomainId = 50,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  MaxSharedMemoryPerMultiprocessor = 81,
  MaxRegistersPerMultiprocessor = 82,
  MultiGpuBoard = 84,
  MaxSharedMemoryPerBlockOptin = 97,
};
// CUfunction_attribute
inline constexpr int kFunctionMaxDynamicSharedBytes = 8;

inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventBlockingSync = 1, kEventDisableTiming = 2, kEventInterprocess = 4;
inline constexpr unsigned kHostAllocPortable = 1, kHostAllocMapped = 2;
inline constexpr int kPointerMemoryType = 2, kPointerDeviceOrdinal = 9;  // CUpointer_attribute
inline constexpr int kMemoryTypeHost = 1, kMemoryTypeDevice = 2;         // CUmemorytype
inline constexpr int kCaptureModeRelaxed = 2;                            // CUstreamCaptureMode
inline constexpr int kCaptureNone = 0, kCaptureActive = 1, kCaptureInvalidated = 2;

struct Uuid {
  char bytes[16];
};

}  // namespace undertow::core::cuda
