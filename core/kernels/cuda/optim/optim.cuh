// optim.cuh: one step of an optimizer for many parameters. Each algorithm is a struct with its constants and the update
// of one element; the formulas are those of kernels/cpu/optim/optim.isa.cpp, with their order of operations.
#pragma once
#include "device/packs.cuh"
#include "device/real_math.cuh"
#include "optim/optim_params.h"

namespace undertow {

// A float whose quotients and roots may be wrong in the last two bits, for half types: rounding the result to 8 or 11
// bits hides that. Exact ones take half of the kernel's instructions, and with them it is slower than memory.
struct Rough {
  float value;
  Rough() = default;
  UT_DEVICE Rough(float v) : value(v) {}
  UT_DEVICE operator float() const { return value; }
  UT_DEVICE Rough& operator+=(float v) { return *this = value + v; }
  UT_DEVICE Rough& operator-=(float v) { return *this = value - v; }
  UT_DEVICE Rough& operator*=(float v) { return *this = value * v; }
};
UT_DEVICE Rough rough_quotient(float a, float b) {
#ifdef UNDERTOW_EMULATED
  return a / b;
#else
  float q;
  asm("div.full.f32 %0, %1, %2;" : "=f"(q) : "f"(a), "f"(b));
  return q;
#endif
}
UT_DEVICE Rough operator/(Rough a, Rough b) { return rough_quotient(a, b); }
UT_DEVICE Rough operator/(Rough a, float b) { return rough_quotient(a, b); }
UT_DEVICE Rough operator/(float a, Rough b) { return rough_quotient(a, b); }
UT_DEVICE Rough real_sqrt(Rough x) {
#ifdef UNDERTOW_EMULATED
  return real_sqrt(x.value);
#else
  float root;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(x.value));
  return root;
#endif
}

// start + weight * (end - start), computed from the nearer end as in torch.
template <class T>
UT_DEVICE T lerp(T start, T end, T weight) {
  return weight < T(0.5) ? start + weight * (end - start) : end - (end - start) * (T(1) - weight);
}

// In each: c are the constants; used[k]: does the parameter have state k? apply updates p and the states s.

template <class T>
struct Sgd {
  T lr, decay, momentum, rest, sign;
  bool nesterov, first;
  UT_DEVICE explicit Sgd(const double* c)
      : lr(c[0]), decay(c[1]), momentum(c[2]), rest(c[3]), sign(c[5]), nesterov(c[4] != 0), first(c[6] != 0) {}
  UT_DEVICE void apply(T& p, T grad, T* s, const bool* used) const {
    const T g = sign * grad + decay * p;
    if (!used[0]) {
      p -= lr * g;
      return;
    }
    s[0] = first ? g : T(momentum * s[0] + rest * g);
    p -= lr * (nesterov ? T(g + momentum * s[0]) : s[0]);
  }
};

template <class T>
struct Adam {
  T step, weight, beta2, eps, decay, shrink, root, sign, rest2;
  UT_DEVICE explicit Adam(const double* c)
      : step(c[0]), weight(1 - c[1]), beta2(c[2]), eps(c[3]), decay(c[4]), shrink(c[5]), root(c[6]), sign(c[7]),
        rest2(c[8]) {}
  UT_DEVICE void apply(T& p, T grad, T* s, const bool* used) const {
    p *= shrink;
    const T g = sign * grad + decay * p;
    s[0] = lerp(s[0], g, weight);
    s[1] = s[1] * beta2 + rest2 * g * g;
    T top = s[1];
    if (used[2]) top = s[2] = s[2] < top || top != top ? top : s[2];
    p -= step * (s[0] / (real_sqrt(top) / root + eps));
  }
};

template <class T>
struct Adamax {
  T step, weight, beta2, eps, decay, sign;
  UT_DEVICE explicit Adamax(const double* c)
      : step(c[0]), weight(1 - c[1]), beta2(c[2]), eps(c[3]), decay(c[4]), sign(c[5]) {}
  UT_DEVICE void apply(T& p, T grad, T* s, const bool*) const {
    const T g = sign * grad + decay * p;
    s[0] = lerp(s[0], g, weight);
    const T size = real_fabs(g) + eps, old = s[1] * beta2;
    s[1] = old > size ? old : size;
    p -= step * (s[0] / s[1]);
  }
};

template <class T>
struct NAdam {
  T now, next, weight, beta2, eps, decay, shrink, correction, sign, rest2;
  UT_DEVICE explicit NAdam(const double* c)
      : now(c[0]), next(c[1]), weight(1 - c[2]), beta2(c[3]), eps(c[4]), decay(c[5]), shrink(c[6]), correction(c[7]),
        sign(c[8]), rest2(c[9]) {}
  UT_DEVICE void apply(T& p, T grad, T* s, const bool*) const {
    p *= shrink;
    const T g = sign * grad + decay * p;
    s[0] = lerp(s[0], g, weight);
    s[1] = s[1] * beta2 + rest2 * g * g;
    const T denom = real_sqrt(s[1] / correction) + eps;
    p -= now * (g / denom);
    p -= next * (s[0] / denom);
  }
};

