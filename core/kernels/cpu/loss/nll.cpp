// nll.cpp: negative log likelihood and its derivative; and the CPU's LossKernels.
#include "core/kernels/cpu/cpu_backend.h"
#include "core/kernels/cpu/loss/losses.h"

namespace undertow::core::cpu {

namespace {

int64_t checked_class(int64_t t, int64_t c) {
  UT_CHECK_INDEX(t >= 0 && t < c, "Target ", t, " is out of bounds.");
  return t;
}

template <class T>
void nll_of(const Tensor& each, const Tensor& total, const Tensor& in, const Tensor& target, const Tensor& weight,
            const ClassGeometry& g, int64_t ignore, bool sum_weights) {
  const T *p = in.data_as<T>(), *w = weight.defined() ? weight.data_as<T>() : nullptr;
  const int64_t* y = target.data_as<int64_t>();
  T* out = each.data_as<T>();
  double weights = 0;
  for (int64_t i = 0; i < g.n * g.space; i++) {
    if (y[i] == ignore) {
      out[i] = 0;
      continue;
    }
    int64_t c = checked_class(y[i], g.c);
    T scale = w ? w[c] : T(1);
    weights += static_cast<double>(scale);
    out[i] = -p[(i / g.space * g.c + c) * g.space + i % g.space] * scale;
  }
  if (sum_weights) *total.data_as<T>() = static_cast<T>(weights);
}
void nll(const Tensor& each, const Tensor& total, const Tensor& in, const Tensor& target, const Tensor& weight,
         const ClassGeometry& geometry, int64_t ignore, bool sum_weights) {
  auto* run = in.dtype() == DType::Float32 ? nll_of<float> : nll_of<double>;
  run(each, total, in, target, weight, geometry, ignore, sum_weights);
}

template <class T>
void nll_backward_of(const Tensor& out, const Tensor& grad, const Tensor& target, const Tensor& weight,
                     const Tensor& total, const ClassGeometry& g, int64_t ignore, int64_t reduction) {
  const T *gp = grad.data_as<T>(), *w = weight.defined() ? weight.data_as<T>() : nullptr;
  const int64_t* y = target.data_as<int64_t>();
  T shared = reduction == kMean ? gp[0] / *total.data_as<T>() : reduction == kSum ? gp[0] : T(0);
  for (int64_t i = 0; i < g.n * g.space; i++) {
    if (y[i] == ignore) continue;
    int64_t c = checked_class(y[i], g.c);
    out.data_as<T>()[(i / g.space * g.c + c) * g.space + i % g.space] =
        -(reduction == kNone ? gp[i] : shared) * (w ? w[c] : T(1));
  }
}
void nll_backward(const Tensor& out, const Tensor& grad, const Tensor& target, const Tensor& weight,
                  const Tensor& total, const ClassGeometry& geometry, int64_t ignore, int64_t reduction) {
  auto* run = out.dtype() == DType::Float32 ? nll_backward_of<float> : nll_backward_of<double>;
  run(out, grad, target, weight, total, geometry, ignore, reduction);
}

}  // namespace

constinit const LossKernels loss_kernels = {
    .values = loss_values,
    .total = loss_total,
    .gradients = loss_gradients,
    .nll = nll,
    .nll_backward = nll_backward,
    .check_labels = check_labels,
    .ctc = ctc,
    .ctc_backward = ctc_backward,
};

}  // namespace undertow::core::cpu
