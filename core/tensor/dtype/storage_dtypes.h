// storage_dtypes.h: the elements of the storage dtypes: numbers to and from memory, and runs of elements to and from a
// carrier, a dtype with kernels that holds their values. See Note [Storage DTypes].
// Knows neither tensors nor layouts.
#pragma once
#include "core/tensor/dtype/scalar.h"

namespace undertow::core {

// The dtype that elements of `from`, a storage dtype, are widened to on their way to dtype `to`: exact, except that
// uint64 is rounded once to the float that `to` is made of.
DType carrier_from(DType from, DType to);
// The dtype that elements of dtype `from`, which has kernels, are converted to before they are narrowed to `to`.
DType carrier_to(DType to, DType from);

// out[i] = in[i]: n elements of storage dtype `from`, `stride` bytes apart, to contiguous ones of its carrier.
void widen(DType carrier, void* out, DType from, const char* in, int64_t stride, int64_t n);
// The reverse, with torch's rounding, saturation and wrapping.
void narrow(DType to, char* out, int64_t stride, DType carrier, const void* in, int64_t n);

// One number as an element of any dtype, in memory.
void write_element(DType t, const Scalar& value, void* to);
Scalar read_element(DType t, const void* from);

}  // namespace undertow::core
