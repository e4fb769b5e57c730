// scratch.cpp: see scratch.h.
#include "core/kernels/cpu/scratch.h"

#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

namespace undertow::core::cpu::detail {
namespace {

struct Buffer {
  void* data = nullptr;
  size_t size = 0;
};
// One table for all purposes, because a dynamically loaded library gets only a small amount of thread-local storage.
struct Buffers {
  std::vector<Buffer> of;  // indexed by purpose
  ~Buffers() {
    for (Buffer& b : of) std::free(b.data);
  }
};

}  // namespace

int new_scratch_purpose() {
  static std::atomic<int> count{0};  // atomic: several threads may reach new kernels at the same time
  return count++;
}

void* scratch_of(int purpose, size_t bytes) {
  static thread_local Buffers buffers;
  size_t at = static_cast<size_t>(purpose);
  if (at >= buffers.of.size()) buffers.of.resize(at + 1);
  Buffer& b = buffers.of[at];
  if (bytes <= b.size) return b.data;
  std::free(b.data);
  b = {};
  size_t rounded = (bytes + 4095) / 4096 * 4096;
  b.data = std::aligned_alloc(64, rounded);
  if (!b.data) throw std::bad_alloc();
  b.size = rounded;
  return b.data;
}

}  // namespace undertow::core::cpu::detail
