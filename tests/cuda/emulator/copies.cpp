// copies.cpp: the driver's functions that copy and fill memory.
//
// A copy to or from memory that the driver does not know (pageable memory) does what the driver's staging does: the
// source is read before the call returns, and a copy to pageable memory is over when the call returns. Pinned memory is
// read and written when the stream comes to the copy.
#include <cstring>

#include "graphs.h"
#include "memory.h"

using namespace emulator;

namespace {

enum class Side { kAny, kDevice };

struct Rows {  // a copy of `height` rows; a plain copy has one
  char* to;
  const char* from;
  size_t width;
  size_t height = 1;
  size_t to_pitch = 0;
  size_t from_pitch = 0;

  size_t to_bytes() const { return height ? (height - 1) * to_pitch + width : 0; }
  size_t from_bytes() const { return height ? (height - 1) * from_pitch + width : 0; }
};

void check(const char* what, const void* begin, size_t bytes, Side side) {
  if (side == Side::kDevice) return check_device_range(begin, bytes, what);
  check_host_range(begin, bytes, what);
}

void check(const Rows& rows, Side to, Side from) {
  check("destination", rows.to, rows.to_bytes(), to);
  check("source", rows.from, rows.from_bytes(), from);
}

void move(const Rows& rows) {
  for (size_t row = 0; row < rows.height; ++row) {
    std::memmove(rows.to + row * rows.to_pitch, rows.from + row * rows.from_pitch, rows.width);
  }
}

void enqueue_copy(CUstream handle, Rows rows, Side to, Side from) {
  check(rows, to, from);
  const auto stream = stream_of(handle);
  if (!rows.width || !rows.height) return;
  const bool pageable_source = from == Side::kAny && !find_allocation(rows.from);
  const bool pageable_target = to == Side::kAny && !find_allocation(rows.to);
  const std::string name = text("copy of %zu bytes", rows.width * rows.height);
  if (pageable_source && !stream->capture) {
    auto staged = std::make_shared<std::vector<char>>(rows.from, rows.from + rows.from_bytes());
    rows.from = staged->data();
    auto run = [rows, staged, to] {
      check("destination", rows.to, rows.to_bytes(), to);
      move(rows);
    };
    enqueue(stream, {.name = name, .run = run});
  } else {
    auto run = [rows, to, from] {
      check(rows, to, from);
      move(rows);
    };
    enqueue(stream, {.name = name, .run = run});
  }
  if (pageable_target && !stream->capture) run_stream(stream);
}

CUresult copy_async(const char* name, CUstream stream, void* to, Side to_side, const void* from, Side from_side,
                    size_t bytes) {
  return call(name, Needs::kContext, [&] {
    enqueue_copy(stream, {static_cast<char*>(to), static_cast<const char*>(from), bytes}, to_side, from_side);
  });
}

CUresult copy_now(const char* name, void* to, Side to_side, const void* from, Side from_side, size_t bytes) {
  return call(name, Needs::kContext, [&] {
    refuse_in_capture("a synchronous copy");
    enqueue_copy(nullptr, {static_cast<char*>(to), static_cast<const char*>(from), bytes}, to_side, from_side);
    run_stream(current_device().legacy);
  });
}

void* address(CUdeviceptr pointer) { return reinterpret_cast<void*>(pointer); }

template <class T>
CUresult fill_async(const char* name, CUstream handle, CUdeviceptr pointer, T value, size_t count) {
  return call(name, Needs::kContext, [&] {
    T* to = static_cast<T*>(address(pointer));
    check_device_range(to, count * sizeof(T), "destination");
    auto run = [to, value, count] {
      check_device_range(to, count * sizeof(T), "destination");
      std::fill_n(to, count, value);
    };
    enqueue(stream_of(handle), {.name = text("fill of %zu values", count), .run = run});
  });
}

Side side_of(CUmemorytype type) { return type == kDeviceMemory ? Side::kDevice : Side::kAny; }

char* begin_of(CUmemorytype type, const void* host, CUdeviceptr device, size_t x, size_t y, size_t pitch) {
  if (type == kArrayMemory) fail(CUDA_ERROR_NOT_SUPPORTED, "the emulator has no arrays");
  const void* base = type == kHostMemory ? host : address(device);
  return static_cast<char*>(const_cast<void*>(base)) + y * pitch + x;
}

}  // namespace

