// copy.h: kernels that copy or fill memory. They ignore conj and neg bits, which the caller handles.
#pragma once
#include "core/kernels/kernel.h"

namespace undertow::core {

struct CopyKernels {
  // dst[...] = src, of the same shape and device, in any layout and dtype; their memory must not overlap.
  Kernel<"copy_", void(const Tensor& dst, const Tensor& src), kAnyStorage> copy;
  // The same between this device and another one.
  Kernel<"copy_", void(const Tensor& dst, const Tensor& src), kAnyStorage> copy_across;
  // Replaces each element by its conjugate, its negative, or both.
  Kernel<"resolve_conj", void(const Tensor& t, bool conj, bool neg), kAnyStorage> conj_neg_in_place;
  // Fills dst with one value, which its dtype can hold; dst may be expanded.
  Kernel<"fill_", void(const Tensor& dst, const Scalar& value), kAnyStorage> fill;
  // Fills row-major memory with zeros.
  Kernel<"zero_", void(const Tensor& dst), kAnyStorage> zero;
  // dst (0-dimensional) = the only element of src, after `check`, which raises if dst's dtype cannot hold it.
  Kernel<"fill_", void(const Tensor& dst, const Tensor& src, void (*check)(const Scalar& value, DType dtype)),
         kAnyStorage>
      convert_checked;
  // The only element of a tensor.
  Kernel<"item", Scalar(const Tensor& t), kAnyStorage> item;
};

}  // namespace undertow::core
