// optim.isa.cpp: the loops of optim_kernels.h. See Note [One Namespace Per Instruction Set] in simd.h.
// Each formula applies its operations in torch's order, so that trajectories agree up to round-off; ftrl and
// rmsprop_in_root follow TensorFlow.
#include "core/kernels/cpu/optim/optim_kernels.h"

#include <cmath>

namespace undertow::core::cpu {
namespace {

template <class T>
struct Arrays {
  T* p;
  const T* g;
  T* s[kMaxOptimTensors - 2];
  explicit Arrays(void* const* from) : p(static_cast<T*>(from[0])), g(static_cast<const T*>(from[1])) {
    for (int i = 0; i < kMaxOptimTensors - 2; i++) s[i] = static_cast<T*>(from[i + 2]);
  }
};

// start + weight * (end - start), computed from the nearer end as in torch.
template <class T>
inline T lerp(T start, T end, T weight) {
  return weight < T(0.5) ? start + weight * (end - start) : end - (end - start) * (T(1) - weight);
}

// States: momentum buffer. c: lr, weight_decay, momentum, 1 - dampening, nesterov, sign of the gradient, first step.
template <class T>
void sgd(void* const* from, int64_t n, const double* c) {
  Arrays<T> a(from);
  T* buffer = a.s[0];
  const T lr = T(c[0]), decay = T(c[1]), momentum = T(c[2]), rest = T(c[3]), sign = T(c[5]);
  const bool nesterov = c[4] != 0, first = c[6] != 0;
  if (!buffer) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) a.p[i] -= lr * (sign * a.g[i] + decay * a.p[i]);
    return;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) {
    T g = sign * a.g[i] + decay * a.p[i];
    T b = first ? g : momentum * buffer[i] + rest * g;
    buffer[i] = b;
    a.p[i] -= lr * (nesterov ? g + momentum * b : b);
  }
}

// States: exp_avg, exp_avg_sq, max_exp_avg_sq. c: step_size, beta1, beta2, eps, weight_decay, decoupled factor (1:
// none), sqrt(bias_correction2), sign, 1 - beta2.
template <class T>
void adam(void* const* from, int64_t n, const double* c) {
  Arrays<T> a(from);
  T *m = a.s[0], *v = a.s[1], *most = a.s[2];
  const T step = T(c[0]), weight = T(1 - c[1]), beta2 = T(c[2]), eps = T(c[3]), decay = T(c[4]), shrink = T(c[5]),
          root = T(c[6]), sign = T(c[7]), rest2 = T(c[8]);
  if (most) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) {
      T p = a.p[i] * shrink, g = sign * a.g[i] + decay * p;
      T mi = m[i] = lerp(m[i], g, weight);
      T vi = v[i] = v[i] * beta2 + rest2 * g * g;
      T top = most[i] = most[i] < vi || vi != vi ? vi : most[i];
      a.p[i] = p - step * (mi / (std::sqrt(top) / root + eps));
    }
    return;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) {
    T p = a.p[i] * shrink, g = sign * a.g[i] + decay * p;
    T mi = m[i] = lerp(m[i], g, weight);
    T vi = v[i] = v[i] * beta2 + rest2 * g * g;
    a.p[i] = p - step * (mi / (std::sqrt(vi) / root + eps));
  }
}

// States: exp_avg, exp_inf. c: step_size, beta1, beta2, eps, weight_decay, sign.
template <class T>
void adamax(void* const* from, int64_t n, const double* c) {
  Arrays<T> a(from);
  T *m = a.s[0], *u = a.s[1];
  const T step = T(c[0]), weight = T(1 - c[1]), beta2 = T(c[2]), eps = T(c[3]), decay = T(c[4]), sign = T(c[5]);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) {
    T g = sign * a.g[i] + decay * a.p[i];
    T mi = m[i] = lerp(m[i], g, weight);
    T size = std::fabs(g) + eps, old = u[i] * beta2;
    T ui = u[i] = old > size ? old : size;
    a.p[i] -= step * (mi / ui);
  }
}

