// batch.h: what forward functions on batches of matrices share: checks in torch's words, column-major memory,
// and the walk over a batch.
#pragma once
#include "core/base/parallel.h"
#include "core/forward/copy/copy.h"
#include "core/kernels/cpu/linalg/factorizations.h"
#include "core/tensor/dispatch.h"
#include "core/tensor/layout.h"

namespace undertow::fwd {

inline void check_matrix(const Tensor& t, const char* name, const char* argument = "A") {
  UT_CHECK(t.dim() >= 2, name, ": The input tensor ", argument, " must have at least 2 dimensions.");
}
inline void check_square(const Tensor& t, const char* name, const char* argument = "A") {
  check_matrix(t, name, argument);
  UT_CHECK(t.size(-1) == t.size(-2), name, ": ", argument, " must be batches of square matrices, but they are ",
           t.size(-2), " by ", t.size(-1), " matrices");
}
inline void check_inexact(const Tensor& t, const char* name) {
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

// Matrices with their columns one after the other, as LAPACK leaves them.
inline Tensor empty_columns(IntSpan sizes, DType dtype) {
  Dims strides = contiguous_strides(sizes);
  size_t n = sizes.size();
  strides[n - 2] = 1;
  strides[n - 1] = std::max<int64_t>(1, sizes[n - 2]);
  return undertow::empty_strided(sizes, strides, dtype);
}
inline Tensor copy_columns(const Tensor& t) {
  Tensor out = empty_columns(t.sizes(), t.dtype());
  copy_into(out, t);
  return out;
}

// f(i) for every matrix of a batch; `cost` is about how many operations one takes, beside what it takes to begin.
template <class F>
void for_each_matrix(int64_t count, int64_t cost, F&& f) {
  constexpr int64_t kBegin = 256;
  parallel_for(0, count, std::max<int64_t>(1, 65536 / (cost + kBegin)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) f(i);
  });
}

// " (Batch element 3)" of a batch, nothing of a single matrix.
inline std::string batch_text(const Tensor& info, int64_t i) {
  return info.dim() ? str("(Batch element ", i, "): ") : std::string();
}
// The first matrix of a batch whose info is not zero, or -1.
inline int64_t first_failure(const Tensor& info) {
  const int32_t* p = info.data_as<int32_t>();
  for (int64_t i = 0; i < info.numel(); i++)
    if (p[i]) return i;
  return -1;
}

}  // namespace undertow::fwd
