// reduce.h: kernels that reduce many elements to one, select one of many, or add whole tensors.
#pragma once
#include "core/kernels/fold.h"
#include "core/kernels/kernel.h"

namespace undertow::core {

// The dtype in which elements of dtype `in` are reduced: half dtypes in float, sums and products of integers in int64;
// any and all give bool, count_nonzero int64. Raises an error with `name` if the operation does not support the dtype.
inline DType fold_dtype(Fold op, DType in, const char* name) {
  if (op == Fold::Any || op == Fold::All) return DType::Bool;
  if (op == Fold::CountNonzero) return DType::Int64;
  if (is_floating(in)) return is_reduced_float(in) ? DType::Float32 : in;
  bool added = op == Fold::Sum || op == Fold::NanSum || op == Fold::Prod, compared = op == Fold::Max || op == Fold::Min;
  bool exists = is_complex(in) ? op == Fold::Sum || op == Fold::Prod : added || compared;
  if (!exists) throw_not_implemented(name, in);
  return is_complex(in) || compared ? in : DType::Int64;
}

// The final operation on each reduced value.
enum class Finish : uint8_t {
  Divide,        // v / number; complex values too
  Sqrt,          // the square root
  Power,         // v to the power of number
  ZeroInfinite,  // 0 where v is infinite
  ScaleDownTo,   // number / (v + 1e-7) where v > number, else 1
};

struct ReduceKernels {
  // out = in reduced over the dimensions in mask. out is row-major, has the kept sizes (with or without the reduced
  // dimensions) and dtype fold_dtype, or where reductions are fused also a half type of `in`; in is not empty and has
  // any strides. The caller rejects storage dtypes, with the operator's name.
  Kernel<"sum", void(const Tensor& out, const Tensor& in, uint64_t mask, Fold op), kAnyStorage> fold;
  // In place, on a row-major tensor of float or double.
  Kernel<"sum", void(const Tensor& t, Finish op, double number)> finish;
  // out = |in|, both row-major; float, double or complex.
  Kernel<"abs", void(const Tensor& out, const Tensor& in)> magnitudes;
  // sum = log(sum) + most: the last step of logsumexp. Row-major, of the same shape; most is real.
  Kernel<"logsumexp", void(const Tensor& sum, const Tensor& most)> log_plus;
  // at = the first index along d where `in` equals `values` (row-major, d kept with size one). NaN equals NaN.
  Kernel<"argmax", void(const Tensor& at, const Tensor& in, const Tensor& values, int64_t d)> first_index;
  // Where reductions are fused: the values too, in one pass. Both are row-major and have size one in d; `in` is not
  // empty along d.
  Kernel<"argmax", void(const Tensor& values, const Tensor& at, const Tensor& in, int64_t d, bool max)> extremum;
  // One element of each 1-D slice along d, and its index. values and indices are row-major and have size one in d; in
  // has any strides, and d is not empty. Real dtypes.
  Kernel<"median", void(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, bool ignore_nan)>
      median;
  Kernel<"kthvalue", void(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, int64_t k)>
      kthvalue;  // k starts at 1
  Kernel<"mode", void(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d)> mode;
  // out = the sum of the terms, in order; all row-major, of the same shape, float or double.
  Kernel<"add", void(const Tensor& out, TensorSpan terms)> add_n;
  // Where reductions are fused: as fold, for a floating or complex dtype; the sum is divided by n and rounded once.
  Kernel<"mean", void(const Tensor& out, const Tensor& in, uint64_t mask, double n)> mean;
};

}  // namespace undertow::core
