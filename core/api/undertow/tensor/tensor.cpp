// tensor.cpp: the methods of Tensor that are not operators: see tensor.h.
// build: small
#include <undertow/autograd.h>
#include <undertow/tensor.h>

#include <atomic>
#include <cstdio>

#include "core/autograd/autograd.h"
#include "core/autograd/tangents.h"
#include "core/autograd/tensor_state.h"
#include "core/forward/copy/copy.h"
#include "core/graph/autograd_meta.h"
#include "core/graph/forward_level.h"
#include "core/graph/retains_grad.h"
#include "core/tensor/sparse.h"

namespace undertow {

namespace detail {

Tensor made(core::Tensor&& t, const TensorOptions& options) {
  UT_CHECK(options.layout() == kStrided, "creation functions make strided tensors, but the layout is ",
           core::name(options.layout()), "; use to_sparse()");
  UT_CHECK(!options.pinned_memory(), "pinned_memory needs a device with its own memory; this tensor is on ",
           core::Device(options.device()));
  if (options.requires_grad()) core::require_grad(t, true);
  return std::move(t);
}

void raise_undefined() {
  UT_FAIL("Expected a proper Tensor but got an undefined Tensor: it was not given a value before it was used");
}
void* checked_data(const core::Tensor& t, core::DType wanted) {
  checked(t);
  UT_CHECK(t.dtype() == wanted, "expected scalar type ", core::long_name(wanted), " but found ",
           core::long_name(t.dtype()));
  UT_CHECK(!t.is_conj() && !t.is_neg(),
           "data_ptr: the elements are the conjugates or negatives of the numbers in memory; use resolve_conj() or "
           "resolve_neg()");
  return t.data();
}

}  // namespace detail

Layout Tensor::layout() const { return checked().is_sparse() ? core::layout_of(*this) : kStrided; }
TensorOptions Tensor::options() const { return TensorOptions().dtype(dtype()).device(device()).layout(layout()); }
bool Tensor::is_contiguous(MemoryFormat format) const { return core::fwd::is_in_format(checked(), format); }
MemoryFormat Tensor::suggest_memory_format() const { return core::fwd::suggested_format(checked()); }

std::string Tensor::toString() const {
  if (!defined()) return "UndefinedType";
  std::string device = core::name(this->device().type());
  for (char& c : device) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return core::str(is_sparse() ? "Sparse" : "", device, core::long_name(core::DType(dtype())), "Type");
}
void Tensor::print() const {
  std::string text = defined() ? core::str("[", toString(), " ", core::ShapeText{core::Tensor::sizes()}, "]")
                               : std::string("[UndefinedTensor]");
  std::puts(text.c_str());
}

Tensor Tensor::to(const TensorOptions& options, bool non_blocking, bool copy,
                  optional<MemoryFormat> memory_format) const {
  UT_CHECK(!options.has_requires_grad() || !options.requires_grad(),
           "to(options) expects unset requires_grad flag, but got options.requires_grad set as true");
  UT_CHECK(!options.has_layout() || options.layout() == layout(), "to(options) does not change the layout: it is ",
           core::name(layout()), ", and options has ", core::name(options.layout()));
  return core::ops::to(*this, optional<core::Device>(options.device_opt()), optional<core::DType>(options.dtype_opt()),
                       non_blocking, copy, memory_format ? memory_format : options.memory_format_opt());
}

Tensor& Tensor::set_requires_grad(bool on) const {
  core::require_grad(checked(), on);
  return const_cast<Tensor&>(*this);
}
// The gradient is kept as a core::Tensor; a Tensor has no further members.
const Tensor& Tensor::grad() const { return static_cast<const Tensor&>(core::visible_grad(checked())); }
Tensor& Tensor::mutable_grad() const { return static_cast<Tensor&>(core::make_meta(checked()).grad); }
bool Tensor::is_leaf() const { return !core::grad_fn(checked()); }
void Tensor::retain_grad() const { core::retain_grad(checked()); }
Tensor Tensor::_base() const {
  UT_CHECK(is_view(), "Can't get base of non-view Variable");
  return core::Tensor(core::Ref<core::TensorImpl>(impl()->base));
}
const std::string& Tensor::name() const {
  static const std::string none;
  return impl()->meta ? impl()->meta->name : none;
}
Tensor& Tensor::detach_() const {
  core::detach_in_place(checked());
  return const_cast<Tensor&>(*this);
}
Tensor Tensor::variable_data() const { return core::data_of(checked()); }
void Tensor::set_data(const Tensor& other) const {
  UT_CHECK(is_sparse() == other.is_sparse(),
           "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type.");
  core::replace_data(checked(), other);
}

void Tensor::backward(const Tensor& gradient, optional<bool> retain_graph, bool create_graph,
                      optional<TensorList> inputs) const {
  UT_CHECK(!inputs || !inputs->empty(), "'inputs' argument to backward cannot be empty");
  autograd::backward({*this}, gradient.defined() ? variable_list{gradient} : variable_list{}, retain_graph,
                     create_graph, inputs ? inputs->vec() : variable_list{});
}

namespace {

class FunctionHook final : public core::TensorHook {
 public:
  FunctionHook(std::function<Tensor(const Tensor&)> f, unsigned id) : id(id), function_(std::move(f)) {}
  core::Tensor call(const core::Tensor& grad) override {
    if (removed.load(std::memory_order_relaxed) || !grad.defined()) return {};
    Tensor now = function_(grad);
    if (!now.defined()) return {};
    UT_CHECK(now.dtype() == grad.dtype(), "hook has changed the type of value (was ", core::long_name(grad.dtype()),
             " got ", core::long_name(now.dtype()), ")");
    UT_CHECK(core::same(now.sizes(), grad.sizes()), "hook has changed the size of value: was ",
             core::ShapeText{grad.sizes()}, ", got ", core::ShapeText{now.sizes()});
    return now;
  }
  const unsigned id;
  std::atomic<bool> removed{false};  // atomic: a pass on another thread may be calling the hook

