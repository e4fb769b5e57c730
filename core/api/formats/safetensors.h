// safetensors.h: the safetensors format: a length, a JSON header of names, dtypes, shapes and positions, and the bytes.
// The header is checked completely before memory is allocated for a tensor.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <undertow/tensor.h>

#include "core/api/formats/file.h"

namespace undertow::formats {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// The tensors in the order of the header. `metadata` may be null.
NamedTensors read_safetensors(Source& source, std::map<std::string, std::string>* metadata);
void write_safetensors(Target& target, const NamedTensors& tensors, const std::map<std::string, std::string>& metadata);

}  // namespace undertow::formats
