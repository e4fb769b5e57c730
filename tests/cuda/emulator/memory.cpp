// memory.cpp: allocations with a page behind them that nobody may touch.
//
// New memory is filled with 0xA5, so that results that nobody wrote are seen. Device memory can be touched only while
// operations of streams run, so a program that follows a device pointer on the host crashes as it would beside a real
// device. Released memory keeps its addresses for a while, and nobody can touch it.
#include "memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <deque>

namespace emulator {
namespace {

constexpr size_t kAlignment = 512;
constexpr int kNew = 0xA5;
constexpr size_t kKeptAddresses = size_t{4} << 30;
constexpr size_t kKeptMappings = 1024;

std::map<const char*, Allocation>& allocations() {
  static auto& all = *new std::map<const char*, Allocation>;
  return all;
}

size_t rounded_up(size_t bytes, size_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

// The released mappings, the oldest first.
std::deque<Allocation>& kept() {
  static auto& all = *new std::deque<Allocation>;
  return all;
}

void keep_for_a_while(const Allocation& allocation) {
  static size_t bytes = 0;
  mprotect(allocation.mapping, allocation.mapping_bytes, PROT_NONE);
  madvise(allocation.mapping, allocation.mapping_bytes, MADV_DONTNEED);
  kept().push_back(allocation);
  bytes += allocation.mapping_bytes;
  while (bytes > kKeptAddresses || kept().size() > kKeptMappings) {
    bytes -= kept().front().mapping_bytes;
    munmap(kept().front().mapping, kept().front().mapping_bytes);
    kept().pop_front();
  }
}

const char* kind_name(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kDevice:
      return "device";
    case MemoryKind::kPinned:
      return "pinned";
    case MemoryKind::kRegistered:
      return "registered";
    default:
      return "module";
  }
}

std::string named(const Allocation& allocation) {
  return text("%zu bytes of %s memory at %p", allocation.bytes, kind_name(allocation.kind),
              static_cast<const void*>(allocation.begin));
}

// Its guard page included.
bool in_mapping(const Allocation& allocation, const void* address) {
  const auto* begin = static_cast<const char*>(allocation.mapping);
  return begin && address >= begin && address < begin + allocation.mapping_bytes;
}

void refuse_released(const void* address, const char* what) {
  for (const Allocation& allocation : kept()) {
    if (!in_mapping(allocation, address)) continue;
    fail(CUDA_ERROR_INVALID_VALUE, "%s: %p was released (%s)", what, address, named(allocation).c_str());
  }
}

size_t page_size() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

void set_access(const Allocation& allocation, int access) {
  mprotect(allocation.mapping, allocation.mapping_bytes - page_size(), access);
}

int access_depth = 0;  // of DeviceMemoryAccess objects
void set_access_to_device_memory(int access) {
  if (!settings().protect) return;
  for (const auto& [begin, allocation] : allocations()) {
    if (allocation.kind == MemoryKind::kDevice) set_access(allocation, access);
  }
}

Allocation& add(Allocation allocation) {
  static uint64_t last_id = 0;
  allocation.id = ++last_id;
  return allocations().emplace(allocation.begin, allocation).first->second;
}

}  // namespace

Allocation& allocate(MemoryKind kind, Device& device, size_t bytes, unsigned flags) {
  if (!bytes) fail(CUDA_ERROR_INVALID_VALUE, "an allocation of no bytes");
  const size_t counted = rounded_up(bytes, kAlignment);
  if (kind == MemoryKind::kDevice && counted > settings().memory - std::min(settings().memory, device.used)) {
    throw Failure{CUDA_ERROR_OUT_OF_MEMORY, ""};
  }
  const size_t page = page_size();
  const size_t usable = rounded_up(counted, page);
  void* mapping =
      mmap(nullptr, usable + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw Failure{CUDA_ERROR_OUT_OF_MEMORY, ""};
  char* end = static_cast<char*>(mapping) + usable;
  mprotect(end, page, PROT_NONE);
  std::memset(end - counted, kNew, counted);
  Allocation& result = add({kind, device.ordinal, flags, end - counted, bytes, mapping, usable + page, 0});
  if (kind == MemoryKind::kDevice) {
    device.used += counted;
    if (settings().protect) set_access(result, PROT_NONE);
  }
  return result;
}

Allocation& adopt(MemoryKind kind, Device& device, void* begin, size_t bytes, unsigned flags) {
  if (!begin || !bytes) fail(CUDA_ERROR_INVALID_VALUE, "registers no memory");
  if (find_allocation(begin)) fail(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "%p is registered already", begin);
  return add({kind, device.ordinal, flags, static_cast<char*>(begin), bytes, nullptr, 0, 0});
}

Allocation& allocation_at(const void* begin, const char* what) {
  auto it = allocations().find(static_cast<const char*>(begin));
  if (it == allocations().end())
    fail(CUDA_ERROR_INVALID_VALUE, "%s: %p is not the start of a live allocation", what, begin);
  return it->second;
}

void release(Allocation& allocation) {
  if (allocation.kind == MemoryKind::kDevice) {
    devices()[static_cast<size_t>(allocation.device)].used -= rounded_up(allocation.bytes, kAlignment);
  }
  if (allocation.mapping) keep_for_a_while(allocation);
  allocations().erase(allocation.begin);
}

const Allocation* find_allocation(const void* address) {
  auto next = allocations().upper_bound(static_cast<const char*>(address));
  if (next == allocations().begin()) return nullptr;
  const Allocation& before = std::prev(next)->second;
  return static_cast<const char*>(address) < before.begin + before.bytes ? &before : nullptr;
}

DeviceMemoryAccess::DeviceMemoryAccess() {
  if (access_depth++ == 0) set_access_to_device_memory(PROT_READ | PROT_WRITE);
}
DeviceMemoryAccess::~DeviceMemoryAccess() {
  if (--access_depth == 0) set_access_to_device_memory(PROT_NONE);
}

void report_allocations() {
  for (const auto& [begin, allocation] : allocations()) say("still allocated: " + named(allocation));
}

std::string description_of(const void* address) {
  for (const auto& [begin, allocation] : allocations()) {
    if (in_mapping(allocation, address)) {
      const bool inside = address >= begin && address < begin + allocation.bytes;
      return (inside ? "in " : "outside, but near ") + named(allocation);
    }
  }
  for (const Allocation& allocation : kept()) {
    if (in_mapping(allocation, address)) return "in " + named(allocation) + ", which was released";
  }
  return "";
}

void check_host_range(const void* begin, size_t bytes, const char* what) {
  const Allocation* allocation = find_allocation(begin);
  if (!bytes) return;
  if (!allocation) return refuse_released(begin, what);
  const auto* end = static_cast<const char*>(begin) + bytes;
  if (end <= allocation->begin + allocation->bytes) return;
  fail(CUDA_ERROR_INVALID_VALUE, "%s: %zu bytes at %p leave the allocation of %s", what, bytes, begin,
       named(*allocation).c_str());
}

void check_device_range(const void* begin, size_t bytes, const char* what) {
  if (!bytes) return;
  refuse_released(begin, what);
  if (!find_allocation(begin)) fail(CUDA_ERROR_INVALID_VALUE, "%s: %p lies in no live allocation", what, begin);
  check_host_range(begin, bytes, what);
}

}  // namespace emulator
