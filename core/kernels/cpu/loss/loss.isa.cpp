// loss.isa.cpp: see loss_kernels.h and Note [One Namespace Per Instruction Set] in simd.h.
#include "core/kernels/cpu/loss/loss_kernels.h"

#include "core/kernels/cpu/math/vec_math.h"

namespace undertow::core::cpu {
namespace {

// f(x, y, weight, limit) for every element. Runs have about a thousand elements, so that out is in L1 when it is read
// again.
template <class T, class F>
inline void each(const LossRun<T>& r, T* out, F&& f) {
#pragma GCC ivdep
  for (int64_t i = 0; i < r.n; i++) out[i] = f(r.x[i], r.y[i]);
}
template <class T, class F>
inline void each_weighted(const LossRun<T>& r, T* out, F&& f) {
#pragma GCC ivdep
  for (int64_t i = 0; i < r.n; i++) out[i] = f(r.x[i], r.y[i], r.weight[i]);
}

template <class T>
void values(LossKind loss, const LossRun<T>& r, T* out) {
  const T limit = r.limit;
  switch (loss) {
    case LossKind::Squared:
      return each(r, out, [](T x, T y) { return (x - y) * (x - y); });
    case LossKind::SmoothL1:
      return each(r, out, [limit](T x, T y) {
        T z = vm::abs(x - y);
        return z < limit ? T(0.5) * z * z / limit : z - T(0.5) * limit;
      });
    case LossKind::Huber:
      return each(r, out, [limit](T x, T y) {
        T z = vm::abs(x - y);
        return z <= limit ? T(0.5) * z * z : limit * (z - T(0.5) * limit);
      });
    case LossKind::SoftMargin:
      return each(r, out, [](T x, T y) { return vm::softplus(-y * x); });
    // Logarithms are clamped at -100, as in torch.
    case LossKind::Bce:
      return each(r, out, [](T x, T y) {
        return (y - T(1)) * vm::at_least(vm::log1p(-x), T(-100)) - y * vm::at_least(vm::log(x), T(-100));
      });
    // (1 - y) x + w log(1 + exp(-x)), with w = 1 + (weight - 1) y.
    case LossKind::BceLogits:
      return each(r, out, [](T x, T y) { return (T(1) - y) * x + vm::softplus(-x); });
    case LossKind::BceLogitsWeighted:
      return each_weighted(r, out,
                           [](T x, T y, T w) { return (T(1) - y) * x + ((w - T(1)) * y + T(1)) * vm::softplus(-x); });
  }
}

template <class T>
void gradients(LossKind loss, const LossRun<T>& r, const T* grad, bool grad_each, T* out) {
  const T limit = r.limit;
  switch (loss) {
    case LossKind::Squared:
      each(r, out, [](T x, T y) { return T(2) * (x - y); });
      break;
    case LossKind::SmoothL1:
      each(r, out, [limit](T x, T y) {
        T z = x - y, inside = z / limit, low = z <= -limit ? T(-1) : inside;
        return z >= limit ? T(1) : low;
      });
      break;
    case LossKind::Huber:
      each(r, out, [limit](T x, T y) {
        T z = x - y, low = z <= -limit ? -limit : z;
        return z >= limit ? limit : low;
      });
      break;
    case LossKind::SoftMargin:
      each(r, out, [](T x, T y) { return -y * vm::sigmoid(-y * x); });
      break;
    // The denominator is kept away from zero.
    case LossKind::Bce:
      each(r, out, [](T x, T y) { return (x - y) / vm::at_least((T(1) - x) * x, T(1e-12)); });
      break;
    case LossKind::BceLogits:
      each(r, out, [](T x, T y) { return vm::sigmoid(x) - y; });
      break;
    case LossKind::BceLogitsWeighted:
      each_weighted(r, out, [](T x, T y, T w) { return ((w - T(1)) * y + T(1)) * vm::sigmoid(x) - w * y; });
      break;
  }
  if (grad_each) {
#pragma GCC ivdep
    for (int64_t i = 0; i < r.n; i++) out[i] *= grad[i];
  } else {
    T g = grad[0];
    for (int64_t i = 0; i < r.n; i++) out[i] *= g;
  }
}

template <class T>
bool outside_unit_interval(const T* p, int64_t n) {
  int outside = 0;
  for (int64_t i = 0; i < n; i++) outside |= !((p[i] >= T(0)) & (p[i] <= T(1)));
  return outside != 0;
}

constexpr LossLoops<float> kFloat = {values<float>, gradients<float>, outside_unit_interval<float>};
#if !defined(__AVX512F__)
constexpr LossLoops<double> kDouble = {values<double>, gradients<double>, outside_unit_interval<double>};
#endif

}  // namespace

namespace UNDERTOW_ISA_NS {
const LossLoops<float>& loss_float() { return kFloat; }
#if defined(__AVX512F__)
// Rarely used, and as fast: saves a third of the code.
const LossLoops<double>& loss_double() { return isa_avx2::loss_double(); }
#else
const LossLoops<double>& loss_double() { return kDouble; }
#endif
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
