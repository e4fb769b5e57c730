// module_holder.h: `ModuleHolder`, a shared pointer to a module that is called like a function, and UNDERTOW_MODULE,
// which defines `Net` for a class `NetImpl`.
#pragma once
#include <memory>
#include <type_traits>
#include <utility>

#include <undertow/nn/errors.h>

namespace undertow::nn {

class Module;

namespace detail {
// A shared pointer to a new module. Compiled once, unlike make_shared of every class.
std::shared_ptr<Module> own_module(Module* module);

struct ModuleHolderIndicator {};
template <typename T>
inline constexpr bool is_module_holder = std::is_base_of_v<ModuleHolderIndicator, std::decay_t<T>>;
template <typename T>
struct Contained {
  using type = T;
};
template <typename T>
  requires(is_module_holder<T>)
struct Contained<T> {
  using type = typename T::ContainedType;
};
template <typename T>
using contained_t = typename Contained<std::decay_t<T>>::type;

// Restores the default generator's state at the end of the scope.
class RandomStateGuard {
 public:
  RandomStateGuard();
  ~RandomStateGuard();
  RandomStateGuard(const RandomStateGuard&) = delete;
  RandomStateGuard& operator=(const RandomStateGuard&) = delete;

 private:
  void* saved_;
};
}  // namespace detail

template <typename ContainedModule>
class ModuleHolder : detail::ModuleHolderIndicator {
 public:
  using ContainedType = ContainedModule;

  ModuleHolder() : ModuleHolder(owned(new ContainedType())) {}
  ModuleHolder(std::nullptr_t) {}
  ModuleHolder(std::shared_ptr<ContainedType> module) : impl_(std::move(module)) {}
  template <typename Head, typename... Tail>
    requires(!(std::is_base_of_v<ModuleHolder, std::decay_t<Head>> && sizeof...(Tail) == 0) &&
             !std::is_same_v<std::decay_t<Head>, std::shared_ptr<ContainedModule>> &&
             !std::is_same_v<std::decay_t<Head>, std::nullptr_t>)
  explicit ModuleHolder(Head&& head, Tail&&... tail)
      : impl_(owned(new ContainedType(std::forward<Head>(head), std::forward<Tail>(tail)...))) {}

  explicit operator bool() const noexcept { return !is_empty(); }
  bool is_empty() const noexcept { return impl_ == nullptr; }
  ContainedType* operator->() { return get(); }
  const ContainedType* operator->() const { return get(); }
  ContainedType& operator*() { return *get(); }
  const ContainedType& operator*() const { return *get(); }
  const std::shared_ptr<ContainedType>& ptr() const {
    if (!impl_) detail::raise_empty_holder();
    return impl_;
  }
  ContainedType* get() {
    if (!impl_) detail::raise_empty_holder();
    return impl_.get();
  }
  const ContainedType* get() const {
    if (!impl_) detail::raise_empty_holder();
    return impl_.get();
  }
  template <typename... Args, typename M = ContainedType>
  auto operator()(Args&&... args) -> decltype(std::declval<M&>().forward(std::forward<Args>(args)...)) {
    return get()->forward(std::forward<Args>(args)...);
  }
  template <typename Index>
  decltype(auto) operator[](Index&& index) {
    return (*get())[std::forward<Index>(index)];
  }

 protected:
  std::shared_ptr<ContainedType> impl_;

 private:
  static std::shared_ptr<ContainedType> owned(ContainedType* module) {
    return std::static_pointer_cast<ContainedType>(detail::own_module(module));
  }
};

template <typename M>
std::ostream& operator<<(std::ostream& stream, const ModuleHolder<M>& module) {
  return stream << *module;
}

}  // namespace undertow::nn

#define UNDERTOW_MODULE_IMPL(Name, ImplType)                    \
  class Name : public ::undertow::nn::ModuleHolder<ImplType> {  \
   public:                                                      \
    using ::undertow::nn::ModuleHolder<ImplType>::ModuleHolder; \
    using Impl [[maybe_unused]] = ImplType;                     \
  }
// Defines the holder `Name` of the class `NameImpl`.
#define UNDERTOW_MODULE(Name) UNDERTOW_MODULE_IMPL(Name, Name##Impl)