// States: exp_avg, exp_avg_sq. c: lr*(1-mu)/(1-mu_product), lr*mu_next/(1-mu_product*mu_next), beta1, beta2, eps,
// weight_decay, decoupled factor, bias_correction2, sign, 1 - beta2.
template <class T>
void nadam(void* const* from, int64_t n, const double* c) {
  Arrays<T> a(from);
  T *m = a.s[0], *v = a.s[1];
  const T now = T(c[0]), next = T(c[1]), weight = T(1 - c[2]), beta2 = T(c[3]), eps = T(c[4]), decay = T(c[5]),
          shrink = T(c[6]), correction = T(c[7]), sign = T(c[8]), rest2 = T(c[9]);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) {
    T p = a.p[i] * shrink, g = sign * a.g[i] + decay * p;
    T mi = m[i] = lerp(m[i], g, weight);
    T vi = v[i] = v[i] * beta2 + rest2 * g * g;
    T denom = std::sqrt(vi / correction) + eps;
    p -= now * (g / denom);
    a.p[i] = p - next * (mi / denom);
  }
}

// States: exp_avg, exp_avg_sq. c: lr / bias_correction1, beta1, beta2, eps, weight_decay, decoupled factor,
// rect * sqrt(bias_correction2) (0: not rectified), sign, 1 - beta2.
template <class T>
void radam(void* const* from, int64_t n, const double* c) {
  Arrays<T> a(from);
  T *m = a.s[0], *v = a.s[1];
  const T step = T(c[0]), weight = T(1 - c[1]), beta2 = T(c[2]), eps = T(c[3]), decay = T(c[4]), shrink = T(c[5]),
          rectified = T(c[6]), sign = T(c[7]), rest2 = T(c[8]);
  const bool plain = c[6] == 0;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) {
    T p = a.p[i] * shrink, g = sign * a.g[i] + decay * p;
    T mi = m[i] = lerp(m[i], g, weight);
    T vi = v[i] = v[i] * beta2 + rest2 * g * g;
    T factor = plain ? T(1) : rectified / (std::sqrt(vi) + eps);
    a.p[i] = p - step * mi * factor;
  }
}

// States: square_avg, momentum buffer, grad_avg. c: lr, alpha, eps, weight_decay, momentum, sign.
template <class T>
void rmsprop(void* const* from, int64_t n, const double* c) {
  Arrays<T> a(from);
  T *v = a.s[0], *buffer = a.s[1], *mean = a.s[2];
  const T lr = T(c[0]), alpha = T(c[1]), rest = T(1 - c[1]), eps = T(c[2]), decay = T(c[3]), momentum = T(c[4]),
          sign = T(c[5]);
  auto each = [&](int64_t i, bool centred, bool with_momentum) {
    T g = sign * a.g[i] + decay * a.p[i];
    T vi = v[i] = v[i] * alpha + rest * g * g;
    T root;
    if (centred) {
      T mi = mean[i] = lerp(mean[i], g, rest);
      root = std::sqrt(vi - mi * mi);
    } else {
      root = std::sqrt(vi);
    }
    T by = g / (root + eps);
    if (with_momentum) by = buffer[i] = buffer[i] * momentum + by;
    a.p[i] -= lr * by;
  };
  if (!mean && !buffer) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) each(i, false, false);
  } else {
    for (int64_t i = 0; i < n; i++) each(i, mean != nullptr, buffer != nullptr);
  }
}

// States: sum. c: lr / (1 + (step-1)*lr_decay), eps, weight_decay, sign.
template <class T>
void adagrad(void* const* from, int64_t n, const double* c) {
  Arrays<T> a(from);
  T* sum = a.s[0];
  const T lr = T(c[0]), eps = T(c[1]), decay = T(c[2]), sign = T(c[3]);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) {
    T g = sign * a.g[i] + decay * a.p[i];
    T si = sum[i] = sum[i] + g * g;
    a.p[i] -= lr * (g / (std::sqrt(si) + eps));
  }
}

// States: square_avg, acc_delta. c: lr, rho, eps, weight_decay, sign.
template <class T>
void adadelta(void* const* from, int64_t n, const double* c) {
  Arrays<T> a(from);
  T *v = a.s[0], *delta = a.s[1];
  const T lr = T(c[0]), rho = T(c[1]), rest = T(1 - c[1]), eps = T(c[2]), decay = T(c[3]), sign = T(c[4]);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) {
    T g = sign * a.g[i] + decay * a.p[i];
    T vi = v[i] = v[i] * rho + rest * g * g;
    T by = std::sqrt(delta[i] + eps) / std::sqrt(vi + eps) * g;
    delta[i] = delta[i] * rho + rest * by * by;
    a.p[i] -= lr * by;
  }
}

