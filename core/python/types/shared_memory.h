// shared_memory.h: storages whose bytes other processes can map. Knows descriptors and mappings, no Python objects.
#pragma once

#include "core/tensor/storage/storage.h"

namespace undertow::core::python {

bool is_shared(const Storage& s);

// Moves the bytes to memory that forked children, and processes that receive the descriptor, share.
void share_memory(Storage& s);

// -1 if the storage is not shared, or with forked children only.
int shared_descriptor(const Storage& s);

// Maps memory that another process shares; the caller keeps the descriptor. Raises if it has fewer bytes.
Ref<Storage> shared_storage_of(int fd, int64_t nbytes);

}  // namespace undertow::core::python