template <class T>
struct RAdam {
  T step, weight, beta2, eps, decay, shrink, rectified, sign, rest2;
  bool plain;
  UT_DEVICE explicit RAdam(const double* c)
      : step(c[0]), weight(1 - c[1]), beta2(c[2]), eps(c[3]), decay(c[4]), shrink(c[5]), rectified(c[6]), sign(c[7]),
        rest2(c[8]), plain(c[6] == 0) {}
  UT_DEVICE void apply(T& p, T grad, T* s, const bool*) const {
    p *= shrink;
    const T g = sign * grad + decay * p;
    s[0] = lerp(s[0], g, weight);
    s[1] = s[1] * beta2 + rest2 * g * g;
    p -= step * s[0] * (plain ? T(1) : rectified / (real_sqrt(s[1]) + eps));
  }
};

template <class T>
struct RMSprop {
  T lr, alpha, rest, eps, decay, momentum, sign;
  UT_DEVICE explicit RMSprop(const double* c)
      : lr(c[0]), alpha(c[1]), rest(1 - c[1]), eps(c[2]), decay(c[3]), momentum(c[4]), sign(c[5]) {}
  UT_DEVICE void apply(T& p, T grad, T* s, const bool* used) const {
    const T g = sign * grad + decay * p;
    s[0] = s[0] * alpha + rest * g * g;
    T square = s[0];
    if (used[2]) {
      s[2] = lerp(s[2], g, rest);
      square -= s[2] * s[2];
    }
    T by = g / (real_sqrt(square) + eps);
    if (used[1]) by = s[1] = s[1] * momentum + by;
    p -= lr * by;
  }
};

template <class T>
struct Adagrad {
  T lr, eps, decay, sign;
  UT_DEVICE explicit Adagrad(const double* c) : lr(c[0]), eps(c[1]), decay(c[2]), sign(c[3]) {}
  UT_DEVICE void apply(T& p, T grad, T* s, const bool*) const {
    const T g = sign * grad + decay * p;
    s[0] += g * g;
    p -= lr * (g / (real_sqrt(s[0]) + eps));
  }
};

template <class T>
struct Adadelta {
  T lr, rho, rest, eps, decay, sign;
  UT_DEVICE explicit Adadelta(const double* c)
      : lr(c[0]), rho(c[1]), rest(1 - c[1]), eps(c[2]), decay(c[3]), sign(c[4]) {}
  UT_DEVICE void apply(T& p, T grad, T* s, const bool*) const {
    const T g = sign * grad + decay * p;
    s[0] = s[0] * rho + rest * g * g;
    const T by = real_sqrt(s[1] + eps) / real_sqrt(s[0] + eps) * g;
    s[1] = s[1] * rho + rest * by * by;
    p -= lr * by;
  }
};

template <class T>
struct Rprop {
  T minus, plus, least, most, sign;
  UT_DEVICE explicit Rprop(const double* c) : minus(c[0]), plus(c[1]), least(c[2]), most(c[3]), sign(c[4]) {}
  UT_DEVICE void apply(T& p, T grad, T* s, const bool*) const {
    T g = sign * grad;
    const T turn = g * s[0];
    T step = s[1] * (turn > 0 ? plus : turn < 0 ? minus : T(1));
    step = step < least ? least : step > most ? most : step;
    s[1] = step;
    g = turn < 0 ? T(0) : g;
    p -= (g > 0 ? T(1) : g < 0 ? T(-1) : T(0)) * step;
    s[0] = g;
  }
};

template <class T>
struct Asgd {
  T eta, shrink, decay, mu, sign;
  bool whole;
  UT_DEVICE explicit Asgd(const double* c)
      : eta(c[0]), shrink(1 - c[1] * c[0]), decay(c[2]), mu(c[3]), sign(c[4]), whole(c[3] == 1) {}
  UT_DEVICE void apply(T& p, T grad, T* s, const bool*) const {
    const T g = sign * grad + decay * p;
    p = p * shrink - eta * g;
    s[0] = whole ? p : T(s[0] + (p - s[0]) * mu);
  }
};

