// observers.h: what generated recorders report to observers: inference mode, provenance, the profiler.
// All of it is behind one test of the thread's mode word, and is cold.
#pragma once
#include "core/autograd/op_types.h"
#include "core/base/small_vector.h"
#include "core/graph/diagnostics/profile.h"
#include "core/graph/diagnostics/provenance.h"

namespace undertow::core::ops {

// The inputs and results of an operation; `differentiable` has one bit per tensor argument.
class ObservedOp {
 public:
  explicit ObservedOp(uint32_t differentiable) : differentiable_(differentiable) {}
  void input(const Tensor& t) {
    if (t.defined()) inputs_.push_back({t.impl(), (differentiable_ & 1) != 0});
    differentiable_ >>= 1;
  }
  void input(TensorSpan list) {
    for (const Tensor& t : list)
      if (t.defined()) inputs_.push_back({t.impl(), (differentiable_ & 1) != 0});
    differentiable_ >>= 1;
  }
  void result(const Tensor& t) {
    if (t.defined()) results_.push_back(t.impl());
  }
  void result(const std::vector<Tensor>& list) {
    for (const Tensor& t : list) result(t);
  }
  template <class... T>
  void result(const std::tuple<T...>& t) {
    std::apply([this](const auto&... x) { (this->result(x), ...); }, t);
  }
  void result(int64_t) {}
  void result(double) {}
  void result(bool) {}

  void report_result(const char* operation);
  void report_write(const char* operation);

 private:
  bool recorded() const;
  uint32_t differentiable_;
  std::vector<provenance::Input> inputs_;
  std::vector<TensorImpl*> results_;
};

void mark_inference(const Tensor& t);
void mark_inference(const std::vector<Tensor>& list);
template <class... T>
void mark_inference(const std::tuple<T...>& t) {
  std::apply([](const auto&... x) { (mark_inference(x), ...); }, t);
}
inline void mark_inference(int64_t) {}
inline void mark_inference(bool) {}

// Inside a custom Function's forward nothing is recorded. Results that depend on a tensor that requires grad are
// marked, so that a second derivative can tell a saved constant from a saved intermediate.
inline bool depends(const Tensor& t) {
  if (!t.defined()) return false;
  const TensorImpl& impl = *t.impl();
  return impl.has(kRequiresGrad | kDependent) || (impl.has(kIsView) && impl.base->has(kRequiresGrad | kDependent));
}
inline bool depends(TensorSpan list) {
  for (const Tensor& t : list)
    if (depends(t)) return true;
  return false;
}
inline void mark_dependent(const Tensor& t) {
  if (t.defined() && is_differentiable(t.dtype())) t.impl()->set(kDependent);
}
inline void mark_dependent(const std::vector<Tensor>& list) {
  for (const Tensor& t : list) mark_dependent(t);
}
template <class... T>
void mark_dependent(const std::tuple<T...>& t) {
  std::apply([](const auto&... x) { (mark_dependent(x), ...); }, t);
}
inline void mark_dependent(int64_t) {}
inline void mark_dependent(double) {}
inline void mark_dependent(bool) {}
// A bit in the set of differentiable arguments: the derivative is zero everywhere, so results are not marked dependent.
inline constexpr uint32_t kZeroDerivative = 1u << 31;
template <class R, class... In>
void spread_dependence(uint32_t differentiable, const R& result, const In&... in) {
  if (differentiable & kZeroDerivative) return;
  uint32_t i = 0;
  bool found = false;
  ((found = found || ((differentiable >> i & 1) && depends(in)), i++), ...);
  if (found && !grad_enabled()) mark_dependent(result);
}

// Called after an operation's forward if a bit of kModeObserved is set.
template <class R, class... In>
[[gnu::cold, gnu::noinline]] void observe_result(const char* operation, uint32_t differentiable, const R& result,
                                                 const In&... in) {
  if (mode_is(kInferenceMode)) mark_inference(result);
  if (mode_is(kInFunction)) spread_dependence(differentiable, result, in...);
  if (!(thread_mode.bits & (kProvenance | kProfile))) return;
  ObservedOp w(differentiable);
  (w.input(in), ...);
  w.result(result);
  w.report_result(operation);
}

// For an operation whose result is a number.
void observe_exit(const char* operation, const Tensor& self);

template <class... In>
[[gnu::cold, gnu::noinline]] void observe_write(const Tensor& self, const char* operation, uint32_t differentiable,
                                                const In&... in) {
  if (note_write && !self.impl()->has(kInference) && origins_wanted()) note_write(self.impl()->version_holder());
  if (mode_is(kInFunction)) spread_dependence(differentiable, self, in...);
  if (!(thread_mode.bits & (kProvenance | kProfile))) return;
  ObservedOp w(differentiable);
  (w.input(in), ...);
  w.result(self);
  w.report_write(operation);
}

// Call it after an in-place write: increments the version. `in` starts with self.
template <class... In>
UT_HOT_INLINE void after_write(const Tensor& self, const char* operation, uint32_t differentiable, const In&... in) {
  TensorImpl* impl = self.impl();
  if (UT_LIKELY(!impl->has(kInference))) impl->version_holder()->bump_version(operation);
  if (UT_UNLIKELY((thread_mode.bits | process_mode.load(std::memory_order_relaxed)) & kModeObservesWrites))
    observe_write(self, operation, differentiable, in...);
}

}  // namespace undertow::core::ops
