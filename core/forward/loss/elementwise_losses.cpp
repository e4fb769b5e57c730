// elementwise_losses.cpp: losses that look at one element and its target: forward functions of ops/loss.toml, and
// loss.h. Cuts tensors into runs, checks, adds up; what is computed is kernels/cpu/loss/loss.isa.cpp's.
#include "core/forward/copy/copy.h"
#include "core/forward/loss/loss.h"
#include "core/forward/reduce/plan.h"
#include "core/kernels/cpu/elementwise_walk.h"
#include "core/kernels/cpu/reduce/reduce_kernels.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "core/tensor/promotion.h"
#include "generated/fwd.h"

namespace undertow::fwd {

namespace {

using cpu::Loss;
using cpu::LossRun;

constexpr int64_t kRun = 1024;         // elements: three runs of them lie in L1
constexpr int64_t kChunk = 16 * kRun;  // what a thread takes

template <class T>
const cpu::LossKernels<T>& kernels() {
  using namespace cpu;
  if constexpr (std::is_same_v<T, float>)
    return UNDERTOW_CHOOSE_ISA(loss_float());
  else
    return UNDERTOW_CHOOSE_ISA(loss_double());
}

Tensor reduced(const Tensor& loss, int64_t reduction) {
  return reduction == kMean ? mean(loss, std::nullopt) : reduction == kSum ? sum(loss, std::nullopt) : loss;
}

// `n` elements `stride` bytes apart, side by side: themselves where they are, else copied to `room`.
template <class T>
const T* side_by_side(const char* p, int64_t stride, int64_t n, T* room) {
  if (stride == sizeof(T)) return reinterpret_cast<const T*>(p);
  for (int64_t i = 0; i < n; i++) room[i] = *reinterpret_cast<const T*>(p + i * stride);
  return room;
}

template <class F>
void as_real(DType wide, F&& f) {
  if (wide == DType::Float32)
    f(TypeTag<float>{});
  else
    f(TypeTag<double>{});
}

// What the kernels are given: operands in one type, float for the halves.
struct Operands {
  DType dtype, wide;
  Tensor x, y, weight;
};
Operands operands(const Tensor& self, const Tensor& target, const Tensor& weight, const char* name) {
  Operands o;
  o.dtype = result_type(self, target);
  if (weight.defined() && weight.dim() > 0) o.dtype = promote_types(o.dtype, weight.dtype());
  UT_CHECK(is_floating(o.dtype), "\"", name, "\" not implemented for '", long_name(o.dtype), "'");
  o.wide = is_reduced_float(o.dtype) ? DType::Float32 : o.dtype;
  o.x = to_dtype(self, o.wide);
  o.y = to_dtype(target, o.wide);
  if (weight.defined()) o.weight = to_dtype(weight, o.wide);
  return o;
}

// Calls f(LossRun, operand pointers, strides) for runs of at most kRun elements of a built iterator of `count`
// operands: output, x, y, weight or nothing, then what else the caller added.
template <class T, class F>
void for_each_run(const ElementwiseIter& iter, int count, const ElementwiseLoss& loss, bool weighted, F&& f) {
  cpu::walk(
      iter,
      [&](char* const* p, const int64_t* s, int64_t n) {
        T rooms[3][kRun];
        char* at[kMaxOperands];
        for (int64_t i = 0; i < n; i += kRun) {
          for (int k = 0; k < count; k++) at[k] = p[k] + i * s[k];
          int64_t length = std::min(kRun, n - i);
          const T *x = side_by_side<T>(at[1], s[1], length, rooms[0]),
                  *y = side_by_side<T>(at[2], s[2], length, rooms[1]);
          const T* w = weighted ? side_by_side<T>(at[3], s[3], length, rooms[2]) : nullptr;
          f(LossRun<T>{x, y, w, length, static_cast<T>(loss.limit)}, at, s);
        }
      },
      kChunk);
}

// Stores a run where the output's elements are; results[] is where the kernel wrote them.
template <class T>
void put(char* out, int64_t stride, const T* results, int64_t n) {
  if (reinterpret_cast<const char*>(results) == out) return;
  for (int64_t i = 0; i < n; i++) *reinterpret_cast<T*>(out + i * stride) = results[i];
}

// A run that leaves [0, 1] is looked through for the first element that does.
template <class T>
void check_unit(const LossRun<T>& run) {
  if (!kernels<T>().leaves_unit(run.x, run.n) && !kernels<T>().leaves_unit(run.y, run.n)) return;
  for (int64_t i = 0; i < run.n; i++) {
    UT_CHECK(run.x[i] >= T(0) && run.x[i] <= T(1), "all elements of input should be between 0 and 1, got ", run.x[i]);
    UT_CHECK(run.y[i] >= T(0) && run.y[i] <= T(1), "all elements of target should be between 0 and 1, got ", run.y[i]);
  }
}

template <class T>
void run_values(const ElementwiseLoss& loss, const LossRun<T>& run, T* out) {
  if (loss.loss == Loss::Bce) check_unit(run);
  kernels<T>().values(loss.loss, run, out);
}

Tensor each(const ElementwiseLoss& loss, const Operands& o) {
  ElementwiseIter iter;
  iter.add_output({}, o.wide);
  iter.add_input(o.x);
  iter.add_input(o.y);
  if (o.weight.defined()) iter.add_input(o.weight);
  iter.build();
  as_real(o.wide, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_run<T>(iter, 3 + o.weight.defined(), loss, o.weight.defined(),
                    [&](const LossRun<T>& run, char* const* p, const int64_t* s) {
                      T room[kRun];
                      T* out = s[0] == sizeof(T) ? reinterpret_cast<T*>(p[0]) : room;
                      run_values(loss, run, out);
                      put(p[0], s[0], out, run.n);
                    });
  });
  return iter.output();
}

// The sum over tensors without gaps, never written down whole: runs are added up accurately (Note [Accurate Sums]),
// their sums in double, chunks in order.
template <class T>
double total(const ElementwiseLoss& loss, const Operands& o) {
  int64_t n = o.x.numel();
  cpu::FoldFn fold = cpu::fold_fn(cpu::Fold::Sum, o.wide);
  const T *x = o.x.data_as<T>(), *y = o.y.data_as<T>();
  SmallVector<double, 8> sums(static_cast<size_t>((n + kChunk - 1) / kChunk));
  parallel_for(0, n, kChunk, [&](int64_t begin, int64_t end) {
    T room[kRun], one;
    double sum = 0;
    for (int64_t i = begin; i < end; i += kRun) {
      LossRun<T> run{x + i, y + i, nullptr, std::min(kRun, end - i), static_cast<T>(loss.limit)};
      run_values(loss, run, room);
      fold.fold(reinterpret_cast<const char*>(room), 1, 0, run.n, sizeof(T), reinterpret_cast<char*>(&one));
      sum += static_cast<double>(one);
    }
    sums[static_cast<size_t>(begin / kChunk)] = sum;
  });
  double sum = 0;
  for (double s : sums) sum += s;
  return sum;
}

Tensor value(const ElementwiseLoss& loss, const Tensor& self, const Tensor& target, const Tensor& pos_weight,
             int64_t reduction) {
  Operands o = operands(self, target, pos_weight, loss.name);
  bool flat = !o.weight.defined() && o.x.is_contiguous() && o.y.is_contiguous() && same(o.x.sizes(), o.y.sizes());
  if (reduction == kNone || !flat || o.x.numel() == 0) return to_dtype(reduced(each(loss, o), reduction), o.dtype);
  Tensor out = empty({}, o.wide);
  as_real(o.wide, [&](auto tag) {
    using T = typename decltype(tag)::type;
    double sum = total<T>(loss, o);
    *out.data_as<T>() = static_cast<T>(reduction == kMean ? sum / static_cast<double>(o.x.numel()) : sum);
  });
  return to_dtype(out, o.dtype);
}

}  // namespace

