// provenance.h: which operation computed a tensor from which others, and whether a gradient can pass; for explanations.
// Recorded only on request (kProvenance). Does not look at values, and keeps no tensor alive.
//
// Note [Provenance]
// The graph does not show what was cut off: detach, no_grad and integers leave no node. Provenance records do. A record
// is stored in the autograd metadata of a result and owns its parents' records. A tensor that existed before recording
// gets a record without parents when it is first used, so a parameter is found by its record. An in-place write puts a
// new record above the old one, and for a view also on its base. A leaf that requires grad keeps its record through
// writes, since it stays the same leaf. Numbers increase, so a parent's number is always less than its child's. When
// too many records are alive, new ones have no parents and are marked incomplete.
#pragma once
#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "core/base/ref.h"
#include "core/tensor/tensor.h"

namespace undertow::core {

class Provenance {
 public:
  struct Parent {
    Ref<Provenance> record;
    bool required;        // the parent required grad when it was used
    bool differentiable;  // the operation has a derivative with respect to it
  };
  uint64_t number = 0;
  const char* operation = nullptr;    // null for a tensor that no recorded operation computed
  const std::string* line = nullptr;  // never freed; null if unknown
  uint32_t mode = 0;                  // thread_mode.bits
  DType dtype = DType::Float32;       // of the result
  bool in_place = false;              // parent 0 is the value before the write
  bool incomplete = false;            // has parents that were not kept
  std::vector<Parent> parents;

  Provenance();
  ~Provenance();
  void retain() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release();

 private:
  std::atomic<uint32_t> refs_{0};  // atomic: tensors are destroyed on any thread
  Provenance* next_dead_ = nullptr;
};

namespace provenance {

struct Input {
  TensorImpl* tensor;
  bool differentiable;
};
// An operation computed `results` from `inputs`; or, in place, wrote to the one result, which is input 0.
void note(const char* operation, std::span<TensorImpl* const> results, std::span<const Input> inputs,
          bool in_place = false);
// For functions that are not operators: .data, detach_.
void note_cut(const char* operation, const Tensor& result, const Tensor& source);
// A copy of the text that is never freed, for names built at run time.
const char* permanent(const std::string& name);
// A value was converted to Python: item, tolist, numpy. Only the last few are kept.
void note_exit(const char* operation, const Tensor& source);

// Is provenance recorded on this thread? Clears a stale bit if another thread has switched recording off.
bool wanted();
// Switches recording on for this thread if the process asks for it. Called on a slow path.
void adopt_process_mode();

// An operation at which the gradient from `loss` towards `param` stops.
struct Cut {
  const Provenance* record;
  DType source_dtype;  // of the operation's input that would have received the gradient
  bool frozen;         // that input did not require grad
  bool no_derivative;  // the operation has no derivative with respect to it
};
struct History {
  bool known = false;       // both have records
  bool depends = false;     // loss was computed from param, as far as the records show
  bool incomplete = false;  // some records were not kept
  std::vector<Cut> cuts;    // earlier ones first
  std::vector<std::pair<const char*, const std::string*>> exits;  // conversions of values computed from param
  std::vector<Ref<Provenance>> alive;                             // keeps the records of the cuts alive
};
History history(const Tensor& param, const Tensor& loss);

// Note [Cut Marks]
// Even without recording, a result that a non-differentiable operation computed from a tensor that requires grad names
// that operation in the high bits of its flags: no memory, one store. An operation gets its number the first time it
// does this.
struct CutMark {
  const char* operation;
  std::atomic<uint16_t> number{0};  // atomic: two threads may use an operation first
  constexpr explicit CutMark(const char* name) : operation(name) {}
  void put(const Tensor& t) {
    uint16_t n = number.load(std::memory_order_relaxed);
    if (UT_UNLIKELY(n == 0)) n = assign_number();
    t.impl()->flags |= uint32_t{n} << kCutShift;
  }

 private:
  uint16_t assign_number();
};
// The operation that cut t off, or null.
const char* cut_by(const TensorImpl& t);

}  // namespace provenance
}  // namespace undertow::core
