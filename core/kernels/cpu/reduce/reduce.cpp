// reduce.cpp: the CPU's ReduceKernels: selects the reduction and search loops, and finishes reduced values.
#include "core/kernels/reduce.h"

#include <cmath>
#include <vector>

#include "core/base/parallel.h"
#include "core/kernels/cpu/copy/copy.h"
#include "core/kernels/cpu/cpu_backend.h"
#include "core/kernels/cpu/reduce/fold.h"
#include "core/kernels/cpu/reduce/reduce_index.h"
#include "core/kernels/cpu/reduce/reduce_kernels.h"
#include "core/kernels/cpu/reduce/select.h"
#include "core/tensor/dtype/dispatch.h"

namespace undertow::core::cpu {

FindFn find_fn(DType t) { return UNDERTOW_CHOOSE_ISA(find_for(t)); }

FoldFn fold_fn(Fold op, DType in) {
  if (op < Fold::Any && is_floating(in)) return UNDERTOW_CHOOSE_ISA(real_fold(op, in));
  return UNDERTOW_CHOOSE_ISA(int_fold(op, in));
}

namespace {

template <class T, class F>
void each(const Tensor& t, F&& f) {
  T* p = t.data_as<T>();
  parallel_for(0, t.numel(), kParallelGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) p[i] = f(p[i]);
  });
}

void finish(const Tensor& t, Finish op, double number) {
  dispatch_inexact(t.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto a = static_cast<RealOf<T>>(number);
    if (op == Finish::Divide) return each<T>(t, [a](T v) { return v / a; });
    if constexpr (!kIsComplex<T>) {
      if (op == Finish::Sqrt) each<T>(t, [](T v) { return std::sqrt(v); });
      if (op == Finish::Power) each<T>(t, [a](T v) { return std::pow(v, a); });
      if (op == Finish::ZeroInfinite) each<T>(t, [](T v) { return std::isinf(v) ? T(0) : v; });
      if (op == Finish::ScaleDownTo)
        each<T>(t, [number](T v) {
          return static_cast<T>(static_cast<double>(v) > number ? number / (static_cast<double>(v) + 1e-7) : 1.0);
        });
    }
  });
}

void magnitudes(const Tensor& out, const Tensor& in) {
  dispatch_inexact(in.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* p = in.data_as<T>();
    auto* o = out.data_as<RealOf<T>>();
    parallel_for(0, in.numel(), kParallelGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) o[i] = std::abs(p[i]);
    });
  });
}

void log_plus(const Tensor& sum, const Tensor& most) {
  dispatch_inexact(sum.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* s = sum.data_as<T>();
    auto* m = most.data_as<RealOf<T>>();
    for (int64_t i = 0; i < sum.numel(); i++) s[i] = std::log(s[i]) + m[i];
  });
}

void first_index(const Tensor& at, const Tensor& in, const Tensor& values, int64_t d) {
  Tensor plain = contiguous(in);
  int64_t outer = 1, n = plain.size(d), inner = 1;
  for (int64_t k = 0; k < d; k++) outer *= plain.size(k);
  for (int64_t k = d + 1; k < plain.dim(); k++) inner *= plain.size(k);
  auto find = find_fn(plain.dtype());
  int64_t slab = n * inner, grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, slab));
  parallel_for(0, outer, grain, [&](int64_t begin, int64_t end) {
    int64_t w = plain.itemsize();
    for (int64_t o = begin; o < end; o++)
      find(plain.data() + o * slab * w, values.data() + o * inner * w, n, inner, at.data_as<int64_t>() + o * inner);
  });
}

constexpr int64_t kSweep = 2048;  // elements of the sum that stay in the L1 cache while the terms are streamed

template <class T>
void sweep(T* out, std::span<const T* const> terms, int64_t begin, int64_t end) {
  for (int64_t at = begin; at < end; at += kSweep) {
    int64_t n = std::min(kSweep, end - at);
    std::copy_n(terms[0] + at, n, out + at);
    for (const T* term : terms.subspan(1))
      for (int64_t i = 0; i < n; i++) out[at + i] += term[at + i];
  }
}
template <class T>
void add_n_as(const Tensor& out, TensorSpan terms) {
  std::vector<const T*> from;
  for (const Tensor& t : terms) from.push_back(t.data_as<T>());
  parallel_for(0, out.numel(), 16 * 1024,
               [&](int64_t begin, int64_t end) { sweep<T>(out.data_as<T>(), from, begin, end); });
}
void add_n(const Tensor& out, TensorSpan terms) {
  return out.dtype() == DType::Float32 ? add_n_as<float>(out, terms) : add_n_as<double>(out, terms);
}

}  // namespace

constinit const ReduceKernels reduce_kernels = {
    .fold = fold,
    .finish = finish,
    .magnitudes = magnitudes,
    .log_plus = log_plus,
    .first_index = first_index,
    .median = median,
    .kthvalue = kthvalue,
    .mode = mode,
    .add_n = add_n,
};

}  // namespace undertow::core::cpu
