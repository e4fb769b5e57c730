// grad_mode.h: guards that turn recording on and off for a scope, on the current thread.
#pragma once
#include "core/tensor/mode.h"

namespace undertow {

struct GradMode {
  static bool is_enabled() { return core::grad_enabled(); }
  static void set_enabled(bool on) {
    core::thread_mode.bits = on ? core::thread_mode.bits & ~static_cast<uint32_t>(core::kNoGrad)
                                : core::thread_mode.bits | static_cast<uint32_t>(core::kNoGrad);
  }
};
// Sets gradient mode until the end of the scope.
using AutoGradMode = core::GradModeGuard;
using NoGradGuard = core::NoGradGuard;

// Until the end of the scope, results are inference tensors: they have no version counter and can never take part in a
// graph. InferenceMode(false) turns recording on, also inside an outer InferenceMode or NoGradGuard.
class InferenceMode {
 public:
  explicit InferenceMode(bool enabled = true) : saved_(core::thread_mode.bits) {
    constexpr uint32_t bits = core::kInferenceMode | core::kNoGrad;
    core::thread_mode.bits = enabled ? saved_ | bits : saved_ & ~bits;
  }
  ~InferenceMode() { core::thread_mode.bits = saved_; }
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;
  static bool is_enabled() { return core::mode_is(core::kInferenceMode); }

 private:
  uint32_t saved_;
};

}  // namespace undertow
