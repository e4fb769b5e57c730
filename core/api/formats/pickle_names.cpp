// pickle_names.cpp: see pickle_names.h.
// build: small
#include "core/api/formats/pickle_names.h"

#include "core/api/formats/file.h"

namespace undertow::formats {

namespace {

struct StorageClass {
  const char* name;  // without "Storage"
  core::DType dtype;
};
constexpr StorageClass kStorageClasses[] = {{"Float", core::DType::Float32},
                                            {"Double", core::DType::Float64},
                                            {"Half", core::DType::Float16},
                                            {"BFloat16", core::DType::BFloat16},
                                            {"Long", core::DType::Int64},
                                            {"Int", core::DType::Int32},
                                            {"Short", core::DType::Int16},
                                            {"Char", core::DType::Int8},
                                            {"Byte", core::DType::UInt8},
                                            {"Bool", core::DType::Bool},
                                            {"ComplexFloat", core::DType::Complex64},
                                            {"ComplexDouble", core::DType::Complex128}};

constexpr const char* kOthers[] = {"torch._utils._rebuild_tensor",    "torch._utils._rebuild_tensor_v2",
                                   "torch._utils._rebuild_tensor_v3", "torch._utils._rebuild_parameter",
                                   "collections.OrderedDict",         "torch.Size",
                                   "torch.storage.UntypedStorage",    "builtins.complex"};

}  // namespace

std::optional<core::DType> dtype_of_storage(const std::string& name) {
  for (const StorageClass& s : kStorageClasses)
    if (name == core::str("torch.", s.name, "Storage")) return s.dtype;
  return std::nullopt;
}

std::optional<core::DType> dtype_named(const std::string& name) {
  for (size_t d = 0; d < core::kNumDTypes; d++)
    if (name == core::str("torch.", core::kDTypeInfo[d].name)) return static_cast<core::DType>(d);
  return std::nullopt;
}

void check_known_name(const std::string& module, const std::string& name) {
  const std::string path = module + "." + name;
  for (const char* known : kOthers)
    if (path == known) return;
  if (dtype_of_storage(path) || dtype_named(path)) return;
  fail("Weights only load failed. Unsupported global: GLOBAL ", path,
       " was not an allowed global: load does not call functions of a file; it builds tensors, numbers, strings "
       "and plain containers");
}

}  // namespace undertow::formats
