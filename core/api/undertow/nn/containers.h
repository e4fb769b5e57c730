// containers.h: modules and parameters in order (Sequential, ModuleList, ParameterList) or by name (ModuleDict,
// ParameterDict).
#pragma once
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <undertow/nn/any_module.h>

namespace undertow::nn {

namespace detail {
template <typename T>
inline constexpr bool is_module_like = std::is_base_of_v<Module, std::decay_t<T>> || is_module_holder<T>;
template <typename T>
inline constexpr bool is_module_like<std::shared_ptr<T>> = std::is_base_of_v<Module, T>;

inline const std::type_info& class_of(const Module& module) { return typeid(module); }

template <typename M>
std::shared_ptr<Module> shared_module(M&& module) {
  using D = std::decay_t<M>;
  if constexpr (is_module_holder<D>)
    return module.ptr();
  else if constexpr (std::is_base_of_v<Module, D>)
    return own_module(new D(std::forward<M>(module)));
  else
    return std::forward<M>(module);
}
}  // namespace detail

// Calls its modules one after the other: each receives what the one before it returned.
class SequentialImpl : public Cloneable<SequentialImpl> {
 public:
  using Iterator = std::vector<AnyModule>::iterator;
  using ConstIterator = std::vector<AnyModule>::const_iterator;

  SequentialImpl() = default;
  explicit SequentialImpl(OrderedDict<std::string, AnyModule>&& modules) {
    for (auto& item : modules) push_back(item.key(), std::move(item.value()));
  }
  explicit SequentialImpl(std::initializer_list<NamedAnyModule> modules) {
    for (const NamedAnyModule& m : modules) push_back(m.name(), m.module());
  }
  template <typename First, typename... Rest>
    requires(!std::is_same_v<std::decay_t<First>, SequentialImpl> &&
             !std::is_same_v<std::decay_t<First>, OrderedDict<std::string, AnyModule>> &&
             !std::is_same_v<std::decay_t<First>, std::initializer_list<NamedAnyModule>>)
  explicit SequentialImpl(First&& first, Rest&&... rest) {
    push_back(std::forward<First>(first));
    (push_back(std::forward<Rest>(rest)), ...);
  }

  inline std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;
  void reset() override {}
  std::string describe() const override { return "undertow::nn::Sequential"; }

  template <typename R = Tensor, typename... Inputs>
  R forward(Inputs&&... inputs) {
    if (modules_.empty()) detail::raise_no_elements("Cannot call forward()", "Sequential");
    auto module = modules_.begin();
    AnyValue value = module->any_forward(std::forward<Inputs>(inputs)...);
    for (++module; module != modules_.end(); ++module) value = module->any_forward(std::move(value));
    if (R* found = value.try_get<R>()) return std::move(*found);
    detail::raise_return_type(typeid(R), value.type_info());
  }

  void push_back(std::string name, AnyModule module);
  void push_back(AnyModule module) { push_back(std::to_string(modules_.size()), std::move(module)); }
  template <typename M>
    requires(detail::is_module_like<std::decay_t<M>>)
  void push_back(M&& module) {
    push_back(AnyModule(std::forward<M>(module)));
  }
  template <typename M>
    requires(detail::is_module_like<std::decay_t<M>>)
  void push_back(std::string name, M&& module) {
    push_back(std::move(name), AnyModule(std::forward<M>(module)));
  }
  void push_back(const NamedAnyModule& module) { push_back(module.name(), module.module()); }
  template <typename Container>
  void extend(const Container& modules) {
    for (const auto& module : modules) push_back(module);
  }

  std::size_t size() const noexcept { return modules_.size(); }
  bool is_empty() const noexcept { return modules_.empty(); }
  Iterator begin() { return modules_.begin(); }
  Iterator end() { return modules_.end(); }
  ConstIterator begin() const { return modules_.begin(); }
  ConstIterator end() const { return modules_.end(); }
  template <typename T>
  detail::contained_t<T>& at(std::size_t index) {
    return any_at(index).template get<detail::contained_t<T>>();
  }
  std::shared_ptr<Module> ptr(std::size_t index) const { return any_at(index).ptr(); }
  template <typename T>
  std::shared_ptr<detail::contained_t<T>> ptr(std::size_t index) const {
    return any_at(index).template ptr<T>();
  }
  std::shared_ptr<Module> operator[](std::size_t index) const { return ptr(index); }

