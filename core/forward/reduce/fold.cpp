// fold.cpp: see fold.h.
#include "core/forward/reduce/fold.h"

#include <limits>

#include "core/forward/copy/copy.h"
#include "core/kernels/backend.h"

namespace undertow::core::fwd {

namespace {
Scalar neutral(Fold op) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  switch (op) {
    case Fold::Prod:
      return Scalar(1);
    case Fold::All:
      return Scalar(true);
    case Fold::Max:
      return Scalar(-inf);
    case Fold::Min:
    case Fold::MinAbs:
      return Scalar(inf);
    default:
      return Scalar(0);
  }
}

// The result in dtype t, which the kernel rounds to.
Tensor fold_in(Fold op, const Tensor& in, uint64_t mask, bool keepdim, const char* name, DType t) {
  Tensor out = empty_on_device_of(in, reduced_sizes(in.sizes(), mask, keepdim), t);
  if (out.numel() == 0) return out;
  if (in.numel() != 0 && is_storage(in.dtype())) throw_not_implemented(name, in.dtype());
  if (in.numel() == 0)
    fill_into(out, neutral(op));
  else
    backend_of(in).reduce->fold(out, in, mask, op);
  return out;
}

}  // namespace

Dims reduced_sizes(IntSpan sizes, uint64_t mask, bool keepdim) {
  Dims out;
  for (size_t d = 0; d < sizes.size(); d++) {
    if (!(mask >> d & 1))
      out.push_back(sizes[d]);
    else if (keepdim)
      out.push_back(1);
  }
  return out;
}

int64_t reduced_count(IntSpan sizes, uint64_t mask) {
  int64_t n = 1;
  for (size_t d = 0; d < sizes.size(); d++)
    if (mask >> d & 1) n *= sizes[d];
  return n;
}

Tensor fold(Fold op, const Tensor& in, uint64_t mask, bool keepdim, const char* name) {
  const bool narrow = op < Fold::Any && is_reduced_float(in.dtype());
  if (narrow && backend_of(in).fuses_reductions) return fold_in(op, in, mask, keepdim, name, in.dtype());
  Tensor wide = fold_wide(op, in, mask, keepdim, name);
  return narrow ? to_dtype(wide, in.dtype()) : wide;
}

Tensor fold_wide(Fold op, const Tensor& in, uint64_t mask, bool keepdim, const char* name) {
  return fold_in(op, in, mask, keepdim, name, fold_dtype(op, in.dtype(), name));
}

}  // namespace undertow::core::fwd
