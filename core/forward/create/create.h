// create.h: what makers of fresh tensors share: the layout of a `_like`, and whether a number fits a dtype.
#pragma once
#include "core/forward/forward_types.h"

namespace undertow::fwd {

// Uninitialised, in the layout that empty_like(self, memory_format=...) has.
Tensor allocate_like(const Tensor& self, DType dtype, std::optional<MemoryFormat> format, Device device);
inline Tensor allocate_like(const Tensor& self, DType dtype) {
  return allocate_like(self, dtype, std::nullopt, self.device());
}
// Refuses a number that `dtype` cannot hold, in torch's words.
void check_fits(const Scalar& value, DType dtype);
// "Half", ... as a C++ type, as torch's messages about numbers spell it.
const char* cpp_name(DType dtype);
// The same as its messages about tensors spell it: "long int", "c10::Half".
const char* meta_name(DType dtype);

}  // namespace undertow::fwd
