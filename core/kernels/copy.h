// copy.h: kernels that move or fill memory. Tensors' conj and neg bits are the caller's: kernels see memory only.
#pragma once
#include "core/kernels/kernel.h"

namespace undertow {

struct CopyKernels {
  // dst[...] = src, of one shape and device, in any layouts and dtypes; their memory does not overlap.
  Kernel<"copy_", void(const Tensor& dst, const Tensor& src)> copy;
  // The same between this device and another.
  Kernel<"copy_", void(const Tensor& dst, const Tensor& src)> copy_across;
  // The elements become their conjugates, negatives, or both.
  Kernel<"resolve_conj", void(const Tensor& t, bool conj, bool neg)> conj_neg_in_place;
  // One value, which dst's dtype can hold; dst may be expanded.
  Kernel<"fill_", void(const Tensor& dst, const Scalar& value)> fill;
  // Zeros, into row-major memory.
  Kernel<"zero_", void(const Tensor& dst)> zero;
  // dst, of no dimensions, = the one element of src, after a check that raises where dst's dtype cannot hold it.
  Kernel<"fill_", void(const Tensor& dst, const Tensor& src, void (*check)(const Scalar& value, DType dtype))>
      convert_checked;
  // The one element of a tensor.
  Kernel<"item", Scalar(const Tensor& t)> item;
};

}  // namespace undertow
