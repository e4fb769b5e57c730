// batch.h: what forward functions on batches of matrices share: checks with torch's messages, and column-major memory.
#pragma once
#include "core/forward/copy/copy.h"
#include "core/kernels/backend.h"
#include "core/kernels/linalg.h"
#include "core/tensor/layout.h"

namespace undertow::core::fwd {

inline void check_matrix(const Tensor& t, const char* name, const char* argument = "A") {
  UT_CHECK(t.dim() >= 2, name, ": The input tensor ", argument, " must have at least 2 dimensions.");
}
inline void check_square(const Tensor& t, const char* name, const char* argument = "A") {
  check_matrix(t, name, argument);
  UT_CHECK(t.size(-1) == t.size(-2), name, ": ", argument, " must be batches of square matrices, but they are ",
           t.size(-2), " by ", t.size(-1), " matrices");
}
inline void check_inexact(const Tensor& t, const char* name) {
  if (is_storage(t.dtype())) throw_not_implemented(name, t.dtype());
  UT_CHECK(is_differentiable(t.dtype()), name, ": Expected a floating point or complex tensor as input. Got ",
           long_name(t.dtype()));
  UT_CHECK(!is_reduced_float(t.dtype()), name, ": Low precision dtypes not supported. Got ", long_name(t.dtype()));
}

inline IntSpan batch_of(const Tensor& t) { return t.sizes().first(static_cast<size_t>(t.dim() - 2)); }
inline Dims joined(IntSpan batch, std::initializer_list<int64_t> tail) {
  Dims sizes(batch);
  for (int64_t v : tail) sizes.push_back(v);
  return sizes;
}

// Column-major matrices, as in LAPACK.
inline Tensor empty_columns(const Tensor& beside, IntSpan sizes, DType dtype) {
  Dims strides = contiguous_strides(sizes);
  size_t n = sizes.size();
  strides[n - 2] = 1;
  strides[n - 1] = std::max<int64_t>(1, sizes[n - 2]);
  return empty_strided_on_device_of(beside, sizes, strides, dtype);
}
inline Tensor copy_columns(const Tensor& t) {
  Tensor out = empty_columns(t, t.sizes(), t.dtype());
  copy_into(out, t);
  return out;
}

// "(Batch element 3): " for a batch, empty for a single matrix.
inline std::string batch_text(const Tensor& info, const LinalgFailure& bad) {
  return info.dim() ? str("(Batch element ", bad.matrix, "): ") : std::string();
}
inline LinalgFailure first_failure(const Tensor& info) { return backend_of(info).linalg->first_failure(info); }

}  // namespace undertow::core::fwd
