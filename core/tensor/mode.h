// mode.h: the thread's mode word: which of the rare things are switched on, tested once per operation.
// State changes only through guards; defaults are a fresh thread's.
#pragma once
#include <atomic>
#include <cstdint>

#include "core/base/error.h"

namespace undertow {

enum ModeBit : uint32_t {
  kNoGrad = 1u << 0,         // grad mode is off
  kInferenceMode = 1u << 1,  // results are inference tensors
  kAnomaly = 1u << 2,        // process_mode only: nodes remember where they were made, failures name it
  kSourceLines = 1u << 3,    // nodes remember the user's line (tracing)
  kForwardLevel = 1u << 4,   // a dual level is open: inputs may carry tangents
  kOverrides = 1u << 5,      // a __torch_function__ mode is active
  kNoOverrides = 1u << 6,    // __torch_function__ is disabled on this thread
  kSavedHooks = 1u << 7,     // default saved-tensor hooks are installed
  kAnyGradLayout = 1u << 8,  // a leaf may keep a first gradient whose strides are not its own
  kTransform = 1u << 9,      // a vmap is running: random operators must ask what it wants
  kProfile = 1u << 10,       // operations report to a profiler
  kFilteredPass = 1u << 11,  // the engine runs a pass over chosen inputs: nodes must ask what is wanted
  kAnomalyNan = 1u << 12,    // process_mode only: anomaly mode looks for NaNs
  kNoTangents = 1u << 13,    // forward mode is off: operations do not see the tangents of their inputs
  kInFunction = 1u
      << 15,  // a custom Function's forward is running: results of what requires grad are marked kDependent
  kProvenance = 1u << 14,  // results remember what they were made from; see Note [Provenance]
};
// What a recorder tells of its result, besides the graph.
inline constexpr uint32_t kModeWatched = kInferenceMode | kInFunction | kProvenance | kProfile;
inline constexpr uint32_t kModeToldOfWrites = kAnomaly | kInFunction | kSourceLines | kProvenance | kProfile;

// What a recorder must look at besides the plain path.
inline constexpr uint32_t kModeSlow =
    kAnomaly | kSourceLines | kForwardLevel | kTransform | kProfile | kInferenceMode | kProvenance;

// Modes of the whole process, such as kAnomaly. atomic: switched on one thread, read on all; order does not matter.
extern std::atomic<uint32_t> process_mode;

struct ThreadMode {
  uint32_t bits = 0;
  int32_t forward_level = -1;  // the innermost open dual level, -1 when none
  uint64_t sequence = 0;       // next node's sequence number on this thread
};
extern constinit thread_local ThreadMode thread_mode __attribute__((tls_model("initial-exec")));

inline bool grad_enabled() { return !(thread_mode.bits & kNoGrad); }
inline bool anomaly_enabled() { return process_mode.load(std::memory_order_relaxed) & kAnomaly; }
// Should a node remember where it was made?
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

}  // namespace undertow
