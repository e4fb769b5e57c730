// any_module.h: `AnyModule`, a module of any class whose forward can be called: what the elements of Sequential are.
#pragma once
#include <any>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <undertow/nn/module.h>

namespace undertow::nn {

// A value of any type that can be copied: an argument or result of a module.
class AnyValue {
 public:
  AnyValue() = default;
  template <typename T>
    requires(!std::is_same_v<std::decay_t<T>, AnyValue>)
  explicit AnyValue(T&& value) : value_(std::forward<T>(value)) {}
  template <typename T>
  T* try_get() {
    return std::any_cast<T>(&value_);
  }
  template <typename T>
  T get() {
    if (T* found = try_get<T>()) return *found;
    detail::raise_cast("AnyValue::get", typeid(T), type_info());
  }
  const std::type_info& type_info() const noexcept { return value_.type(); }

 private:
  std::any value_;
};

// The last arguments of forward have default values: {position, AnyValue(default)}, ... They are used where the module
// is called with fewer arguments through AnyModule or Sequential. The position counts from 0.
#define UNDERTOW_FORWARD_HAS_DEFAULT_ARGS(...)                                               \
  bool _forward_has_default_args() override { return true; }                                 \
  unsigned int _forward_num_required_args() override {                                       \
    std::vector<std::pair<unsigned int, ::undertow::nn::AnyValue>> defaults = {__VA_ARGS__}; \
    return defaults[0].first;                                                                \
  }                                                                                          \
  std::vector<::undertow::nn::AnyValue> _forward_populate_default_args(                      \
      std::vector<::undertow::nn::AnyValue>&& arguments) override {                          \
    std::vector<std::pair<unsigned int, ::undertow::nn::AnyValue>> defaults = {__VA_ARGS__}; \
    for (auto& [position, value] : defaults)                                                 \
      if (position >= arguments.size()) arguments.push_back(std::move(value));               \
    return std::move(arguments);                                                             \
  }

namespace detail {
template <typename M>
concept HasPlainForward = requires { &M::forward; };

template <typename A>
decltype(auto) argument(std::vector<AnyValue>& values, std::size_t k) {
  using T = std::decay_t<A>;
  T* found = values[k].template try_get<T>();
  if (!found) raise_argument_type(k, typeid(T), values[k].type_info());
  if constexpr (std::is_lvalue_reference_v<A>)
    return static_cast<T&>(*found);
  else
    return T(std::move(*found));
}
template <typename M, typename R, typename C, typename... A, std::size_t... I>
AnyValue invoke_forward(M& module, std::vector<AnyValue>& values, R (C::*)(A...), std::index_sequence<I...>) {
  return AnyValue(module.forward(argument<A>(values, I)...));
}
template <typename M, typename R, typename C, typename... A, std::size_t... I>
AnyValue invoke_forward(M& module, std::vector<AnyValue>& values, R (C::*)(A...) const, std::index_sequence<I...>) {
  return AnyValue(module.forward(argument<A>(values, I)...));
}
template <typename R, typename C, typename... A>
std::index_sequence_for<A...> parameters_of(R (C::*)(A...));
template <typename R, typename C, typename... A>
std::index_sequence_for<A...> parameters_of(R (C::*)(A...) const);
}  // namespace detail

class AnyModule {
 public:
  AnyModule() = default;
  template <typename M>
    requires std::is_base_of_v<Module, M>
  explicit AnyModule(std::shared_ptr<M> module) : ptr_(module), call_(&call<M>) {}
  template <typename M>
    requires std::is_base_of_v<Module, std::decay_t<M>>
  explicit AnyModule(M&& module) : AnyModule(std::make_shared<std::decay_t<M>>(std::forward<M>(module))) {}
  template <typename M>
  explicit AnyModule(const ModuleHolder<M>& holder) : AnyModule(holder.ptr()) {}
  template <typename M>
    requires(std::is_base_of_v<Module, M> || detail::is_module_holder<M>)
  AnyModule& operator=(std::shared_ptr<M> module) {
    return *this = AnyModule(std::move(module));
  }

  AnyModule clone(const std::optional<Device>& device = std::nullopt) const {
    AnyModule copy = *this;
    if (ptr_) copy.ptr_ = ptr_->clone(device);
    return copy;
  }
  bool is_empty() const noexcept { return ptr_ == nullptr; }
  std::shared_ptr<Module> ptr() const { return ptr_; }
  template <typename T>
  std::shared_ptr<detail::contained_t<T>> ptr() const {
    return std::dynamic_pointer_cast<detail::contained_t<T>>(ptr_);
  }
  template <typename T>
  detail::contained_t<T>& get() const {
    if (!ptr_) detail::raise_empty_holder();
    if (auto* found = ptr_->as<T>()) return *found;
    detail::raise_cast("AnyModule::get", typeid(detail::contained_t<T>), type_info());
  }
  const std::type_info& type_info() const;

  // Calls forward. Types are compared exactly: nothing is converted.
  template <typename... Args>
  AnyValue any_forward(Args&&... args) {
    std::vector<AnyValue> values;
    values.reserve(sizeof...(Args));
    (values.push_back(as_value(std::forward<Args>(args))), ...);
    return forward_values(std::move(values));
  }
  template <typename R = Tensor, typename... Args>
  R forward(Args&&... args) {
    return any_forward(std::forward<Args>(args)...).template get<R>();
  }

 private:
  using Call = AnyValue (*)(AnyModule&, std::vector<AnyValue>&);
  template <typename T>
  static AnyValue as_value(T&& value) {
    if constexpr (std::is_same_v<std::decay_t<T>, AnyValue>)
      return std::forward<T>(value);
    else
      return AnyValue(std::forward<T>(value));
  }
  AnyValue forward_values(std::vector<AnyValue>&& values);
  void complete(std::vector<AnyValue>& values, std::size_t count);  // adds default arguments, checks the number
  template <typename M>
  static AnyValue call(AnyModule& self, std::vector<AnyValue>& values) {
    M& module = static_cast<M&>(*self.ptr_);
    if constexpr (detail::HasPlainForward<M>) {
      using Indices = decltype(detail::parameters_of(&M::forward));
      self.complete(values, Indices::size());
      return detail::invoke_forward(module, values, &M::forward, Indices{});
    } else {  // a template, as in Sequential: from tensor to tensor
      self.complete(values, 1);
      return AnyValue(module.forward(detail::argument<Tensor>(values, 0)));
    }
  }

  std::shared_ptr<Module> ptr_;
  Call call_ = nullptr;
};

// A module with its name in a Sequential or ModuleDict: {"fc1", Linear(3, 4)}.
class NamedAnyModule {
 public:
  template <typename M>
  NamedAnyModule(std::string name, M&& module) : name_(std::move(name)), module_(make(std::forward<M>(module))) {}
  const std::string& name() const noexcept { return name_; }
  AnyModule& module() noexcept { return module_; }
  const AnyModule& module() const noexcept { return module_; }

 private:
  template <typename M>
  static AnyModule make(M&& module) {
    if constexpr (std::is_same_v<std::decay_t<M>, AnyModule>)
      return std::forward<M>(module);
    else
      return AnyModule(std::forward<M>(module));
  }
  std::string name_;
  AnyModule module_;
};

}  // namespace undertow::nn
