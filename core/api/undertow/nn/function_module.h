// function_module.h: the base class of modules without parameters, which call one function of nn::functional with their
// options. They exist in headers only, and so cost nothing where they are not used.
#pragma once
#include <concepts>

#include <undertow/nn/functional.h>
#include <undertow/nn/module.h>

namespace undertow::nn::detail {

struct NoOptions {};

template <typename Derived, typename Options>
class FunctionModule : public Cloneable<Derived> {
 public:
  FunctionModule()
    requires std::default_initializable<Options>
  = default;
  template <typename First, typename... Rest>
    requires(std::constructible_from<Options, First, Rest...> && !std::derived_from<std::decay_t<First>, Module>)
  explicit FunctionModule(First&& first, Rest&&... rest)
      : options(std::forward<First>(first), std::forward<Rest>(rest)...) {}
  void reset() override {}

  Options options;

 protected:
  std::string describe() const override { return printed_name(this->name()) + "()"; }
};

}  // namespace undertow::nn::detail

// A module `Name` whose forward is `expression` of `input`, the options `o`, and the module itself.
#define UNDERTOW_FUNCTION_MODULE(Name, OptionsType, expression)                               \
  class Name##Impl : public ::undertow::nn::detail::FunctionModule<Name##Impl, OptionsType> { \
   public:                                                                                    \
    using FunctionModule::FunctionModule;                                                     \
    ::undertow::Tensor forward(const ::undertow::Tensor& input) {                             \
      [[maybe_unused]] const auto& o = options;                                               \
      return expression;                                                                      \
    }                                                                                         \
  };                                                                                          \
  UNDERTOW_MODULE(Name)
