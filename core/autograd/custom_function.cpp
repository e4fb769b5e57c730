// custom_function.cpp: see custom_function.h.
// build: small
#include "core/autograd/custom_function.h"

#include <unordered_map>

#include "core/autograd/tangents.h"
#include "core/autograd/views/inplace.h"
#include "core/graph/autograd_meta.h"
#include "core/graph/forward_level.h"
#include "core/tensor/layout.h"
#include "generated/ops.h"

namespace undertow::core::autograd {

namespace {

const Tensor& at(std::span<const Tensor> list, size_t i) { return list[i]; }
const Tensor& at(std::span<const Tensor* const> list, size_t i) { return *list[i]; }

// The position of a tensor in a list, or -1. Lists are usually short; long ones get a table.
template <class List>
class Positions {
 public:
  explicit Positions(List list) : list_(list) {
    if (list.size() <= kShort) return;
    for (size_t i = 0; i < list.size(); i++) table_.try_emplace(at(list, i).impl(), static_cast<int64_t>(i));
  }
  int64_t of(const TensorImpl* t) const {
    if (list_.size() > kShort) {
      auto it = table_.find(t);
      return it == table_.end() ? -1 : it->second;
    }
    for (size_t i = 0; i < list_.size(); i++)
      if (at(list_, i).impl() == t) return static_cast<int64_t>(i);
    return -1;
  }
  bool contain(const TensorImpl* t) const { return of(t) >= 0; }

