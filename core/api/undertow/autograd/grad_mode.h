// grad_mode.h: guards that turn recording on and off for a scope, on the current thread; anomaly mode, for the process.
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
    constexpr uint32_t bits = core::kInferenceMode | core::kNoGrad | core::kNoTangents;
    core::thread_mode.bits = enabled ? saved_ | bits : saved_ & ~bits;
  }
  ~InferenceMode() { core::thread_mode.bits = saved_; }
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;
  static bool is_enabled() { return core::mode_is(core::kInferenceMode); }

 private:
  uint32_t saved_;
};

namespace autograd {

// Anomaly mode: an error in a backward pass names where its node was recorded, and a NaN in a gradient is an error.
struct AnomalyMode {  // not inline: a variable of the library has another address in a program
  static bool is_enabled();
  static bool should_check_nan();
  static void set_enabled(bool enabled, bool check_nan = true);
};
// Anomaly mode until the end of the scope.
class DetectAnomalyGuard {
 public:
  explicit DetectAnomalyGuard(bool check_nan = true) { AnomalyMode::set_enabled(true, check_nan); }
  ~DetectAnomalyGuard() { AnomalyMode::set_enabled(was_enabled_, checked_nan_); }
  DetectAnomalyGuard(const DetectAnomalyGuard&) = delete;
  DetectAnomalyGuard& operator=(const DetectAnomalyGuard&) = delete;

 private:
  bool was_enabled_ = AnomalyMode::is_enabled(), checked_nan_ = AnomalyMode::should_check_nan();
};

}  // namespace autograd

}  // namespace undertow
