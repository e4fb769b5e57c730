// create.h: what factory functions share: the layout of a `_like`, and whether a number fits a dtype.
#pragma once
#include "core/forward/forward_types.h"

namespace undertow::core::fwd {

// Uninitialised, in the layout of empty_like(self, memory_format=...).
Tensor allocate_like(const Tensor& self, DType dtype, std::optional<MemoryFormat> format, Device device);
inline Tensor allocate_like(const Tensor& self, DType dtype) {
  return allocate_like(self, dtype, std::nullopt, self.device());
}
// Raises torch's error if `dtype` cannot hold the number.
void check_fits(const Scalar& value, DType dtype);
// The C++ type name that torch uses in messages about numbers, e.g. "Half".
const char* cpp_name(DType dtype);
// The C++ type name that torch uses in messages about tensors: "long int", "c10::Half".
const char* meta_name(DType dtype);

}  // namespace undertow::core::fwd
