// storage_copy.h: copies bytes between storages on any devices.
#pragma once
#include "core/tensor/storage/storage.h"

namespace undertow::core {

// Copies all bytes of `from` to the beginning of `to`, which has at least as many.
void copy_bytes(Storage& to, const Storage& from);

}  // namespace undertow::core
