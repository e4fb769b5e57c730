// storage.h: the bytes that tensors share, and the version counter that in-place writes increment.
// Knows nothing about shapes or element types.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "core/base/object_pool.h"
#include "core/base/ref.h"
#include "core/tensor/device.h"
#include "core/tensor/mode.h"

namespace undertow::core {

class Storage {
 public:
  using Deleter = void (*)(void* context);

  // Small requests share one pooled block with the header; larger ones come from the caching allocator.
  UT_HOT_INLINE static Ref<Storage> allocate(size_t nbytes) {
    if (nbytes > kInlineMax) return allocate_large(nbytes);
    auto* s = new (pool_alloc(kHeader + nbytes)) Storage;
    s->nbytes_ = nbytes;
    s->block_bytes_ = static_cast<uint32_t>(kHeader + nbytes);
    s->data_ = reinterpret_cast<char*>(s) + kHeader;
    return Ref<Storage>::adopt(s);
  }
  static Ref<Storage> allocate(size_t nbytes, Device device) {
    return UT_LIKELY(device.is_cpu()) ? allocate(nbytes) : allocate_on_device(nbytes, device);
  }
  // Borrowed memory: deleter(context) runs once, when the last tensor that uses the storage is destroyed.
  static Ref<Storage> borrow(void* data, size_t nbytes, Deleter deleter, void* context);
  static Ref<Storage> borrow(void* data, size_t nbytes, Deleter deleter, void* context, Device device);

  Device device() const { return device_; }
  char* data() const { return data_; }  // null if the device has no memory (meta)
  size_t nbytes() const { return nbytes_; }
  // Changes the size and keeps min(old, new) bytes. Only for memory that we own.
  void resize(size_t nbytes);
  bool resizable() const {
    return kind_ != Kind::Borrowed && !address_locked_forever_ && address_locks_.load(std::memory_order_relaxed) == 0;
  }
  // While someone outside has the address, the bytes must not move. A memoryview releases its lock; a NumPy array never
  // does, because we are not told when it is freed.
  void lock_address() { address_locks_.fetch_add(1, std::memory_order_relaxed); }
  void unlock_address() { address_locks_.fetch_sub(1, std::memory_order_relaxed); }
  void lock_address_forever() { address_locked_forever_ = true; }
  Deleter deleter() const { return deleter_; }  // of borrowed memory
  void* context() const { return context_; }
  // Exchanges the bytes of two storages; both keep their identity, counts and versions.
  void swap_bytes(Storage& other);

  uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  // `by` names the writer in error messages; it must be a string with static lifetime.
  void bump_version(const char* by) {
    version_.fetch_add(1, std::memory_order_relaxed);
    writer_.store(by, std::memory_order_relaxed);
  }
  const char* writer() const { return writer_.load(std::memory_order_relaxed); }  // of the last write, or null
  // The transform of undertow.func that was running when this was created, or 0. Transforms are numbered in the order
  // in which they start. See Note [Captured Tensors].
  uint32_t transform() const { return transform_; }
  void set_version(uint32_t v) { version_.store(v, std::memory_order_relaxed); }

  void retain() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    // A sole owner needs no read-modify-write: no other thread has a reference to copy.
    if (refs_.load(std::memory_order_acquire) == 1 || refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }
  uint32_t use_count() const { return refs_.load(std::memory_order_acquire); }

 private:
  enum class Kind : uint8_t { Inline, Owned, Borrowed, OnDevice };
  static constexpr size_t kInlineMax = 256;  // largest size stored in the same block as the header
  static constexpr size_t kHeader = 64;      // keeps the bytes after the header 16-aligned
  Storage() = default;
  static Ref<Storage> allocate_large(size_t nbytes);
  static Ref<Storage> allocate_on_device(size_t nbytes, Device device);
  void destroy() {
    if (kind_ != Kind::Inline) free_bytes();
    pool_free(this, block_bytes_);
  }
  void free_bytes();

  std::atomic<uint32_t> refs_{1};     // atomic: tensors that share a storage may be destroyed on any thread
  std::atomic<uint32_t> version_{0};  // atomic: saves read it while another thread writes; the order does not matter
  char* data_ = nullptr;
  size_t nbytes_ = 0;
  uint32_t block_bytes_ = 0;                // size of the pooled block, including the header
  std::atomic<uint16_t> address_locks_{0};  // atomic: memoryviews are created and released on any thread
  Kind kind_ = Kind::Inline;
  bool address_locked_forever_ = false;
  Device device_;
  const uint32_t transform_ = thread_mode.transform;
  Deleter deleter_ = nullptr;
  void* context_ = nullptr;
  std::atomic<const char*> writer_{nullptr};  // atomic: like version_
};

static_assert(sizeof(Storage) <= 64);

}  // namespace undertow::core
