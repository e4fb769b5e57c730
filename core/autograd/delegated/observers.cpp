// observers.cpp: see observers.h.
#include "core/autograd/delegated/observers.h"

#include "core/autograd/recording.h"
#include "core/graph/diagnostics/nonfinite.h"
#include "core/graph/diagnostics/trace.h"

namespace undertow::core::ops {

// True if the recorder will create a node.
bool ObservedOp::recorded() const {
  if (!grad_enabled()) return false;
  bool wanted = false, possible = false;
  for (const provenance::Input& in : inputs_)
    wanted |= in.differentiable && requires_grad(Tensor(Ref<TensorImpl>(in.tensor)));
  for (TensorImpl* t : results_) possible |= is_differentiable(t->dtype);
  return wanted && possible;
}

void ObservedOp::report_result(const char* operation) {
  if (trace::is_set(trace::kFindNonfinite)) nonfinite::computed(operation, results_, inputs_);
  if (mode_is(kProfile))
    profile::operation(operation, recorded() ? static_cast<int64_t>(thread_mode.sequence) : -1, inputs_);
  if (mode_is(kProvenance)) provenance::note(operation, results_, inputs_);
}

void ObservedOp::report_write(const char* operation) {
  // Input 0 has been overwritten; it was finite, or its operation would have been found.
  if (trace::is_set(trace::kFindNonfinite) && !inputs_.empty())
    nonfinite::computed(operation, results_, std::span(inputs_).subspan(1));
  // The node was created before the write, so it has the previous sequence number.
  if (mode_is(kProfile))
    profile::operation(operation, recorded() ? static_cast<int64_t>(thread_mode.sequence) - 1 : -1, inputs_);
  if (mode_is(kProvenance)) provenance::note(operation, results_, inputs_, true);
}

void observe_exit(const char* operation, const Tensor& self) {
  if (mode_is(kProvenance)) provenance::note_exit(operation, self);
  ObservedOp w(0);
  w.input(self);
  w.report_result(operation);
}

}  // namespace undertow::core::ops
