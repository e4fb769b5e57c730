// pickle.h: the pickles in PyTorch's files: read by an interpreter that builds only tensors, numbers, strings and
// containers, and written as PyTorch writes them. No opcode runs code.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include <undertow/types/ivalue.h>

namespace undertow::formats {

// The bytes of the storage `key`; raises unless there are `nbytes` of them.
using LoadStorage = std::function<core::Ref<core::Storage>(const std::string& key, uint64_t nbytes)>;
IValue read_pickle(const std::string& data, const LoadStorage& load_storage);

struct Pickled {
  std::string data;
  std::vector<core::Ref<core::Storage>> storages;  // number i has the key i
};
Pickled write_pickle(const IValue& value);

}  // namespace undertow::formats
