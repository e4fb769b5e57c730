// shared_memory.cpp: see shared_memory.h.
// build: small
#include "core/python/types/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <unordered_map>

#include "core/base/error.h"

namespace undertow::core::python {

namespace {

struct SharedMapping {
  void* data;
  size_t nbytes;
  int fd;  // -1 if no descriptor was available: shared with forked children only
};
// Descriptors by address, because a storage does not expose its context. Mutex: a storage may be destroyed on any
// thread.
struct Descriptors {
  std::mutex mutex;  // guards by_address
  std::unordered_map<const void*, int> by_address;
};
Descriptors& descriptors() {
  static auto* all = new Descriptors;  // leaked: storages may outlive static destruction
  return *all;
}
void unmap(void* p) {
  auto* m = static_cast<SharedMapping*>(p);
  if (m->fd >= 0) {
    std::lock_guard lock(descriptors().mutex);
    descriptors().by_address.erase(m->data);
    close(m->fd);
  }
  munmap(m->data, m->nbytes);
  delete m;
}
// Takes ownership of the descriptor.
Ref<Storage> shared_storage(size_t nbytes, int fd) {
  void* data = mmap(nullptr, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
  if (data == MAP_FAILED) {
    if (fd >= 0) close(fd);
    UT_FAIL("share_memory_: cannot allocate shared memory of ", nbytes, " bytes");
  }
  if (fd >= 0) {
    std::lock_guard lock(descriptors().mutex);
    descriptors().by_address[data] = fd;
  }
  return Storage::borrow(data, nbytes, unmap, new SharedMapping{data, nbytes, fd});
}

}  // namespace

bool is_shared(const Storage& s) { return s.deleter() == unmap; }

void share_memory(Storage& s) {
  if (is_shared(s) || s.nbytes() == 0) return;
  UT_CHECK(s.resizable(),
           "share_memory_: the bytes cannot move, because they belong to another library or an array or memoryview "
           "uses them");
  int fd = memfd_create("undertow", MFD_CLOEXEC);
  if (fd >= 0 && ftruncate(fd, static_cast<off_t>(s.nbytes())) != 0) {
    close(fd);
    fd = -1;
  }
  Ref<Storage> shared = shared_storage(s.nbytes(), fd);
  std::memcpy(shared->data(), s.data(), s.nbytes());
  s.swap_bytes(*shared);
}

int shared_descriptor(const Storage& s) {
  std::lock_guard lock(descriptors().mutex);
  auto found = descriptors().by_address.find(s.data());
  return found == descriptors().by_address.end() ? -1 : found->second;
}

Ref<Storage> shared_storage_of(int fd, int64_t nbytes) {
  struct stat facts;
  UT_CHECK(fstat(fd, &facts) == 0 && nbytes > 0 && facts.st_size >= nbytes, "_storage_from_fd: descriptor ", fd,
           " has no ", nbytes, " bytes");
  int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  UT_CHECK(own >= 0, "_storage_from_fd: there are too many open descriptors");
  return shared_storage(static_cast<size_t>(nbytes), own);
}

}  // namespace undertow::core::python
