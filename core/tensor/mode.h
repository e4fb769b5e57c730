// mode.h: the thread's mode word: one bit for each rarely used mode, tested once per operation.
// The state changes only through guards; the defaults are those of a new thread.
#pragma once
#include <atomic>
#include <cstdint>

#include "core/base/error.h"

namespace undertow::core {

enum ModeBit : uint32_t {
  kNoGrad = 1u << 0,         // grad mode is off
  kInferenceMode = 1u << 1,  // results are inference tensors
  kAnomaly = 1u << 2,        // process_mode only: nodes record where they were created, and failures name it
  kSourceLines = 1u << 3,    // nodes record the user's source line (tracing)
  kForwardLevel = 1u << 4,   // a dual level is open: inputs may have tangents
  kOverrides = 1u << 5,      // a __torch_function__ mode is active
  kNoOverrides = 1u << 6,    // __torch_function__ is disabled on this thread
  kSavedHooks = 1u << 7,     // default saved-tensor hooks are installed
  kAnyGradLayout = 1u << 8,  // the first gradient of a leaf may keep strides other than the leaf's
  kTransform = 1u << 9,      // a vmap is running: random operators must check its randomness setting
  kProfile = 1u << 10,       // operations report to a profiler
  kFilteredPass = 1u << 11,  // the engine runs a pass for chosen inputs only: nodes must ask which gradients are needed
  kAnomalyNan = 1u << 12,    // process_mode only: anomaly mode checks for NaNs
  kNoTangents = 1u << 13,    // forward mode is off: operations ignore the tangents of their inputs
  kDispatchMode = 1u << 20,  // a __torch_dispatch__ mode is active; the same bit as the tensor flag kDispatched
  kInFunction = 1u << 15,  // in a custom Function's forward: results of inputs that require grad are marked kDependent
  kProvenance = 1u
      << 14,  // results record what they were computed from; see Note [Provenance] in graph/diagnostics/provenance.h
};
// Modes in which a recorder also calls observe_result (autograd/observers.h) with its result.
inline constexpr uint32_t kModeObserved = kInferenceMode | kInFunction | kProvenance | kProfile;
inline constexpr uint32_t kModeObservesWrites = kAnomaly | kInFunction | kSourceLines | kProvenance | kProfile;

// Modes in which a recorder cannot take its fast path.
inline constexpr uint32_t kModeSlow =
    kAnomaly | kSourceLines | kForwardLevel | kTransform | kProfile | kInferenceMode | kProvenance | kDispatchMode;

// Modes of the whole process, such as kAnomaly. Atomic: set on one thread, read on all; the order does not matter.
extern std::atomic<uint32_t> process_mode;

struct ThreadMode {
  uint32_t bits = 0;
  uint32_t transform = 0;  // the innermost running transform that differentiates; 0 for none
  uint64_t sequence = 0;   // next node's sequence number on this thread
};
extern constinit thread_local ThreadMode thread_mode __attribute__((tls_model("initial-exec")));

inline bool grad_enabled() { return !(thread_mode.bits & kNoGrad); }
inline bool anomaly_enabled() { return process_mode.load(std::memory_order_relaxed) & kAnomaly; }
// True if nodes should record where they were created.
UT_HOT_INLINE bool origins_wanted() {
  return (thread_mode.bits | process_mode.load(std::memory_order_relaxed)) & (kAnomaly | kSourceLines);
}
inline bool mode_is(ModeBit bit) { return thread_mode.bits & bit; }

// Sets or clears one bit for a scope.
class ModeGuard {
 public:
  ModeGuard(ModeBit bit, bool on) : saved_(thread_mode.bits) {
    thread_mode.bits = on ? saved_ | bit : saved_ & ~static_cast<uint32_t>(bit);
  }
  ~ModeGuard() { thread_mode.bits = saved_; }
  ModeGuard(const ModeGuard&) = delete;
  ModeGuard& operator=(const ModeGuard&) = delete;

 private:
  uint32_t saved_;
};
struct NoGradGuard : ModeGuard {
  NoGradGuard() : ModeGuard(kNoGrad, true) {}
};
struct GradModeGuard : ModeGuard {
  explicit GradModeGuard(bool enabled) : ModeGuard(kNoGrad, !enabled) {}
};

}  // namespace undertow::core
