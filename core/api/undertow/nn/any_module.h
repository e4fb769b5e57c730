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
    detail::raise_cast("Attempted to cast AnyValue", typeid(T), type_info());
  }
  const std::type_info& type_info() const noexcept { return value_.type(); }

 private:
  std::any value_;
};

// For programs written for libtorch. Nothing has to be declared here: where a module is called through AnyModule or
// Sequential with fewer arguments than forward has, the default arguments of forward itself are used.
#define UNDERTOW_FORWARD_HAS_DEFAULT_ARGS(...)

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
// Calls forward with as many arguments as there are values, if it can be called with so many.
template <typename M, typename Types, std::size_t... I>
bool invoke_with(M& module, std::vector<AnyValue>& values, AnyValue& result, std::index_sequence<I...>) {
  if constexpr (requires { module.forward(argument<std::tuple_element_t<I, Types>>(values, I)...); }) {
    result = AnyValue(module.forward(argument<std::tuple_element_t<I, Types>>(values, I)...));
    return true;
  } else {
    return false;
  }
}
template <std::size_t N, typename M, typename Types>
bool invoke_forward(M& module, std::vector<AnyValue>& values, AnyValue& result) {
  if (values.size() == N) return invoke_with<M, Types>(module, values, result, std::make_index_sequence<N>());
  if constexpr (N > 0)
    return invoke_forward<N - 1, M, Types>(module, values, result);
  else
    return false;
}
template <typename... A>
struct ArgumentTypes {};
template <typename R, typename C, typename... A>
ArgumentTypes<A...> parameters_of(R (C::*)(A...));
template <typename R, typename C, typename... A>
ArgumentTypes<A...> parameters_of(R (C::*)(A...) const);
template <typename M, typename... A>
AnyValue call_forward(M& module, std::vector<AnyValue>& values, ArgumentTypes<A...>) {
  AnyValue result;
  if (!invoke_forward<sizeof...(A), M, std::tuple<A...>>(module, values, result))
    raise_argument_count(module.name(), sizeof...(A), values.size());
  return result;
}
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
    using Contained = detail::contained_t<T>;
    if (!ptr_) detail::raise_empty_holder();
    if (auto found = std::dynamic_pointer_cast<Contained>(ptr_)) return found;
    detail::raise_cast("Attempted to cast module", typeid(Contained), type_info());
  }
  // A class of modules gives a reference to the module, a holder's class another holder of it.
  template <typename T>
  decltype(auto) get() const {
    if constexpr (detail::is_module_holder<T>)
      return T(ptr<T>());
    else
      return static_cast<T&>(*ptr<T>());
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
  template <typename M>
  static AnyValue call(AnyModule& self, std::vector<AnyValue>& values) {
    M& module = static_cast<M&>(*self.ptr_);
    if constexpr (detail::HasPlainForward<M>)
      return detail::call_forward(module, values, decltype(detail::parameters_of(&M::forward))());
    else  // a template, as in Sequential: from tensor to tensor
      return detail::call_forward(module, values, detail::ArgumentTypes<Tensor>());
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