 private:
  const AnyModule& any_at(std::size_t index) const {
    if (index >= modules_.size()) detail::raise_index(static_cast<int64_t>(index), modules_.size());
    return modules_[index];
  }
  std::vector<AnyModule> modules_;
};
class Sequential : public ModuleHolder<SequentialImpl> {
 public:
  using ModuleHolder<SequentialImpl>::ModuleHolder;
  using Impl [[maybe_unused]] = SequentialImpl;
  Sequential() = default;
  Sequential(std::initializer_list<NamedAnyModule> modules) : ModuleHolder(std::make_shared<SequentialImpl>(modules)) {}
};

// Modules in a list. Unlike Sequential it has no forward.
class ModuleListImpl : public Cloneable<ModuleListImpl> {
 public:
  using Iterator = std::vector<std::shared_ptr<Module>>::iterator;
  using ConstIterator = std::vector<std::shared_ptr<Module>>::const_iterator;
  ModuleListImpl() = default;
  template <typename... Modules>
    requires(sizeof...(Modules) > 0 && (detail::is_module_like<std::decay_t<Modules>> && ...) &&
             !(std::is_same_v<std::decay_t<Modules>, ModuleListImpl> || ...))
  explicit ModuleListImpl(Modules&&... modules) {
    (push_back(std::forward<Modules>(modules)), ...);
  }
  inline std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;
  void reset() override {}
  std::string describe() const override { return "undertow::nn::ModuleList"; }

  template <typename M>
  void push_back(M&& module) {
    add(detail::shared_module(std::forward<M>(module)));
  }
  template <typename Container>
  void extend(const Container& modules) {
    for (const auto& module : modules) push_back(module);
  }
  template <typename M>
  void insert(std::size_t index, M&& module) {
    insert_at(index, detail::shared_module(std::forward<M>(module)));
  }
  std::size_t size() const noexcept { return modules_.size(); }
  bool is_empty() const noexcept { return modules_.empty(); }
  Iterator begin() { return modules_.begin(); }
  Iterator end() { return modules_.end(); }
  ConstIterator begin() const { return modules_.begin(); }
  ConstIterator end() const { return modules_.end(); }
  const std::shared_ptr<Module>& ptr(std::size_t index) const {
    if (index >= modules_.size()) detail::raise_index(static_cast<int64_t>(index), modules_.size());
    return modules_[index];
  }
  template <typename T>
  std::shared_ptr<detail::contained_t<T>> ptr(std::size_t index) const {
    return std::dynamic_pointer_cast<detail::contained_t<T>>(ptr(index));
  }
  template <typename T>
  detail::contained_t<T>& at(std::size_t index) const {
    const std::shared_ptr<Module>& found = ptr(index);
    if (auto* module = found->as<T>()) return *module;
    detail::raise_cast("Unable to cast module", typeid(detail::contained_t<T>), detail::class_of(*found));
  }
  const std::shared_ptr<Module>& operator[](std::size_t index) const { return ptr(index); }

 private:
  void add(std::shared_ptr<Module> module);
  void insert_at(std::size_t index, std::shared_ptr<Module> module);
  std::vector<std::shared_ptr<Module>> modules_;
};
UNDERTOW_MODULE(ModuleList);

// Modules by name.
class ModuleDictImpl : public Cloneable<ModuleDictImpl> {
 public:
  using Items = OrderedDict<std::string, std::shared_ptr<Module>>;
  ModuleDictImpl() = default;
  explicit ModuleDictImpl(const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules) {
    update(modules);
  }
  explicit ModuleDictImpl(const Items& modules) { update(modules); }
  inline std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;
  void reset() override {}
  std::string describe() const override { return "undertow::nn::ModuleDict"; }

  const std::vector<Items::Item>& items() const { return children_.items(); }
  std::vector<std::string> keys() const { return children_.keys(); }
  std::vector<std::shared_ptr<Module>> values() const { return children_.values(); }
  Items::Iterator begin() { return children_.begin(); }
  Items::Iterator end() { return children_.end(); }
  Items::ConstIterator begin() const { return children_.begin(); }
  Items::ConstIterator end() const { return children_.end(); }
  std::size_t size() const noexcept { return children_.size(); }
  bool empty() const noexcept { return children_.is_empty(); }
  bool contains(const std::string& key) const noexcept { return children_.contains(key); }
  void clear();
  std::shared_ptr<Module> pop(const std::string& key);
  // Adds modules; one with a known name replaces the module of that name.
  void update(const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules) {
    for (const auto& [key, module] : modules) put(key, module);
  }
  void update(const Items& modules) { update(modules.pairs()); }
  void update(const ModuleDictImpl& other) { update(other.children_); }
  template <typename M>
  void insert(const std::string& key, M&& module) {
    put(key, detail::shared_module(std::forward<M>(module)));
  }
  std::shared_ptr<Module> operator[](const std::string& key) const { return children_[key]; }
  template <typename T>
  detail::contained_t<T>& at(const std::string& key) const {
    std::shared_ptr<Module> found = (*this)[key];
    if (auto* module = found->as<T>()) return *module;
    detail::raise_cast("Unable to cast module", typeid(detail::contained_t<T>), detail::class_of(*found));
  }

