// memory.h: the registry of device memory and of pinned host memory.
// Device memory is host memory, so kernels run on it as they are.
#pragma once
#include <map>

#include "state.h"

namespace emulator {

enum class MemoryKind { kDevice, kPinned, kRegistered, kVariable };

struct Allocation {
  MemoryKind kind;
  int device;
  unsigned flags;
  char* begin;
  size_t bytes;
  void* mapping;  // what mmap returned, and its size; null: the program's own memory
  size_t mapping_bytes;
  uint64_t id;
};

Allocation& allocate(MemoryKind kind, Device& device, size_t bytes, unsigned flags);
// Memory that the driver did not allocate: the program's, or a variable of a module.
Allocation& adopt(MemoryKind kind, Device& device, void* begin, size_t bytes, unsigned flags);
// The allocation that begins there, of one of the kinds; fails if there is none.
Allocation& allocation_at(const void* begin, const char* what);
void release(Allocation& allocation);

const Allocation* find_allocation(const void* address);  // null: memory that the driver does not know
void report_allocations();
// What an address that nobody may touch belongs to, for a message; empty if the driver does not know it.
std::string description_of(const void* address);

// While one exists, device memory can be read and written.
class DeviceMemoryAccess {
 public:
  DeviceMemoryAccess();
  ~DeviceMemoryAccess();
  DeviceMemoryAccess(const DeviceMemoryAccess&) = delete;
};

// Fails unless the range lies inside one allocation of device memory (or of pinned memory).
void check_device_range(const void* begin, size_t bytes, const char* what);
// Fails if the range begins in an allocation and leaves it.
void check_host_range(const void* begin, size_t bytes, const char* what);

}  // namespace emulator