Tensor elementwise_loss_backward(const ElementwiseLoss& loss, const Tensor& grad, const Tensor& self,
                                 const Tensor& target, const Tensor& pos_weight, int64_t reduction) {
  Operands o = operands(self, target, pos_weight, loss.name);
  bool weighted = o.weight.defined();
  Tensor g = to_dtype(grad, o.wide);
  ElementwiseIter iter;
  iter.add_output({}, o.wide);
  iter.add_input(o.x);
  iter.add_input(o.y);
  if (weighted) iter.add_input(o.weight);
  if (reduction == kNone) iter.add_input(g);
  iter.build();
  as_real(o.wide, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T shared = reduction == kNone ? T(0) : *g.data_as<T>();
    if (reduction == kMean) shared /= static_cast<T>(self.numel());
    for_each_run<T>(iter, 3 + weighted + (reduction == kNone), loss, weighted,
                    [&](const LossRun<T>& run, char* const* p, const int64_t* s) {
                      T rooms[2][kRun];
                      T* out = s[0] == sizeof(T) ? reinterpret_cast<T*>(p[0]) : rooms[0];
                      int last = 3 + weighted;
                      const T* grads =
                          reduction == kNone ? side_by_side<T>(p[last], s[last], run.n, rooms[1]) : &shared;
                      kernels<T>().slopes(loss.loss, run, grads, reduction == kNone, out);
                      put(p[0], s[0], out, run.n);
                    });
  });
  return to_dtype(iter.output(), o.dtype);
}

Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  DType t = result_type(self, target);
  UT_CHECK_AS(NotImplemented, is_floating(t) || t == DType::Bool, "\"mse_cpu\" not implemented for '", long_name(t),
              "'");
  if (t == DType::Bool) sub(self, target, Scalar(1));  // which refuses
  return value({Loss::Squared, "mse_cpu"}, self, target, {}, reduction);
}

Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, double beta) {
  UT_CHECK(beta >= 0, "smooth_l1_loss does not support negative values for beta.");
  return value({Loss::SmoothL1, "smooth_l1_cpu", beta}, self, target, {}, reduction);
}
Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
  UT_CHECK(delta > 0, "huber_loss does not support non-positive values for delta.");
  return value({Loss::Huber, "huber_cpu", delta}, self, target, {}, reduction);
}
Tensor soft_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return value({Loss::SoftMargin, "soft_margin_cpu"}, self, target, {}, reduction);
}

Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction) {
  UT_CHECK(self.dtype() == target.dtype(), "Found dtype ", long_name(target.dtype()), " but expected ",
           long_name(self.dtype()));
  ElementwiseLoss loss{Loss::Bce, "binary_cross_entropy"};
  if (!weight.defined()) return value(loss, self, target, {}, reduction);
  return reduced(mul(value(loss, self, target, {}, kNone), weight), reduction);
}

Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target, const Tensor& weight,
                                        const Tensor& pos_weight, int64_t reduction) {
  DType wide = result_type(self, target);
  UT_CHECK(is_integral(wide) || !is_integral(target.dtype()), "result type ", long_name(wide),
           " can't be cast to the desired output type ", long_name(target.dtype()));
  ElementwiseLoss loss{pos_weight.defined() ? Loss::BceLogitsWeighted : Loss::BceLogits,
                       "binary_cross_entropy_with_logits"};
  if (!weight.defined()) return value(loss, self, target, pos_weight, reduction);
  return reduced(mul(value(loss, self, target, pos_weight, kNone), weight), reduction);
}

}  // namespace undertow::fwd
