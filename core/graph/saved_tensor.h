// saved_tensor.h: a tensor that a node keeps for its backward: checked by version, supports hooks, freed on release.
//
// Note [Saved Outputs]
// A node that saved its own output would own the tensor that owns it. So it saves an alias on the same storage without
// a grad_fn; unpack() sets the grad_fn to the node again if a graph is being recorded. The node of a write through a
// view is in no graph: CopySlices owns it and runs it, on the view's part of the base's gradient. What it saved as its
// result is that part of what CopySlices made, whatever else happens to the base, and unpack() asks CopySlices for this
// history.
#pragma once
#include "core/base/ref.h"
#include "core/tensor/mode.h"
#include "core/tensor/tensor.h"

namespace undertow::core {

class Node;

// Called with a tensor inside a packed value; only_there is true if nothing else owns a reference to the tensor.
using PackedVisitor = void (*)(void* context, TensorImpl* tensor, bool only_there);

// Packs and unpacks one saved tensor; Python's saved_tensors_hooks derive from it.
class SavedTensorHooks {
 public:
  virtual ~SavedTensorHooks() = default;
  virtual void pack(const Tensor& t) = 0;
  virtual Tensor unpack() = 0;
  // Visits the tensors that the packed value visibly contains, if any; must not run user code.
  virtual void visit_packed(PackedVisitor visit, void* context) const { (void)visit, (void)context; }
};
// Creates hooks from the thread's default pair, if kSavedHooks is set. Installed by the binding layer.
extern SavedTensorHooks* (*make_default_saved_hooks)();

// The node whose tensor is being packed on this thread, or null.
extern constinit thread_local Node* packing_node;
// The node that runs its inner_node() on this thread, or null.
extern constinit thread_local Node* enclosing_node;

// A flag of tensors that are no views: detach_() removed the tensor's history. attr_version is the mark of that
// history.
inline constexpr uint32_t kDetachedInPlace = kViewCustom;
uint32_t history_mark(const Node* node, uint32_t output_nr);

class SavedTensor {
 public:
  SavedTensor() = default;
  UT_HOT_INLINE ~SavedTensor() {
    if (state_ == State::Original)
      impl_->release_inline();
    else if (UT_UNLIKELY(state_ != State::Empty && state_ != State::Released))
      clear();
  }
  SavedTensor(const SavedTensor&) = delete;
  SavedTensor& operator=(const SavedTensor&) = delete;
  SavedTensor(SavedTensor&& o) noexcept
      : impl_(o.impl_), version_(o.version_), state_(o.state_), output_nr_(o.output_nr_) {
    o.impl_ = nullptr;
    o.state_ = State::Empty;
  }

  // `owner` is the node being recorded; pack hooks may ask for it.
  UT_HOT_INLINE void save(const Tensor& t, Node* owner = nullptr) {
    if (UT_UNLIKELY(!t.defined())) return;
    if (UT_UNLIKELY(mode_is(kSavedHooks) || t.impl()->has(kInference))) return save_slowly(t, owner, false);
    t.impl()->retain();
    impl_ = t.impl();
    version_ = t.version();
    state_ = State::Original;
  }
  // Saves a result of the node itself. See Note [Saved Outputs].
  void save_output(const Tensor& t, Node* owner = nullptr);

  // If this is the output `t`, saved without its grad_fn: gives it t's tangent.
  void share_tangent(const Tensor& t);

  // Returns the tensor after checking that nobody wrote to it. `owner` is the node that saved it.
  Tensor unpack(Node* owner) const;
  bool defined() const { return state_ != State::Empty && state_ != State::Released; }
  // Frees the tensor; a later unpack raises.
  void release() {
    if (state_ == State::Empty || state_ == State::Released) return;
    clear();
    state_ = State::Released;
  }

  // Packs the saved tensor with these hooks; takes ownership of them. For `_raw_saved_x.register_hooks`.
  void register_hooks(SavedTensorHooks* hooks);
  bool has_hooks() const { return state_ == State::Hooked || state_ == State::HookedOutput; }
  bool is_released() const { return state_ == State::Released; }
  // Raises the error for a node whose saved tensors have been freed.
  [[noreturn]] static void fail_released(Node* owner);
  void visit_packed(PackedVisitor visit, void* context) const;
  TensorImpl* peek() const { return has_hooks() ? nullptr : impl_; }

 private:
  enum class State : uint8_t { Empty, Original, Output, Hooked, HookedOutput, Released };
  struct Packed;
  void save_slowly(const Tensor& t, Node* owner, bool is_output);
  void pack_with(SavedTensorHooks* hooks, const Tensor& t, bool is_output);
  void clear();
  Tensor as_output(const Tensor& data, Node* owner) const;
  static void check_not_detached(const Node* owner, const TensorImpl& t);
  [[noreturn]] void fail_version(Node* owner, const Tensor& t, uint32_t now) const;

  union {
    TensorImpl* impl_ = nullptr;  // owned
    Packed* packed_;              // owned
  };
  uint32_t version_ = 0;
  State state_ = State::Empty;
  uint16_t output_nr_ = 0;
};
static_assert(sizeof(SavedTensor) == 16);

}  // namespace undertow::core