 private:
  static constexpr size_t kShort = 16;
  List list_;
  std::unordered_map<const TensorImpl*, int64_t> table_;
};
using Inputs = Positions<std::span<const Tensor* const>>;
using Tensors = Positions<std::span<const Tensor>>;

constexpr uint32_t kCreation = kViewNoGrad | kViewMultiOutput | kViewInference | kViewCustom;
void set_creation(const Tensor& view, uint32_t creation) {
  view.impl()->set(kCreation, false);
  view.impl()->set(creation);
}

Tensor whole_view(const CustomCall& call, const Tensor& t) {
  // As if forward had returned it: a view created while nothing is recorded.
  NoGradGuard no_grad;
  ModeGuard no_tangents(kNoTangents, true);
  return call.whole_view ? call.whole_view(t) : ops::_alias(t);
}

void check_input_not_saved(bool saved_in_setup) {
  UT_CHECK(!saved_in_setup,
           "An input that has been returned as-is as output is being saved for backward. This is not supported if you "
           "override setup_context. You should "
           "return and save a view of the input instead, e.g. with x.view_as(x) or setup ctx inside the forward "
           "function itself.");
}

// A result that backward does not reach.
Tensor without_history(const CustomCall& call, const Tensor& t, bool is_input, bool is_dirty, bool saved_in_setup) {
  if (!t.requires_grad()) {
    if (!is_input || is_dirty) return t;
    check_input_not_saved(saved_in_setup);
    return whole_view(call, t);
  }
  if (is_input) return ops::detach(t);   // the input itself still requires grad
  if (t.impl()->has(kIsView)) return t;  // like a view created in no_grad, it still follows its base
  if (t.impl()->grad_fn) release_node(std::exchange(t.impl()->grad_fn, nullptr));
  t.impl()->output_nr = 0;
  t.impl()->set(kRequiresGrad, false);
  return t;
}

void record_write(CustomCall& call, const Tensor& t, int64_t input) {
  TensorImpl* impl = t.impl();
  UT_CHECK(impl->grad_fn || !t.requires_grad(),
           "a leaf Variable that requires grad has been used in an in-place operation. The operation is ",
           call.node->name(), " on shape ", ShapeText{t.sizes()},
           "; clone it first, or apply the function under no_grad.");
  if (input < 0) {
    const char* text =
        "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be "
        "passed to ctx.mark_dirty().";
    UT_CHECK(!impl->has(kIsView), text);  // a view has the history of its base, which the function does not replace
    warn(text);
  }
  UT_CHECK(!impl->has(kIsView) || call.results.size() == 1,
           "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return "
           "more than "
           "one Tensor: ",
           call.node->name(), " returned ", call.results.size(),
           " values. Clone the input first, or split the function in two, one of which only writes to the input.");
  ops::check_inplace(t, call.node->name().c_str(), true);
  if (impl->meta) impl->meta->grad.reset();  // it was the gradient of the old value
  ops::rebase_history(t, call.node, input < 0 ? call.node->num_edges() : static_cast<uint32_t>(input));
}

// The operations inside forward were recorded as they ran, without grad mode. Replace that by the function as a whole.
void note_made(const CustomCall& call, const Tensors& non_differentiable) {
  const char* name = provenance::permanent(call.node->name());
  for (size_t i = 0; i < call.results.size(); i++) {
    if (!call.results[i].defined()) continue;
    bool differentiable = !non_differentiable.contain(call.raw[i].impl());
    std::vector<provenance::Input> inputs;
    for (const Tensor* t : call.inputs) inputs.push_back({t->impl(), differentiable});
    TensorImpl* result = call.results[i].impl();
    provenance::note(name, {&result, 1}, inputs);
  }
}

}  // namespace

void record_results(CustomCall& call) {
  Inputs inputs(call.inputs);
  Tensors non_differentiable(call.non_differentiable), dirty(call.dirty), saved(call.saved_in_setup);
  for (const Tensor& t : call.dirty) t.bump_version("a custom Function");
  size_t differentiable_results = 0;
  for (size_t i = 0; i < call.raw.size(); i++) {
    const Tensor& t = call.raw[i];
    if (!t.defined()) {
      if (call.node) call.node->add_input_undefined();
      continue;
    }
    int64_t input = inputs.of(t.impl());
    bool is_input = input >= 0, is_dirty = dirty.contain(t.impl());
    Tensor result = t;
    if (!call.node || non_differentiable.contain(t.impl()) || !is_differentiable(t.dtype())) {
      if (call.node) call.node->add_input_undefined();
      result = without_history(call, t, is_input, is_dirty, saved.contain(t.impl()));
    } else {
      differentiable_results++;
      if (is_dirty) {
        record_write(call, t, input);
      } else {
        if (is_input) {
          check_input_not_saved(saved.contain(t.impl()));
          result = whole_view(call, t);
        }
        if (result.impl()->has(kIsView))
          ops::set_view_history(result, call.node);
        else
          set_history(result, call.node);
      }
    }
    if (UT_UNLIKELY(result.impl()->has(kIsView)) && !(is_input && is_dirty)) set_creation(result, kViewCustom);
    call.results[i] = std::move(result);
  }
  if (UT_UNLIKELY(mode_is(kProvenance)) && call.node) note_made(call, non_differentiable);
  if (differentiable_results > 1)
    for (const Tensor& t : call.results)
      if (t.defined() && t.impl()->has(kIsView)) set_creation(t, kViewMultiOutput);
  if (UT_UNLIKELY(!call.dirty.empty())) {
    Tensors returned(call.raw);
    for (const Tensor& t : call.dirty)
      UT_CHECK(returned.contain(t.impl()),
               "Some elements marked as dirty during the forward method were not returned as output. The inputs that "
               "are modified inplace must all be "
               "outputs of the Function. The one missing has shape ",
               ShapeText{t.sizes()}, ".");
  }
}

bool carries_tangents(std::span<const Tensor* const> inputs) {
  if (mode_is(kNoTangents)) return false;
  for (const Tensor* t : inputs)
    if (ops::tangent_of(*t).defined()) return true;
  return false;
}

namespace {

const TensorImpl* root_of(const Tensor& t) { return t.impl()->has(kIsView) ? t.impl()->base : t.impl(); }

// For a result that is a view of an input: its tangent must be a view of the input's tangent. Otherwise a write would
// change only one of them.
void check_view_of(const Tensor& tangent, const Tensor& input_tangent) {
  UT_CHECK(tangent.defined() && tangent.impl()->has(kIsView),
           "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view.");
  if (input_tangent.impl()->has(kIsView))
    UT_CHECK(root_of(tangent) == root_of(input_tangent),
             "A custom Function is returning a view but the jvp is not returning a view of the same base as the given "
             "grad input.");
  else
    UT_CHECK(root_of(tangent) == input_tangent.impl(),
             "A custom Function is returning a view but the jvp is not returning a view of the given grad input.");
}

// The tangents of the inputs before jvp ran.
struct Before {
  std::vector<Tensor> tangents;
  std::vector<uint32_t> versions;
};

void carry_written(const Tensor& result, const Tensor& tangent, const Before& before, int64_t input) {
  if (input < 0 || !before.tangents[static_cast<size_t>(input)].defined()) {
    if (tangent.defined()) ops::write_tangent(result, tangent);
    return;
  }
  size_t i = static_cast<size_t>(input);
  UT_CHECK(
      tangent.defined() && tangent.version() != before.versions[i],
      "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying an "
      "input inplace, then the jvp function must modify the corresponding gradient inplace.");
  UT_CHECK(tangent.is_same(before.tangents[i]),
           "An inplace custom Function is not returning the forward mode gradients as-is. If the forward is modifying "
           "an input inplace, then the "
           "jvp function must modify the gradient inplace and return it as-is.");
}

}  // namespace

void carry_tangents(const CustomCall& call, const Jvp& jvp) {
  Inputs inputs(call.inputs);
  Tensors non_differentiable(call.non_differentiable), dirty(call.dirty);
  Before before;
  for (const Tensor* t : call.inputs) {
    before.tangents.push_back(ops::tangent_of(*t));
    before.versions.push_back(before.tangents.back().defined() ? before.tangents.back().version() : 0);
  }
  std::vector<Tensor> tangents;
  {
    ModeGuard no_tangents(kNoTangents, true);
    tangents = jvp(before.tangents);
  }
  UT_CHECK(tangents.size() == call.results.size(),
           "Function's jvp returned an invalid number of forward gradients (expected ", call.results.size(),
           " but got ", tangents.size(), ")");
  for (size_t i = 0; i < tangents.size(); i++) {
    const Tensor &raw = call.raw[i], &result = call.results[i], &tangent = tangents[i];
    if (!raw.defined()) continue;
    if (non_differentiable.contain(raw.impl()) || !is_differentiable(raw.dtype())) {
      UT_CHECK(!tangent.defined(), "Function's jvp returned a gradient at position ", i,
               ", but the corresponding forward output is not a differentiable Tensor. You should return "
               "None at that position instead.");
      continue;
    }
    UT_CHECK(!tangent.defined() || same(tangent.sizes(), result.sizes()),
             "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
             "supported. Tensor is of size ",
             ShapeText{result.sizes()}, " while the given forward gradient is of size ",
             tangent.defined() ? ShapeText{tangent.sizes()} : ShapeText{{}}, ".");
    if (dirty.contain(raw.impl())) {
      carry_written(result, tangent, before, inputs.of(raw.impl()));
      continue;
    }
    if (result.impl()->has(kIsView)) {
      int64_t source = -1;
      for (size_t k = 0; k < call.inputs.size() && source < 0; k++)
        if (root_of(*call.inputs[k]) == root_of(result)) source = static_cast<int64_t>(k);
      if (source >= 0 && !before.tangents[static_cast<size_t>(source)].defined()) {
        if (tangent.defined()) ops::write_tangent(result, tangent);
        continue;
      }
      if (source >= 0) check_view_of(tangent, before.tangents[static_cast<size_t>(source)]);
    }
    if (tangent.defined())
      forward_level::set_tangent(result, result.impl()->has(kIsView) ? tangent : ops::fit_tangent(result, tangent));
  }
}

}  // namespace undertow::core::autograd
