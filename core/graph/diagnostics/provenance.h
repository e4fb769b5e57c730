// provenance.h: which operation made a tensor out of which others, and whether a gradient can pass; for explanations.
// Kept only while it is asked for (kProvenance). Says nothing of values, and keeps no tensor alive.
//
// Note [Provenance]
// The graph forgets what was cut off: detach, no_grad and integers leave no node. A record remembers. It hangs on a
// result's autograd metadata and owns its parents' records; a tensor that was there before recording gets one without
// parents when it is first used, so a parameter is found by its record. A write in place puts a new record above the
// old one, on the base of a view too; a leaf that wants gradients keeps its own through writes, since it stays the same
// leaf. Numbers grow, so a parent's is always less than its child's. When too many records are alive, new ones have no
// parents and say so.
#pragma once
#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "core/base/ref.h"
#include "core/tensor/tensor.h"

namespace undertow {

class Provenance {
 public:
  struct Parent {
    Ref<Provenance> record;
    bool required;        // it required grad when it was used
    bool differentiable;  // the operation has a derivative by it
  };
  uint64_t number = 0;
  const char* operation = nullptr;    // null for a tensor that nothing recorded has made
  const std::string* line = nullptr;  // lives for ever; null when unknown
  uint32_t mode = 0;                  // thread_mode.bits
  DType dtype = DType::Float32;       // of the result
  bool in_place = false;              // parent 0 is what stood there before
  bool incomplete = false;            // has parents that were not kept
  std::vector<Parent> parents;

  Provenance();
  ~Provenance();
  void retain() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release();

 private:
  std::atomic<uint32_t> refs_{0};  // atomic: tensors die on any thread
  Provenance* next_dead_ = nullptr;
};

namespace provenance {

struct Input {
  TensorImpl* tensor;
  bool differentiable;
};
// An operation made `results` from `inputs`; or, in place, wrote to the one result, which is input 0.
void note(const char* operation, std::span<TensorImpl* const> results, std::span<const Input> inputs,
          bool in_place = false);
// For operations that are no operators: .data, detach_.
void note_cut(const char* operation, const Tensor& result, const Tensor& source);
// The same text, to live for ever; for names that are made while the program runs.
const char* permanent(const std::string& name);
// A value left for Python: item, tolist, numpy. The last few are kept.
void note_exit(const char* operation, const Tensor& source);

// Is it wanted on this thread? Clears a bit that another thread's switching off left behind.
bool wanted();
// Takes over the process's wish: called where a thread that never asked passes by on a slow path.
void follow_process();

// A place where the gradient from `loss` towards `param` stops.
struct Cut {
  const Provenance* record;
  DType source_dtype;  // of what the gradient would have gone to
  bool frozen;         // that did not require grad
  bool no_derivative;  // the operation has none by it
};
struct History {
  bool known = false;       // both have records
  bool depends = false;     // loss was computed from param, as far as records tell
  bool incomplete = false;  // some records were not kept
  std::vector<Cut> cuts;    // earlier ones first
  std::vector<std::pair<const char*, const std::string*>> exits;  // where values computed from param left, and the line
  std::vector<Ref<Provenance>> alive;                             // what the cuts point to
};
History history(const Tensor& param, const Tensor& loss);

// Note [Cut Marks]
// Without recording, a result that a non-differentiable operation made of something that requires grad says which one
// it was, in the high bits of its flags: no memory, one store. Numbers are given to operations as they first do so.
struct CutMark {
  const char* operation;
  std::atomic<uint16_t> number{0};  // atomic: two threads may meet an operation first
  constexpr explicit CutMark(const char* name) : operation(name) {}
  void put(const Tensor& t) {
    uint16_t n = number.load(std::memory_order_relaxed);
    if (UT_UNLIKELY(n == 0)) n = enroll();
    t.impl()->flags |= uint32_t{n} << kCutShift;
  }

 private:
  uint16_t enroll();
};
// The operation that cut t off, or null.
const char* cut_by(const TensorImpl& t);

}  // namespace provenance
}  // namespace undertow