EMULATOR_API(CUresult) cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_async("cuMemcpyAsync", stream, address(to), Side::kAny, address(from), Side::kAny, bytes);
}
EMULATOR_API(CUresult) cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return copy_async("cuMemcpyHtoDAsync", stream, address(to), Side::kDevice, from, Side::kAny, bytes);
}
EMULATOR_API(CUresult) cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_async("cuMemcpyDtoHAsync", stream, to, Side::kAny, address(from), Side::kDevice, bytes);
}
EMULATOR_API(CUresult) cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_async("cuMemcpyDtoDAsync", stream, address(to), Side::kDevice, address(from), Side::kDevice, bytes);
}
EMULATOR_API(CUresult)
cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                  CUstream stream) {
  return call("cuMemcpyPeerAsync", Needs::kContext, [&] {
    auto check_owner = [](CUcontext context, CUdeviceptr pointer) {
      const Allocation* allocation = find_allocation(address(pointer));
      const Device& device = device_of_context(context);
      if (allocation && allocation->device == device.ordinal) return;
      fail(CUDA_ERROR_INVALID_VALUE, "%p is no memory of device %d", address(pointer), device.ordinal);
    };
    if (bytes) {
      check_owner(to_context, to);
      check_owner(from_context, from);
    }
    enqueue_copy(stream, {static_cast<char*>(address(to)), static_cast<char*>(address(from)), bytes}, Side::kDevice,
                 Side::kDevice);
  });
}
EMULATOR_API(CUresult) cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy_now("cuMemcpy", address(to), Side::kAny, address(from), Side::kAny, bytes);
}
EMULATOR_API(CUresult) cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  return copy_now("cuMemcpyHtoD", address(to), Side::kDevice, from, Side::kAny, bytes);
}
EMULATOR_API(CUresult) cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  return copy_now("cuMemcpyDtoH", to, Side::kAny, address(from), Side::kDevice, bytes);
}
EMULATOR_API(CUresult) cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy_now("cuMemcpyDtoD", address(to), Side::kDevice, address(from), Side::kDevice, bytes);
}

EMULATOR_API(CUresult) cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* p, CUstream stream) {
  return call("cuMemcpy2DAsync", Needs::kContext, [&] {
    const Rows rows{.to = begin_of(p->dstMemoryType, p->dstHost, p->dstDevice, p->dstXInBytes, p->dstY, p->dstPitch),
                    .from = begin_of(p->srcMemoryType, p->srcHost, p->srcDevice, p->srcXInBytes, p->srcY, p->srcPitch),
                    .width = p->WidthInBytes,
                    .height = p->Height,
                    .to_pitch = p->dstPitch,
                    .from_pitch = p->srcPitch};
    if (rows.height > 1 && (rows.to_pitch < rows.width || rows.from_pitch < rows.width)) {
      fail(CUDA_ERROR_INVALID_VALUE, "rows of %zu bytes overlap: the pitches are %zu and %zu", rows.width,
           rows.to_pitch, rows.from_pitch);
    }
    enqueue_copy(stream, rows, side_of(p->dstMemoryType), side_of(p->srcMemoryType));
  });
}

EMULATOR_API(CUresult) cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return fill_async<unsigned char>("cuMemsetD8Async", stream, to, value, count);
}
EMULATOR_API(CUresult) cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  return fill_async<unsigned short>("cuMemsetD16Async", stream, to, value, count);
}
EMULATOR_API(CUresult) cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  return fill_async<unsigned>("cuMemsetD32Async", stream, to, value, count);
}
EMULATOR_API(CUresult) cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
  return cuMemsetD8Async(to, value, count, nullptr);
}
EMULATOR_API(CUresult) cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count) {
  return cuMemsetD32Async(to, value, count, nullptr);
}
