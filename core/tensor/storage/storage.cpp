// storage.cpp: creating, resizing and destroying storages.
#include "core/tensor/storage/storage.h"

#include <cstring>
#include <new>
#include <utility>

#include "core/base/error.h"
#include "core/base/object_pool.h"
#include "core/tensor/storage/allocator.h"
#include "core/tensor/storage/device_memory.h"

namespace undertow::core {

Ref<Storage> Storage::allocate_large(size_t nbytes) {
  auto* data = static_cast<char*>(allocate_bytes(nbytes));
  auto* s = new (pool_alloc(sizeof(Storage))) Storage;
  s->nbytes_ = nbytes;
  s->block_bytes_ = sizeof(Storage);
  s->kind_ = Kind::Owned;
  s->data_ = data;
  return Ref<Storage>::adopt(s);
}

Ref<Storage> Storage::allocate_on_device(size_t nbytes, Device device) {
  device = resolve_device(device);
  void* data = device_memory(device).allocate(nbytes, device);
  auto* s = new (pool_alloc(sizeof(Storage))) Storage;
  s->nbytes_ = nbytes;
  s->block_bytes_ = sizeof(Storage);
  s->kind_ = Kind::OnDevice;
  s->device_ = device;
  s->data_ = static_cast<char*>(data);
  return Ref<Storage>::adopt(s);
}

Ref<Storage> Storage::borrow(void* data, size_t nbytes, Deleter deleter, void* context) {
  return borrow(data, nbytes, deleter, context, kCpu);
}
Ref<Storage> Storage::borrow(void* data, size_t nbytes, Deleter deleter, void* context, Device device) {
  auto* s = new (pool_alloc(sizeof(Storage))) Storage;
  s->kind_ = Kind::Borrowed;
  s->device_ = device;
  s->data_ = static_cast<char*>(data);
  s->nbytes_ = nbytes;
  s->block_bytes_ = sizeof(Storage);
  s->deleter_ = deleter;
  s->context_ = context;
  return Ref<Storage>::adopt(s);
}

void Storage::resize(size_t nbytes) {
  UT_CHECK(resizable(),
           "Trying to resize storage that is not resizable: its memory belongs to another library, or an array or "
           "memoryview uses it");
  if (nbytes == nbytes_) return;
  if (kind_ == Kind::OnDevice) {
    const DeviceMemory& memory = device_memory(device_);
    void* fresh = memory.allocate(nbytes, device_);
    if (data_) memory.copy(fresh, device_, data_, device_, nbytes < nbytes_ ? nbytes : nbytes_);
    free_bytes();
    data_ = static_cast<char*>(fresh);
    nbytes_ = nbytes;
    return;
  }
  char* fresh = static_cast<char*>(allocate_bytes(nbytes));
  std::memcpy(fresh, data_, nbytes < nbytes_ ? nbytes : nbytes_);
  free_bytes();
  kind_ = Kind::Owned;
  data_ = fresh;
  nbytes_ = nbytes;
}

void Storage::swap_bytes(Storage& other) {
  // Inline bytes cannot be exchanged; move them to separate memory first.
  for (Storage* s : {this, &other}) {
    if (s->kind_ != Kind::Inline) continue;
    char* fresh = static_cast<char*>(allocate_bytes(s->nbytes_));
    std::memcpy(fresh, s->data_, s->nbytes_);
    s->data_ = fresh;
    s->kind_ = Kind::Owned;
  }
  std::swap(data_, other.data_);
  std::swap(nbytes_, other.nbytes_);
  std::swap(kind_, other.kind_);
  std::swap(device_, other.device_);
  std::swap(deleter_, other.deleter_);
  std::swap(context_, other.context_);
}

void Storage::free_bytes() {
  if (kind_ == Kind::Owned) deallocate_bytes(data_, nbytes_);
  if (kind_ == Kind::OnDevice) device_memory(device_).deallocate(data_, nbytes_, device_);
  if (kind_ == Kind::Borrowed && deleter_) deleter_(context_);
}

}  // namespace undertow::core
