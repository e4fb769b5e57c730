// pickle_names.h: the functions and classes that a pickle may name. The list is closed, so nothing from a file is
// looked up, imported or called.
#pragma once
#include <optional>
#include <string>

#include "core/tensor/dtype/dtype.h"

namespace undertow::formats {

// Raises unless load knows module.name.
void check_known_name(const std::string& module, const std::string& name);

// By full name: the dtype of "torch.FloatStorage", and of "torch.float32".
std::optional<core::DType> dtype_of_storage(const std::string& name);
std::optional<core::DType> dtype_named(const std::string& name);

}  // namespace undertow::formats
