// library.h: TORCH_LIBRARY, torch::RegisterOperators and the guards of torch's dispatcher.
#pragma once
#include <undertow/library.h>

#include <undertow_compat/names.h>

#define TORCH_LIBRARY(ns, m) UNDERTOW_LIBRARY(ns, m)
#define TORCH_LIBRARY_FRAGMENT(ns, m) UNDERTOW_LIBRARY_FRAGMENT(ns, m)
#define TORCH_LIBRARY_IMPL(ns, key, m) UNDERTOW_LIBRARY_IMPL(ns, key, m)
#define TORCH_FN(f) (&f)
#define TORCH_FN_TYPE(f) decltype(&f)
#define TORCH_SELECTIVE_NAME(name) name
#define TORCH_SELECTIVE_SCHEMA(schema) schema

namespace undertow {

using library::Dispatcher;
using library::OperatorHandle;
template <class F>
using TypedOperatorHandle = library::TypedHandle<F>;
using library::dispatch;

// Nothing below autograd is recorded, and operators skip their kernels for Autograd.
struct AutoDispatchBelowADInplaceOrView : library::BelowAutogradGuard {};
struct AutoDispatchBelowAutograd : library::BelowAutogradGuard {};
struct AutoNonVariableTypeMode : library::BelowAutogradGuard {
  explicit AutoNonVariableTypeMode(bool = true) {}
};

// static auto registry = torch::RegisterOperators().op("ns::name", &f).op("ns::other(Tensor x) -> Tensor", &g);
class RegisterOperators {
 public:
  class Options {
   public:
    Options& schema(const std::string& text) {
      schema_ = text;
      return *this;
    }
    template <class F, F* f>
    Options& kernel(DispatchKey key) {
      return add(library::dispatch(key, f));
    }
    template <class F>
    Options& kernel(DispatchKey key, F&& f) {
      return add(library::dispatch(key, std::forward<F>(f)));
    }
    template <class F, F* f>
    Options& catchAllKernel() {
      return add(library::dispatch(DispatchKey::CatchAll, f));
    }
    template <class F>
    Options& catchAllKernel(F&& f) {
      return add(library::dispatch(DispatchKey::CatchAll, std::forward<F>(f)));
    }

   private:
    friend class RegisterOperators;
    Options& add(library::KeyedKernel kernel) {
      kernels_.push_back(std::move(kernel));
      return *this;
    }
    std::string schema_;
    std::vector<library::KeyedKernel> kernels_;
  };
  static Options options() { return {}; }

  template <library::KernelFunction F>
  RegisterOperators& op(const std::string& schema, F&& f, const Options& = Options()) {
    return add(schema, {library::dispatch(DispatchKey::CatchAll, std::forward<F>(f))});
  }
  template <library::KernelFunction F>
  explicit RegisterOperators(const std::string& schema, F&& f) {
    op(schema, std::forward<F>(f));
  }
  RegisterOperators() = default;
  RegisterOperators& op(const std::string& schema, Options options) { return add(schema, std::move(options.kernels_)); }
  RegisterOperators& op(Options options) { return add(options.schema_, std::move(options.kernels_)); }

 private:
  RegisterOperators& add(const std::string& schema, std::vector<library::KeyedKernel> kernels) {
    try {
      const size_t colons = schema.find("::");
      UT_CHECK_VALUE(colons != std::string::npos, "an operator's name must be namespace::name, but got ", schema);
      Library m(schema.substr(0, colons), DispatchKey::CatchAll);
      const std::string rest = schema.substr(colons + 2);
      if (kernels.empty()) m.def(rest);
      for (size_t i = 0; i < kernels.size(); i++)
        i ? m.impl(rest.substr(0, rest.find('(')), std::move(kernels[i])) : m.def(rest, std::move(kernels[i]));
    } catch (const std::exception& e) {
      library::fail("RegisterOperators", e.what());
    }
    return *this;
  }
};
namespace jit {
using RegisterOperators = ::undertow::RegisterOperators;
using IValue = ::undertow::IValue;
using Stack = library::Stack;
}  // namespace jit

}  // namespace undertow