 private:
  void put(const std::string& key, std::shared_ptr<Module> module);
};
UNDERTOW_MODULE(ModuleDict);

// Parameters in a list.
class ParameterListImpl : public Cloneable<ParameterListImpl> {
 public:
  ParameterListImpl() = default;
  template <typename... Tensors>
    requires(sizeof...(Tensors) > 0 && (std::is_convertible_v<Tensors, Tensor> && ...))
  explicit ParameterListImpl(Tensors&&... parameters) {
    (append(std::forward<Tensors>(parameters)), ...);
  }
  inline std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;
  void reset() override {}
  void append(const Tensor& parameter);
  void append(const OrderedDict<std::string, Tensor>::Item& item) { append(item.value()); }
  template <typename Container>
  void extend(const Container& parameters) {
    for (const auto& item : parameters) append(item);
  }
  std::size_t size() const noexcept { return parameters_.size(); }
  bool is_empty() const noexcept { return parameters_.empty(); }
  auto begin() { return parameters_.begin(); }
  auto end() { return parameters_.end(); }
  auto begin() const { return parameters_.begin(); }
  auto end() const { return parameters_.end(); }
  Tensor& at(std::size_t index) { return parameters_[index].value(); }
  const Tensor& at(std::size_t index) const { return parameters_[index].value(); }
  Tensor& operator[](std::size_t index) { return at(index); }
  const Tensor& operator[](std::size_t index) const { return at(index); }
  ParameterListImpl& operator+=(const ParameterListImpl& other);
};
UNDERTOW_MODULE(ParameterList);

// Parameters by name.
class ParameterDictImpl : public Cloneable<ParameterDictImpl> {
 public:
  ParameterDictImpl() = default;
  explicit ParameterDictImpl(const OrderedDict<std::string, Tensor>& parameters) {
    for (const auto& item : parameters) insert(item.key(), item.value());
  }
  inline std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;
  void reset() override {}
  Tensor& insert(const std::string& key, const Tensor& parameter);
  // Replaces parameters that exist.
  void update(const OrderedDict<std::string, Tensor>& parameters);
  void update(const ParameterDictImpl& other) { update(other.parameters_); }
  Tensor pop(const std::string& key);
  void clear() { parameters_.clear(); }
  bool contains(const std::string& key) const noexcept { return parameters_.contains(key); }
  std::vector<std::string> keys() const { return parameters_.keys(); }
  std::vector<Tensor> values() const { return parameters_.values(); }
  std::size_t size() const noexcept { return parameters_.size(); }
  bool empty() const noexcept { return parameters_.empty(); }
  auto begin() { return parameters_.begin(); }
  auto end() { return parameters_.end(); }
  auto begin() const { return parameters_.begin(); }
  auto end() const { return parameters_.end(); }
  const std::vector<OrderedDict<std::string, Tensor>::Item>& items() const { return parameters_.items(); }
  Tensor& get(const std::string& key) { return parameters_[key]; }
  const Tensor& get(const std::string& key) const { return parameters_[key]; }
  Tensor& operator[](const std::string& key) { return parameters_[key]; }
  const Tensor& operator[](const std::string& key) const { return parameters_[key]; }
};
UNDERTOW_MODULE(ParameterDict);

// A function as a module, for use in Sequential: Functional(undertow::relu).
class FunctionalImpl : public Cloneable<FunctionalImpl> {
 public:
  using Function = std::function<Tensor(Tensor)>;
  explicit FunctionalImpl(Function function) : function_(std::move(function)) {}
  template <typename F, typename... Args>
    requires(sizeof...(Args) > 0)
  explicit FunctionalImpl(F function, Args... args)
      : function_([=](Tensor input) { return function(std::move(input), args...); }) {}
  void reset() override {}
  Tensor forward(Tensor input) { return function_(std::move(input)); }
  Tensor operator()(Tensor input) { return forward(std::move(input)); }
  bool is_serializable() const override { return false; }

 private:
  Function function_;
};
UNDERTOW_MODULE(Functional);

}  // namespace undertow::nn

#include <undertow/nn/containers_inline.h>
