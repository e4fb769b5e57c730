// memory_api.cpp: the driver's functions that allocate memory and describe pointers.
#include "graphs.h"
#include "memory.h"

using namespace emulator;

namespace {

void* address(CUdeviceptr pointer) { return reinterpret_cast<void*>(pointer); }

enum PointerAttribute : int {
  kContext = 1,
  kMemoryType = 2,
  kDevicePointer = 3,
  kHostPointer = 4,
  kBufferId = 7,
  kIsManaged = 8,
  kDeviceOrdinal = 9,
  kRangeStart = 11,
  kRangeSize = 12,
  kMapped = 13,
};

void free_allocation(void* pointer, MemoryKind kind) {
  Allocation& allocation = allocation_at(pointer, "free");
  if (allocation.kind != kind) fail(CUDA_ERROR_INVALID_VALUE, "free: %p is memory of another kind", pointer);
  refuse_in_capture("releasing memory");
  run_device(device_at(allocation.device));  // the driver waits too
  release(allocation);
}

// The attribute of a pointer into an allocation.
void write_attribute(void* data, int attribute, const Allocation& allocation, CUdeviceptr pointer) {
  const bool on_device = allocation.kind == MemoryKind::kDevice || allocation.kind == MemoryKind::kVariable;
  switch (attribute) {
    case kContext:
      *static_cast<CUcontext*>(data) = device_at(allocation.device).context();
      return;
    case kMemoryType:
      *static_cast<unsigned*>(data) = on_device ? kDeviceMemory : kHostMemory;
      return;
    case kDevicePointer:
      *static_cast<CUdeviceptr*>(data) = pointer;
      return;
    case kHostPointer:
      if (on_device) fail(CUDA_ERROR_INVALID_VALUE, "%p is device memory", address(pointer));
      *static_cast<void**>(data) = address(pointer);
      return;
    case kBufferId:
      *static_cast<uint64_t*>(data) = allocation.id;
      return;
    case kIsManaged:
      *static_cast<bool*>(data) = false;
      return;
    case kDeviceOrdinal:
      *static_cast<int*>(data) = allocation.device;
      return;
    case kRangeStart:
      *static_cast<CUdeviceptr*>(data) = reinterpret_cast<CUdeviceptr>(allocation.begin);
      return;
    case kRangeSize:
      *static_cast<size_t*>(data) = allocation.bytes;
      return;
    case kMapped:
      *static_cast<bool*>(data) = true;
      return;
    default:
      fail(CUDA_ERROR_NOT_SUPPORTED, "the emulator does not know the pointer attribute %d", attribute);
  }
}

}  // namespace

EMULATOR_API(CUresult) cuMemAlloc_v2(CUdeviceptr* out, size_t bytes) {
  return call("cuMemAlloc", Needs::kContext, [&] {
    refuse_in_capture("allocating memory");
    *out = reinterpret_cast<CUdeviceptr>(allocate(MemoryKind::kDevice, current_device(), bytes, 0).begin);
  });
}

EMULATOR_API(CUresult) cuMemFree_v2(CUdeviceptr pointer) {
  return call("cuMemFree", Needs::kContext, [&] {
    if (pointer) free_allocation(address(pointer), MemoryKind::kDevice);
  });
}

EMULATOR_API(CUresult) cuMemGetInfo_v2(size_t* free, size_t* total) {
  return call("cuMemGetInfo", Needs::kContext, [&] {
    *total = settings().memory;
    *free = settings().memory - std::min(settings().memory, current_device().used);
  });
}

EMULATOR_API(CUresult) cuMemGetAddressRange_v2(CUdeviceptr* begin, size_t* bytes, CUdeviceptr pointer) {
  return call("cuMemGetAddressRange", Needs::kContext, [&] {
    const Allocation* allocation = find_allocation(address(pointer));
    if (!allocation) fail(CUDA_ERROR_NOT_FOUND, "%p lies in no live allocation", address(pointer));
    if (begin) *begin = reinterpret_cast<CUdeviceptr>(allocation->begin);
    if (bytes) *bytes = allocation->bytes;
  });
}

