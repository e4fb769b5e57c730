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

// A tensor on a storage from a file. Raises unless its layout is valid and inside the storage.
Tensor tensor_over(const core::Ref<core::Storage>& storage, core::DType dtype, int64_t offset, core::IntSpan sizes,
                   core::IntSpan strides);
// Raises for bytes other than 0 and 1, because kernels assume these values for bool.
void check_bools(const core::Storage& storage);

inline constexpr size_t kMostDimensions = 64;

}  // namespace undertow::formats