// States: previous gradient, step size of each element. c: etaminus, etaplus, smallest step, largest step, sign.
template <class T>
void rprop(void* const* from, int64_t n, const double* c) {
  Arrays<T> a(from);
  T *previous = a.s[0], *size = a.s[1];
  const T minus = T(c[0]), plus = T(c[1]), least = T(c[2]), most = T(c[3]), sign = T(c[4]);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) {
    T g = sign * a.g[i], turn = g * previous[i];
    T factor = turn > 0 ? plus : turn < 0 ? minus : T(1);
    T step = size[i] * factor;
    step = step < least ? least : step > most ? most : step;
    size[i] = step;
    g = turn < 0 ? T(0) : g;
    T direction = g > 0 ? T(1) : g < 0 ? T(-1) : T(0);
    a.p[i] -= direction * step;
    previous[i] = g;
  }
}

// States: ax. c: eta, lambd, weight_decay, mu, sign.
template <class T>
void asgd(void* const* from, int64_t n, const double* c) {
  Arrays<T> a(from);
  T* mean = a.s[0];
  const T eta = T(c[0]), shrink = T(1 - c[1] * c[0]), decay = T(c[2]), mu = T(c[3]), sign = T(c[4]);
  const bool whole = c[3] == 1;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) {
    T g = sign * a.g[i] + decay * a.p[i];
    T p = a.p[i] * shrink - eta * g;
    a.p[i] = p;
    mean[i] = whole ? p : mean[i] + (p - mean[i]) * mu;
  }
}

// States: accumulator, linear. c: lr, -lr_power, l1, l2, beta, l2_shrinkage.
template <class T>
void ftrl(void* const* from, int64_t n, const double* c) {
  Arrays<T> a(from);
  T *sum = a.s[0], *linear = a.s[1];
  const T lr = T(c[0]), power = T(c[1]), l1 = T(c[2]), l2 = T(c[3]), beta = T(c[4]), shrinkage = T(c[5]);
  const bool root = c[1] == 0.5;
  auto raised = [&](T x) { return root ? std::sqrt(x) : std::pow(x, power); };
  for (int64_t i = 0; i < n; i++) {
    T g = a.g[i], shrunk = g + T(2) * shrinkage * a.p[i];
    T after = sum[i] + g * g;
    T sigma = (raised(after) - raised(sum[i])) / lr;
    T l = linear[i] += shrunk - sigma * a.p[i];
    sum[i] = after;
    T quadratic = (raised(after) + beta) / lr + T(2) * l2;
    T bounded = l > l1 ? l1 : l < -l1 ? -l1 : l;
    a.p[i] = (bounded - l) / quadratic;
  }
}

// TensorFlow's version: epsilon is inside the square root, and the momentum buffer holds steps, including the learning
// rate. States: mean square, momentum buffer, mean. c: lr, decay, momentum, eps.
template <class T>
void rmsprop_in_root(void* const* from, int64_t n, const double* c) {
  Arrays<T> a(from);
  T *v = a.s[0], *buffer = a.s[1], *mean = a.s[2];
  const T lr = T(c[0]), rest = T(1 - c[1]), momentum = T(c[2]), eps = T(c[3]);
  for (int64_t i = 0; i < n; i++) {
    T g = a.g[i];
    T vi = v[i] = v[i] + (g * g - v[i]) * rest;
    T under = vi + eps;
    if (mean) {
      T mi = mean[i] = mean[i] + (g - mean[i]) * rest;
      under -= mi * mi;
    }
    T by = buffer[i] = buffer[i] * momentum + lr * g / std::sqrt(under);
    a.p[i] -= by;
  }
}

template <class T>
OptimFn of_type(OptimAlgorithm which) {
  switch (which) {
    case OptimAlgorithm::Sgd:
      return sgd<T>;
    case OptimAlgorithm::Adam:
      return adam<T>;
    case OptimAlgorithm::Adamax:
      return adamax<T>;
    case OptimAlgorithm::NAdam:
      return nadam<T>;
    case OptimAlgorithm::RAdam:
      return radam<T>;
    case OptimAlgorithm::RMSprop:
      return rmsprop<T>;
    case OptimAlgorithm::Adagrad:
      return adagrad<T>;
    case OptimAlgorithm::Adadelta:
      return adadelta<T>;
    case OptimAlgorithm::Rprop:
      return rprop<T>;
    case OptimAlgorithm::Asgd:
      return asgd<T>;
    case OptimAlgorithm::Ftrl:
      return ftrl<T>;
    case OptimAlgorithm::RMSpropInRoot:
      return rmsprop_in_root<T>;
    case OptimAlgorithm::Count:
      break;
  }
  return nullptr;
}

}  // namespace

namespace UNDERTOW_ISA_NS {
OptimFn optim_step(OptimAlgorithm which, bool is_double) {
  return is_double ? of_type<double>(which) : of_type<float>(which);
}
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