template <class T>
struct Ftrl {
  T lr, power, l1, l2, beta, shrinkage;
  bool root;
  UT_DEVICE explicit Ftrl(const double* c)
      : lr(c[0]), power(c[1]), l1(c[2]), l2(c[3]), beta(c[4]), shrinkage(c[5]), root(c[1] == 0.5) {}
  UT_DEVICE T raised(T x) const { return root ? real_sqrt(x) : T(real_pow(x, power)); }
  UT_DEVICE void apply(T& p, T g, T* s, const bool*) const {
    const T shrunk = g + T(2) * shrinkage * p, after = s[0] + g * g;
    const T sigma = (raised(after) - raised(s[0])) / lr;
    s[1] += shrunk - sigma * p;
    s[0] = after;
    const T l = s[1], quadratic = (raised(after) + beta) / lr + T(2) * l2;
    p = ((l > l1 ? l1 : l < -l1 ? T(-l1) : l) - l) / quadratic;
  }
};

template <class T>
struct RMSpropInRoot {
  T lr, rest, momentum, eps;
  UT_DEVICE explicit RMSpropInRoot(const double* c) : lr(c[0]), rest(1 - c[1]), momentum(c[2]), eps(c[3]) {}
  UT_DEVICE void apply(T& p, T g, T* s, const bool* used) const {
    s[0] += (g * g - s[0]) * rest;
    T under = s[0] + eps;
    if (used[2]) {
      s[2] += (g - s[2]) * rest;
      under -= s[2] * s[2];
    }
    s[1] = s[1] * momentum + lr * g / real_sqrt(under);
    p -= s[1];
  }
};

}  // namespace undertow

// A block has `packs` * blockDim.x packs of one parameter. states: how many of them may be used.
template <class T, template <class> class Algorithm, int states, int n_pack, int packs>
__global__ void __launch_bounds__(kOptimThreads) optim_steps(OptimBatch batch) {
  constexpr int most_states = OptimBatch::kLists - 2;
  const int block = blockIdx.x;
  int low = 0, high = batch.count;  // the last parameter that begins at or before this block
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (batch.first_block[middle] <= block)
      low = middle;
    else
      high = middle;
  }
  const int64_t n = batch.n[low];
  T* const p = static_cast<T*>(batch.at[low][0]);
  const T* const grad = static_cast<const T*>(batch.at[low][1]);
  T* state[most_states] = {};
  bool used[most_states] = {};
#pragma unroll
  for (int k = 0; k < states; k++) {
    state[k] = static_cast<T*>(batch.at[low][2 + k]);
    used[k] = state[k] != nullptr;
  }
  const int64_t first = static_cast<int64_t>(block - batch.first_block[low]) * packs * kOptimThreads * n_pack;
  auto begin_of = [&](int k) { return first + (k * kOptimThreads + static_cast<int>(threadIdx.x)) * n_pack; };
  // All loads before the first store, which the compiler must not move them across.
  Pack<T, n_pack> values[packs], grads[packs], kept[packs][most_states];
#pragma unroll
  for (int k = 0; k < packs; k++) {
    const int64_t i = begin_of(k);
    if (i + n_pack > n) continue;
    values[k] = load_pack<n_pack>(p + i);
    grads[k] = load_pack<n_pack>(grad + i);
#pragma unroll
    for (int j = 0; j < states; j++)
      if (used[j]) kept[k][j] = load_pack<n_pack>(state[j] + i);
  }
  using Math = Conditional<kIsHalf<T>, Rough, T>;
  const Algorithm<Math> algorithm(batch.constants_at ? batch.constants_at + low * OptimBatch::kConstants : batch.constants);
#pragma unroll
  for (int k = 0; k < packs; k++) {
    const int64_t i = begin_of(k);
    if (i + n_pack <= n) {
#pragma unroll
      for (int e = 0; e < n_pack; e++) {
        Math own[most_states], v = static_cast<Math>(values[k].at[e]);
#pragma unroll
        for (int j = 0; j < states; j++) own[j] = used[j] ? static_cast<Math>(kept[k][j].at[e]) : Math(0);
        algorithm.apply(v, static_cast<Math>(grads[k].at[e]), own, used);
        values[k].at[e] = static_cast<T>(v);
#pragma unroll
        for (int j = 0; j < states; j++) kept[k][j].at[e] = static_cast<T>(own[j]);
      }
      store_pack(p + i, values[k]);
#pragma unroll
      for (int j = 0; j < states; j++)
        if (used[j]) store_pack(state[j] + i, kept[k][j]);
    } else {
#pragma unroll 1
      for (int64_t e = i; e < n; e++) {
        Math own[most_states], value = static_cast<Math>(p[e]);
#pragma unroll
        for (int j = 0; j < states; j++) own[j] = used[j] ? static_cast<Math>(state[j][e]) : Math(0);
        algorithm.apply(value, static_cast<Math>(grad[e]), own, used);
        p[e] = static_cast<T>(value);
#pragma unroll
        for (int j = 0; j < states; j++)
          if (used[j]) state[j][e] = static_cast<T>(own[j]);
      }
    }
  }
}