 private:
  std::function<Tensor(const Tensor&)> function_;
};

}  // namespace

unsigned Tensor::add_hook(std::function<Tensor(const Tensor&)> hook) const {
  static std::atomic<unsigned> next{0};  // atomic: threads register hooks at the same time
  UT_CHECK(requires_grad(), "cannot register a hook on a tensor that doesn't require gradient");
  unsigned id = next.fetch_add(1, std::memory_order_relaxed);
  core::Ref<core::TensorHook> ref(new FunctionHook(std::move(hook), id));
  if (core::Node* fn = core::grad_fn(checked()))
    fn->make_extra().tensor_hooks.emplace_back(output_nr(), std::move(ref));
  else
    core::make_meta(checked()).hooks.push_back(std::move(ref));
  return id;
}

void Tensor::remove_hook(unsigned pos) const {
  auto erase = [&](auto& hooks, auto get) {
    for (size_t i = 0; i < hooks.size(); i++)
      if (auto* h = dynamic_cast<FunctionHook*>(get(hooks[i])); h && h->id == pos) {
        h->removed = true;
        hooks.erase(hooks.begin() + static_cast<ptrdiff_t>(i));
        return true;
      }
    return false;
  };
  core::Node* fn = core::grad_fn(checked());
  bool found = fn && fn->extra() && erase(fn->extra()->tensor_hooks, [](auto& h) { return h.second.get(); });
  found = found || (impl()->meta && erase(impl()->meta->hooks, [](auto& h) { return h.get(); }));
  UT_CHECK(found, "remove_hook: this tensor has no hook with the number ", pos);
}

Tensor Tensor::_fw_grad(uint64_t) const { return std::get<1>(core::ops::unpack_dual(checked())); }
void Tensor::_set_fw_grad(const Tensor& tangent, uint64_t, bool) const {
  core::forward_level::set_tangent(*this, tangent);
}

namespace autograd {

namespace {
std::vector<core::Tensor> unwrapped(const variable_list& list) { return {list.begin(), list.end()}; }
void check_inputs(const variable_list& inputs) {
  for (size_t i = 0; i < inputs.size(); i++)
    UT_CHECK(inputs[i].defined() && inputs[i].requires_grad(), "element ", i,
             " of the input tensors does not require grad");
}
void check_outputs(const variable_list& outputs) {
  for (size_t i = 0; i < outputs.size(); i++)
    UT_CHECK(outputs[i].defined(), "element ", i,
             " of tensors does not require grad and does not have a grad_fn: it is undefined");
}
}  // namespace

void backward(const variable_list& tensors, const variable_list& grad_tensors, optional<bool> retain_graph,
              bool create_graph, const variable_list& inputs) {
  check_inputs(inputs);
  check_outputs(tensors);
  core::autograd::backward(unwrapped(tensors), unwrapped(grad_tensors), retain_graph, create_graph, unwrapped(inputs));
}
variable_list grad(const variable_list& outputs, const variable_list& inputs, const variable_list& grad_outputs,
                   optional<bool> retain_graph, bool create_graph, bool allow_unused) {
  check_inputs(inputs);
  check_outputs(outputs);
  return undertow::detail::wrap_list(core::autograd::grad(
      unwrapped(outputs), unwrapped(inputs), unwrapped(grad_outputs), retain_graph, create_graph, allow_unused));
}

}  // namespace autograd

}  // namespace undertow
