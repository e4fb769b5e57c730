// storage_copy.cpp: see storage_copy.h.
#include "core/tensor/storage/storage_copy.h"

#include <cstring>

#include "core/tensor/storage/device_memory.h"

namespace undertow::core {

void copy_bytes(Storage& to, const Storage& from) {
  if (!from.nbytes()) return;
  Device dst = to.device(), src = from.device();
  if (dst.is_cpu() && src.is_cpu())
    std::memmove(to.data(), from.data(), from.nbytes());
  else
    device_memory(dst.is_cpu() || (dst != src && src.is_meta()) ? src : dst)
        .copy(to.data(), dst, from.data(), src, from.nbytes());
}

}  // namespace undertow::core
