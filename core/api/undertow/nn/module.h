// module.h: `Module`, the base class of all layers and models: parameters, buffers and submodules by name, traversal,
// modes, state. A class that derives from Cloneable can also be copied.
#pragma once
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <unordered_set>
#include <vector>

#include <undertow/nn/module_holder.h>
#include <undertow/tensor.h>
#include <undertow/types/ordered_dict.h>

namespace undertow {
namespace serialize {
class InputArchive;
class OutputArchive;
}  // namespace serialize

namespace nn {
class AnyValue;
class Module;
template <typename Derived, typename Base = Module>
class Cloneable;

class Module : public std::enable_shared_from_this<Module> {
 public:
  using ModuleApplyFunction = std::function<void(Module&)>;
  using ConstModuleApplyFunction = std::function<void(const Module&)>;
  using NamedModuleApplyFunction = std::function<void(const std::string&, Module&)>;
  using ConstNamedModuleApplyFunction = std::function<void(const std::string&, const Module&)>;
  using ModulePointerApplyFunction = std::function<void(const std::shared_ptr<Module>&)>;
  using NamedModulePointerApplyFunction = std::function<void(const std::string&, const std::shared_ptr<Module>&)>;

  Module() = default;
  explicit Module(std::string name) : name_(std::move(name)) {}
  virtual ~Module() = default;
  Module(const Module&) = default;
  Module(Module&&) noexcept = default;
  Module& operator=(const Module&) = default;
  Module& operator=(Module&&) noexcept = default;

  const std::string& name() const noexcept;  // the name given to the constructor, or that of the class
  virtual std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const;

  // Calls a function on this module and all submodules, parents first.
  void apply(const ModuleApplyFunction& function);
  void apply(const ConstModuleApplyFunction& function) const;
  void apply(const NamedModuleApplyFunction& function, const std::string& name_prefix = {});
  void apply(const ConstNamedModuleApplyFunction& function, const std::string& name_prefix = {}) const;
  void apply(const ModulePointerApplyFunction& function) const;
  void apply(const NamedModulePointerApplyFunction& function, const std::string& name_prefix = {}) const;

  // As in Python a tensor that is registered twice, such as a tied weight, appears once; state_dict has all names.
  std::vector<Tensor> parameters(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_parameters(bool recurse = true) const;
  std::vector<Tensor> buffers(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_buffers(bool recurse = true) const;
  std::vector<std::shared_ptr<Module>> modules(bool include_self = true) const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_modules(const std::string& name_prefix = {},
                                                                  bool include_self = true) const;
  std::vector<std::shared_ptr<Module>> children() const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_children() const;

  virtual void train(bool on = true);
  void eval() { train(false); }
  virtual bool is_training() const noexcept { return is_training_; }
  virtual void to(Device device, ScalarType dtype, bool non_blocking = false);
  virtual void to(ScalarType dtype, bool non_blocking = false);
  virtual void to(Device device, bool non_blocking = false);
  virtual void zero_grad(bool set_to_none = true);

  // The state: parameters and buffers by dotted name, in Python's order and with its names. The tensors share memory
  // with the module. load_state_dict copies; with `strict` it raises if names are missing or unexpected.
  OrderedDict<std::string, Tensor> state_dict() const;
  void load_state_dict(const OrderedDict<std::string, Tensor>& state, bool strict = true);
  virtual void save(serialize::OutputArchive& archive) const;
  virtual void load(serialize::InputArchive& archive);
  virtual bool is_serializable() const { return true; }

  virtual void pretty_print(std::ostream& stream) const;

  // Null if the module has another class. T is a module class or its holder: as<Linear>(), as<LinearImpl>().
  template <typename T>
  auto as() noexcept {
    return dynamic_cast<detail::contained_t<T>*>(this);
  }
  template <typename T>
  auto as() const noexcept {
    return dynamic_cast<const detail::contained_t<T>*>(this);
  }

  Tensor& register_parameter(std::string name, Tensor tensor, bool requires_grad = true);
  Tensor& register_buffer(std::string name, Tensor tensor);
  // Makes a registered name refer to another tensor, for example to tie two weights. The member variable that holds
  // the tensor must be assigned as well.
  Tensor& replace_parameter(const std::string& name, Tensor tensor);
  template <typename M>
  std::shared_ptr<M> register_module(std::string name, std::shared_ptr<M> module) {
    add_child(std::move(name), module);
    return module;
  }
  template <typename M>
  std::shared_ptr<M> register_module(std::string name, ModuleHolder<M> holder) {
    return register_module(std::move(name), holder.ptr());
  }
  template <typename M>
  std::shared_ptr<M> replace_module(const std::string& name, std::shared_ptr<M> module) {
    if (!module) detail::raise_empty_holder();
    children_[name] = module;
    return module;
  }
  template <typename M>
  std::shared_ptr<M> replace_module(const std::string& name, ModuleHolder<M> holder) {
    return replace_module(name, holder.ptr());
  }
  void unregister_module(const std::string& name);

 protected:
  // One line for pretty_print: the class and its options. A module with submodules prints them after it.
  virtual std::string describe() const { return name(); }

  OrderedDict<std::string, Tensor> parameters_{"Parameter"};
  OrderedDict<std::string, std::shared_ptr<Module>> children_{"Submodule"};

 private:
  template <typename Derived, typename Base>
  friend class Cloneable;
  friend class AnyModule;
  friend std::ostream& operator<<(std::ostream& stream, const Module& module);

  void add_child(std::string name, std::shared_ptr<Module> module);
  using Visit = void (*)(void* function, const std::string& name, const Module& module);
  void each(const std::string& prefix, void* function, Visit visit) const;
  template <class Function>
  void each(const std::string& prefix, Function&& function) const;
  // Takes ownership of a new copy, resets it and gives it the values of this module.
  std::shared_ptr<Module> cloned(Module* copy, void (*reset)(Module&), const std::optional<Device>& device) const;
  void convert(const std::function<Tensor(const Tensor&)>& function);
  OrderedDict<std::string, Tensor> collect(OrderedDict<std::string, Tensor> Module::* from, bool recurse) const;
  // Takes over the parameters, buffers and submodules of `other`; tensors that several modules share stay shared.
  using Shared = std::unordered_set<const void*>;
  void copy_state_from(const Module& other, const std::optional<Device>& device, const Shared& shared);
  // Makes a submodule of a copy equal to `other`, with all members of its class. Returns false if it cannot.
  virtual bool assign(const Module&, const std::optional<Device>&) { return false; }
  void print_tree(std::ostream& stream, const std::string& indent) const;
  std::shared_ptr<Module> shared_from_this_checked() const;

  OrderedDict<std::string, Tensor> buffers_{"Buffer"};
  mutable std::string name_;
  bool is_training_ = true;
};

std::ostream& operator<<(std::ostream& stream, const Module& module);

// A module that can be copied with its parameters. `reset()` registers everything that the module owns: the copy calls
// it, and then receives the values.
template <typename Derived, typename Base>
class Cloneable : public Base {
 public:
  using Base::Base;
  virtual void reset() = 0;
  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override {
    auto* copy = new Derived(static_cast<const Derived&>(*this));
    return this->cloned(copy, [](Module& m) { static_cast<Derived&>(m).reset(); }, device);
  }

 private:
  bool assign(const Module& other, const std::optional<Device>& device) override {
    if constexpr (std::is_copy_assignable_v<Derived>) {
      if (typeid(other) != typeid(Derived)) return false;
      static_cast<Derived&>(*this) = static_cast<const Derived&>(*other.clone(device));
      return true;
    }
    return false;
  }
};

}  // namespace nn
}  // namespace undertow
