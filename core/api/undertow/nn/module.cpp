// module.cpp: traversal, modes, conversion, state and printing of modules; the errors of the templates of nn.
// build: small
#include <undertow/nn/module.h>

#include <ostream>
#include <unordered_set>

#include <undertow/autograd/grad_mode.h>
#include <undertow/nn/any_module.h>
#include <undertow/types/type_name.h>

#include "core/graph/autograd_meta.h"
#include "core/kernels/generator.h"

namespace undertow::nn {

namespace {

using Named = OrderedDict<std::string, Tensor>;
using undertow::detail::type_name;

std::string joined(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

std::string quoted(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& n : names) out += (out.empty() ? "\"" : ", \"") + n + "\"";
  return out;
}

}  // namespace

namespace detail {

void raise_no_key(const std::string& what, const std::string& key) { UT_FAIL(what, " '", key, "' is not defined"); }
void raise_key_defined(const std::string& what, const std::string& key) {
  UT_FAIL(what, " '", key, "' already defined");
}
void raise_index(int64_t index, size_t size) {
  UT_FAIL_AS(Index, "Index out of range: got ", index, " for ", size, " elements");
}
void raise_empty_holder() {
  UT_FAIL(
      "Accessing empty ModuleHolder: the module was created from nullptr, and register_module or an assignment must "
      "give it a value before it is used");
}
void raise_no_elements(const char* operation, const char* container) { UT_FAIL(operation, " on an empty ", container); }
void raise_argument_type(size_t index, const std::type_info& expected, const std::type_info& got) {
  UT_FAIL("Expected argument #", index, " to be of type ", type_name(expected), ", but received value of type ",
          type_name(got));
}
void raise_argument_count(const std::string& module, size_t expected, size_t got) {
  UT_FAIL(module, "'s forward() method expects ", expected, " argument(s), but received ", got,
          ". Default arguments may be left out");
}
void raise_cast(const char* operation, const std::type_info& expected, const std::type_info& got) {
  UT_FAIL(operation, " to ", type_name(expected), ", but its actual type is ", type_name(got));
}
void raise_return_type(const std::type_info& expected, const std::type_info& got) {
  UT_FAIL("The type of the return value is ", type_name(got), ", but you asked for type ", type_name(expected));
}
void raise_expanding(size_t expected, size_t got) { UT_FAIL("Expected ", expected, " values, but instead got ", got); }

std::shared_ptr<Module> own_module(Module* module) { return std::shared_ptr<Module>(module); }

std::string printed_name(const std::string& class_name) {
  bool is_impl = class_name.size() > 4 && class_name.ends_with("Impl");
  return is_impl ? class_name.substr(0, class_name.size() - 4) : class_name;
}

RandomStateGuard::RandomStateGuard() {
  core::Generator& generator = core::default_generator();
  std::lock_guard lock(generator.mutex);
  saved_ = generator.stream->clone().release();
}
RandomStateGuard::~RandomStateGuard() {
  core::Generator& generator = core::default_generator();
  std::lock_guard lock(generator.mutex);
  generator.stream.reset(static_cast<core::RandomStream*>(saved_));
}

}  // namespace detail

const std::type_info& AnyModule::type_info() const {
  const Module* module = ptr_.get();
  return module ? typeid(*module) : typeid(void);
}

AnyValue AnyModule::forward_values(std::vector<AnyValue>&& values) {
  UT_CHECK(call_, "AnyModule: cannot call forward() on an empty AnyModule");
  return call_(*this, values);
}

// -- names and traversal

const std::string& Module::name() const noexcept {
  if (name_.empty()) name_ = type_name(typeid(*this));
  return name_;
}

std::shared_ptr<Module> Module::clone(const std::optional<Device>&) const {
  UT_FAIL("clone() has not been implemented for ", name(), ". Subclass nn::Cloneable<", name(),
          "> instead of nn::Module to inherit the ability to clone.");
}

std::shared_ptr<Module> Module::shared_from_this_checked() const {
  std::shared_ptr<const Module> self = weak_from_this().lock();
  UT_CHECK(self, "It looks like you attempted to retrieve your top-level module ", name(),
           " as a shared_ptr, but it is not stored in one: create it with std::make_shared or as a holder, or call "
           "modules(/*include_self=*/false)");
  return std::const_pointer_cast<Module>(self);
}

void Module::each(const std::string& prefix, void* function, Visit visit) const {
  visit(function, prefix, *this);
  for (const auto& child : children_) child.value()->each(joined(prefix, child.key()), function, visit);
}
template <class Function>
void Module::each(const std::string& prefix, Function&& function) const {
  using F = std::remove_reference_t<Function>;
  each(prefix, const_cast<void*>(static_cast<const void*>(&function)),
       [](void* f, const std::string& name, const Module& module) { (*static_cast<F*>(f))(name, module); });
}

void Module::apply(const ModuleApplyFunction& function) {
  each({}, [&](const std::string&, const Module& m) { function(const_cast<Module&>(m)); });
}
void Module::apply(const ConstModuleApplyFunction& function) const {
  each({}, [&](const std::string&, const Module& m) { function(m); });
}
void Module::apply(const NamedModuleApplyFunction& function, const std::string& prefix) {
  each(prefix, [&](const std::string& name, const Module& m) { function(name, const_cast<Module&>(m)); });
}
void Module::apply(const ConstNamedModuleApplyFunction& function, const std::string& prefix) const {
  each(prefix, function);
}
void Module::apply(const ModulePointerApplyFunction& function) const {
  each({}, [&](const std::string&, const Module& m) { function(m.shared_from_this_checked()); });
}
void Module::apply(const NamedModulePointerApplyFunction& function, const std::string& prefix) const {
  each(prefix, [&](const std::string& name, const Module& m) { function(name, m.shared_from_this_checked()); });
}

Named Module::collect(Named Module::* from, bool recurse) const {
  Named out;
  std::unordered_set<const void*> seen;
  auto add = [&](const std::string& prefix, const Module& m) {
    for (const auto& item : m.*from)
      if (item.value().defined() && seen.insert(item.value().impl()).second)
        out.insert(joined(prefix, item.key()), item.value());
  };
  if (recurse)
    each({}, add);
  else
    add({}, *this);
  return out;
}

std::vector<Tensor> Module::parameters(bool recurse) const { return named_parameters(recurse).values(); }
Named Module::named_parameters(bool recurse) const { return collect(&Module::parameters_, recurse); }
std::vector<Tensor> Module::buffers(bool recurse) const { return named_buffers(recurse).values(); }
Named Module::named_buffers(bool recurse) const { return collect(&Module::buffers_, recurse); }

OrderedDict<std::string, std::shared_ptr<Module>> Module::named_modules(const std::string& prefix,
                                                                        bool include_self) const {
  OrderedDict<std::string, std::shared_ptr<Module>> out;
  each(prefix, [&](const std::string& name, const Module& m) {
    if (&m != this || include_self) out.insert(name, m.shared_from_this_checked());
  });
  return out;
}
std::vector<std::shared_ptr<Module>> Module::modules(bool include_self) const {
  return named_modules({}, include_self).values();
}
std::vector<std::shared_ptr<Module>> Module::children() const { return children_.values(); }
OrderedDict<std::string, std::shared_ptr<Module>> Module::named_children() const { return children_; }

// -- registration

namespace {
void check_name(const std::string& name, const char* what) {
  UT_CHECK(!name.empty(), what, " name must not be empty");
  UT_CHECK(name.find('.') == std::string::npos, what, " name must not contain a dot (got '", name, "')");
}
}  // namespace

Tensor& Module::register_parameter(std::string name, Tensor tensor, bool requires_grad) {
  check_name(name, "Parameter");
  if (tensor.defined()) {
    if (requires_grad && !core::is_differentiable(tensor.dtype())) {
      core::warn("An integral tensor was passed to register_parameter with requires_grad=true: " + name);
      requires_grad = false;
    }
    tensor.set_requires_grad(requires_grad);
  }
  return parameters_.insert(std::move(name), std::move(tensor));
}
Tensor& Module::register_buffer(std::string name, Tensor tensor) {
  check_name(name, "Buffer");
  return buffers_.insert(std::move(name), std::move(tensor));
}
Tensor& Module::replace_parameter(const std::string& name, Tensor tensor) {
  Tensor& mine = parameters_[name];
  mine = std::move(tensor);
  return mine;
}
void Module::add_child(std::string name, std::shared_ptr<Module> module) {
  check_name(name, "Submodule");
  if (!module) detail::raise_empty_holder();
  children_.insert(std::move(name), std::move(module));
}
void Module::unregister_module(const std::string& name) {
  UT_CHECK(children_.contains(name), "No Module with name `", name, "` is registered");
  children_.erase(name);
}
// -- modes and conversion

void Module::train(bool on) {
  for (auto& child : children_) child.value()->train(on);
  is_training_ = on;
}

void Module::convert(const std::function<Tensor(const Tensor&)>& function) {
  std::unordered_set<const void*> done;  // shared tensors once
  each({}, [&](const std::string&, const Module& module) {
    Module& m = const_cast<Module&>(module);
    for (Named* tensors : {&m.parameters_, &m.buffers_})
      for (auto& item : *tensors)
        if (item.value().defined() && done.insert(item.value().impl()).second)
          item.value().set_data(function(item.value().detach()));
  });
}
void Module::to(Device device, ScalarType dtype, bool non_blocking) {
  convert([=](const Tensor& t) { return t.to(device, dtype, non_blocking); });
}
// As in Python only floating-point tensors change their dtype: the count of batches stays an integer.
void Module::to(ScalarType dtype, bool non_blocking) {
  convert([=](const Tensor& t) { return t.is_floating_point() || t.is_complex() ? t.to(dtype, non_blocking) : t; });
}
void Module::to(Device device, bool non_blocking) {
  convert([=](const Tensor& t) { return t.to(device, t.dtype(), non_blocking); });
}

void Module::zero_grad(bool set_to_none) {
  for (const Tensor& p : parameters()) {
    const Tensor& grad = p.grad();
    if (!grad.defined()) continue;
    if (set_to_none)
      core::set_grad(p, {});
    else
      Tensor(grad.detach()).zero_();
  }
}

// -- state

Named Module::state_dict() const {
  Named out;
  each({}, [&](const std::string& prefix, const Module& m) {
    for (const Named* tensors : {&m.parameters_, &m.buffers_})
      for (const auto& item : *tensors)
        if (item.value().defined()) out.insert(joined(prefix, item.key()), item.value().detach());
  });
  return out;
}

void Module::load_state_dict(const Named& state, bool strict) {
  NoGradGuard no_grad;
  std::vector<std::string> missing, unexpected;
  std::string problems;
  Named mine = state_dict();
  for (const auto& item : state)
    if (!mine.contains(item.key())) unexpected.push_back(item.key());
  for (auto& item : mine) {
    const Tensor* given = state.find(item.key());
    if (!given) {
      missing.push_back(item.key());
      continue;
    }
    Tensor from = *given;
    if (item.value().dim() == 0 && from.dim() == 1 && from.size(0) == 1) from = from[0];  // from old files
    if (from.sizes() == item.value().sizes()) {
      item.value().copy_(from);
      continue;
    }
    problems +=
        core::str("\n\tsize mismatch for ", item.key(), ": copying a param with shape ", core::ShapeText{from.sizes()},
                  " from checkpoint, the shape in current model is ", core::ShapeText{item.value().sizes()}, ".");
  }
  if (strict && !unexpected.empty())
    problems = "\n\tUnexpected key(s) in state_dict: " + quoted(unexpected) + ". " + problems;
  if (strict && !missing.empty()) problems = "\n\tMissing key(s) in state_dict: " + quoted(missing) + ". " + problems;
  UT_CHECK(problems.empty(), "Error(s) in loading state_dict for ", name(), ":", problems);
}

std::shared_ptr<Module> Module::cloned(Module* copy, void (*reset)(Module&),
                                       const std::optional<Device>& device) const {
  std::shared_ptr<Module> owner = detail::own_module(copy);
  copy->parameters_.clear();
  copy->buffers_.clear();
  copy->children_.clear();
  detail::RandomStateGuard keep;  // copying draws no random numbers
  reset(*copy);
  Shared seen, shared;
  copy->each({}, [&](const std::string&, const Module& m) {
    for (const Named* tensors : {&m.parameters_, &m.buffers_})
      for (const auto& item : *tensors)
        if (item.value().defined() && !seen.insert(item.value().impl()).second) shared.insert(item.value().impl());
  });
  copy->copy_state_from(*this, device, shared);
  return owner;
}

void Module::copy_state_from(const Module& other, const std::optional<Device>& device, const Shared& shared) {
  NoGradGuard no_grad;
  is_training_ = other.is_training_;
  auto copy = [&](Named& to, const Named& from, const char* what) {
    UT_CHECK(to.size() == from.size(), "The cloned module does not have the same number of ", what,
             " as the original module after calling reset(). Are you sure you called register_parameter() or "
             "register_buffer() inside reset() and not the constructor?");
    for (const auto& item : from) {
      Tensor& mine = to[item.key()];
      if (!item.value().defined()) continue;
      Tensor data = device ? item.value().to(*device, item.value().dtype()) : item.value();
      if (mine.defined() && mine.sizes() == data.sizes() && mine.dtype() == data.dtype() &&
          mine.device() == data.device())
        mine.copy_(data);
      else
        mine.set_data(data.detach().clone());
      mine.set_requires_grad(item.value().requires_grad());
    }
  };
  copy(parameters_, other.parameters_, "parameters");
  copy(buffers_, other.buffers_, "buffers");
  UT_CHECK(children_.size() == other.children_.size(),
           "The cloned module does not have the same number of child modules as the original module after calling "
           "reset(). Are you sure you called register_module() inside reset() and not the constructor?");
  // A module without submodules is assigned, so that members such as options, which reset() does not set, are equal
  // too. In others, members refer to the submodules of the copy: only their tensors take the values of `other`.
  for (const auto& child : other.children_) {
    Module& mine = *children_[child.key()];
    bool is_shared = false;
    for (const Named* tensors : {&mine.parameters_, &mine.buffers_})
      for (const auto& item : *tensors) is_shared |= item.value().defined() && shared.contains(item.value().impl());
    if (is_shared || !mine.children_.is_empty() || !mine.assign(*child.value(), device))
      mine.copy_state_from(*child.value(), device, shared);
  }
}

// -- printing

void Module::pretty_print(std::ostream& stream) const { stream << describe(); }

void Module::print_tree(std::ostream& stream, const std::string& indent) const {
  pretty_print(stream);
  if (children_.empty()) return;
  stream << "(\n";
  for (const auto& child : children_) {
    stream << indent << "  (" << child.key() << "): ";
    child.value()->print_tree(stream, indent + "  ");
    stream << '\n';
  }
  stream << indent << ")";
}

std::ostream& operator<<(std::ostream& stream, const Module& module) {
  module.print_tree(stream, "");
  return stream;
}

}  // namespace undertow::nn
