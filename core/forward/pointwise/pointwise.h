// pointwise.h: runs a table entry's scalar expression over tensors: promotion, broadcasting, allocation, the loop.
#pragma once
#include <limits>

#include "core/forward/forward_types.h"
#include "core/kernels/pointwise.h"
#include "core/tensor/tensor.h"

namespace undertow::core::fwd {

// A tensor, or a number that takes part in promotion like one.
struct Operand {
  const Tensor* tensor = nullptr;
  const Scalar* scalar = nullptr;
  Operand() = default;
  Operand(const Tensor& t) : tensor(&t) {}
  Operand(const Scalar& s) : scalar(&s) {}
};

Tensor pointwise_slow(const PointwiseOp& op, const Scalar* params, const Tensor* out,
                      std::span<const Operand> operands);

// Two tensors of different dtypes, shapes or layouts: first checks for a 0-dimensional one with a contiguous one.
Tensor pointwise2_mixed(const PointwiseOp& op, const Scalar* params, const Tensor& a, const Tensor& b);

// Contiguous CPU tensors with fewer elements than this are computed directly by their loop, on the calling thread.
inline constexpr int64_t kDirectLoop = 32 * 1024;

inline Tensor pointwise1(const PointwiseOp& op, const Scalar* params, const Tensor& a) {
  LoopFn loop = op.loop(a.dtype());
  if (UT_LIKELY(loop && a.is_contiguous() && a.is_cpu() && a.numel() < kDirectLoop)) {
    Tensor out = empty_same_shape(*a.impl(), op.result_dtype(a.dtype()));
    char* p[2] = {out.data(), a.data()};
    int64_t s[2] = {out.itemsize(), a.itemsize()};
    loop(p, s, a.numel(), params);
    return out;
  }
  Operand operands[] = {a};
  return pointwise_slow(op, params, nullptr, operands);
}
inline void pointwise1_out(const PointwiseOp& op, const Scalar* params, const Tensor& out, const Tensor& a) {
  Operand operands[] = {a};
  pointwise_slow(op, params, &out, operands);
}

inline bool same_small_layout(const Tensor& a, const Tensor& b) {
  const TensorImpl *x = a.impl(), *y = b.impl();
  if (x->kind() != y->kind() || !x->device.is_cpu() || !(x->flags & y->flags & kContiguous) || x->numel != y->numel ||
      x->numel >= kDirectLoop)
    return false;
  const int64_t *sx = x->sizes_ptr(), *sy = y->sizes_ptr();
  for (int i = 0; i < x->ndim; i++)
    if (sx[i] != sy[i]) return false;
  return true;
}
inline Tensor pointwise2(const PointwiseOp& op, const Scalar* params, const Tensor& a, const Tensor& b) {
  LoopFn loop = op.loop(a.dtype());
  if (UT_LIKELY(loop && same_small_layout(a, b))) {
    const TensorImpl &x = *a.impl(), &y = *b.impl();
    Tensor out = empty_same_shape(x, op.result_dtype(x.dtype));
    int64_t w = a.itemsize(), s[3] = {out.itemsize(), w, w};
    char* p[3] = {out.storage().data(), x.storage->data() + x.offset * w, y.storage->data() + y.offset * w};
    loop(p, s, x.numel, params);
    return out;
  }
  return pointwise2_mixed(op, params, a, b);
}
inline void pointwise2_out(const PointwiseOp& op, const Scalar* params, const Tensor& out, Operand a, Operand b) {
  Operand operands[] = {a, b};
  pointwise_slow(op, params, &out, operands);
}

// Numbers are converted once to the compute dtype and read with stride zero.
Tensor pointwise2(const PointwiseOp& op, const Scalar* params, const Tensor& a, const Scalar& b);
Tensor pointwise2(const PointwiseOp& op, const Scalar* params, const Scalar& a, const Tensor& b);

inline Tensor pointwise3(const PointwiseOp& op, const Scalar* params, Operand a, Operand b, Operand c) {
  Operand operands[] = {a, b, c};
  return pointwise_slow(op, params, nullptr, operands);
}
inline void pointwise3_out(const PointwiseOp& op, const Scalar* params, const Tensor& out, Operand a, Operand b,
                           Operand c) {
  Operand operands[] = {a, b, c};
  pointwise_slow(op, params, &out, operands);
}

inline Scalar as_scalar(const Scalar& s) { return s; }
inline Scalar as_scalar(const std::optional<Scalar>& s) { return s.value_or(Scalar(0)); }
// NaN represents None.
inline Scalar as_scalar(const std::optional<double>& d) {
  return Scalar(d.value_or(std::numeric_limits<double>::quiet_NaN()));
}
inline Scalar as_scalar(double d) { return Scalar(d); }
inline Scalar as_scalar(int64_t i) { return Scalar(i); }
inline Scalar as_scalar(bool b) { return Scalar(b); }
inline Scalar as_scalar(std::string_view) { return Scalar(0); }

// Resizes `out` to `sizes` if necessary (with torch's warning if it had other elements).
void resize_output(const Tensor& out, IntSpan sizes);

}  // namespace undertow::core::fwd