EMULATOR_API(CUresult) cuMemHostAlloc(void** out, size_t bytes, unsigned flags) {
  return call("cuMemHostAlloc", Needs::kContext, [&] {
    refuse_in_capture("allocating memory");
    *out = allocate(MemoryKind::kPinned, current_device(), bytes, flags).begin;
  });
}
EMULATOR_API(CUresult) cuMemAllocHost_v2(void** out, size_t bytes) { return cuMemHostAlloc(out, bytes, 0); }

EMULATOR_API(CUresult) cuMemFreeHost(void* pointer) {
  return call("cuMemFreeHost", Needs::kContext, [&] { free_allocation(pointer, MemoryKind::kPinned); });
}

EMULATOR_API(CUresult) cuMemHostGetFlags(unsigned* flags, void* pointer) {
  return call("cuMemHostGetFlags", Needs::kContext, [&] {
    const Allocation* allocation = find_allocation(pointer);
    // No message: this is how programs ask whether memory is pinned.
    if (!allocation || allocation->kind == MemoryKind::kDevice) throw Failure{CUDA_ERROR_INVALID_VALUE, ""};
    *flags = allocation->flags;
  });
}

EMULATOR_API(CUresult) cuMemHostGetDevicePointer_v2(CUdeviceptr* out, void* pointer, unsigned) {
  return call("cuMemHostGetDevicePointer", Needs::kContext, [&] {
    check_device_range(pointer, 1, "pinned memory");
    *out = reinterpret_cast<CUdeviceptr>(pointer);
  });
}

EMULATOR_API(CUresult) cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned flags) {
  return call("cuMemHostRegister", Needs::kContext,
              [&] { adopt(MemoryKind::kRegistered, current_device(), pointer, bytes, flags); });
}

EMULATOR_API(CUresult) cuMemHostUnregister(void* pointer) {
  return call("cuMemHostUnregister", Needs::kContext, [&] {
    const Allocation* found = find_allocation(pointer);
    if (!found || found->begin != pointer || found->kind != MemoryKind::kRegistered) {
      fail(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "%p is not registered", pointer);
    }
    run_device(device_at(found->device));
    release(allocation_at(pointer, "unregister"));
  });
}

EMULATOR_API(CUresult) cuPointerGetAttribute(void* data, int attribute, CUdeviceptr pointer) {
  return call("cuPointerGetAttribute", Needs::kInit, [&] {
    const Allocation* allocation = find_allocation(address(pointer));
    // No message: this is how programs ask whether the driver knows a pointer.
    if (!allocation) throw Failure{CUDA_ERROR_INVALID_VALUE, ""};
    write_attribute(data, attribute, *allocation, pointer);
  });
}

EMULATOR_API(CUresult) cuPointerGetAttributes(unsigned count, int* attributes, void** data, CUdeviceptr pointer) {
  return call("cuPointerGetAttributes", Needs::kInit, [&] {
    const Allocation* allocation = find_allocation(address(pointer));
    for (unsigned i = 0; i < count; ++i) {
      if (allocation) {
        write_attribute(data[i], attributes[i], *allocation, pointer);
      } else if (attributes[i] == kDeviceOrdinal) {  // an unknown pointer has no error here, but empty values
        *static_cast<int*>(data[i]) = -2;
      } else if (attributes[i] == kMemoryType) {
        *static_cast<unsigned*>(data[i]) = 0;
      } else if (attributes[i] == kIsManaged || attributes[i] == kMapped) {
        *static_cast<bool*>(data[i]) = false;
      } else {
        *static_cast<uint64_t*>(data[i]) = 0;
      }
    }
  });
}

EMULATOR_API(CUresult) cuIpcGetMemHandle(void*, CUdeviceptr) { return CUDA_ERROR_NOT_SUPPORTED; }
EMULATOR_API(CUresult) cuIpcCloseMemHandle(CUdeviceptr) { return CUDA_ERROR_NOT_SUPPORTED; }

struct IpcMemHandle {  // of the driver's size: it is passed by value
  char bytes[64];
};
EMULATOR_API(CUresult) cuIpcOpenMemHandle_v2(CUdeviceptr*, IpcMemHandle, unsigned) { return CUDA_ERROR_NOT_SUPPORTED; }
