// function.h: operations with a derivative of the user's: derive from Function<T>, write forward and backward.
//
//   struct Square : autograd::Function<Square> {
//     static Tensor forward(AutogradContext* ctx, const Tensor& x) { ctx->save_for_backward({x}); return x * x; }
//     static variable_list backward(AutogradContext* ctx, variable_list grads) {
//       return {2 * ctx->get_saved_variables()[0] * grads[0]};
//     }
//   };
//   Tensor y = Square::apply(x);
//
// backward returns one gradient for each argument of forward after ctx, undefined for arguments that are no tensors. It
// may be differentiated again, because it consists of operators. A static function jvp(ctx, tangents), with tangents
// like backward's results, adds forward mode.
#pragma once
#include <initializer_list>
#include <memory>
#include <string>
#include <tuple>
#include <typeinfo>
#include <unordered_map>
#include <utility>
#include <vector>

#include <undertow/tensor.h>
#include <undertow/types/ivalue.h>

namespace undertow {

namespace core {
class Node;
}

namespace autograd {

namespace detail {
struct CustomNode;
class Call;
}  // namespace detail

// What forward tells backward.
class AutogradContext {
 public:
  AutogradContext() = default;
  AutogradContext(const AutogradContext&) = delete;
  AutogradContext& operator=(const AutogradContext&) = delete;

  // Values that are no tensors.
  std::unordered_map<std::string, IValue> saved_data;

  // In forward: the tensors that backward needs; inputs or results, which are checked for writes. At most one call.
  void save_for_backward(variable_list to_save) { to_save_ = std::move(to_save); }
  variable_list get_saved_variables() const;  // in backward
  // In forward: the inputs that it wrote to, and the results that have no derivative.
  void mark_dirty(const variable_list& inputs) { dirty_ = inputs; }
  void mark_non_differentiable(const variable_list& outputs) { non_differentiable_ = outputs; }
  // Whether a missing gradient reaches backward as zeros (the default) or as an undefined tensor.
  void set_materialize_grads(bool value) { materialize_grads_ = value; }
  // In backward: is the gradient of the tensor argument `index`, counted among the tensors, needed?
  bool needs_input_grad(size_t index) const;
  // Of any of them, from `first` to before `last` of each range?
  bool needs_input_grad(std::initializer_list<std::pair<size_t, size_t>> ranges) const {
    for (const auto& [first, last] : ranges)
      for (size_t index = first; index < last; index++)
        if (needs_input_grad(index)) return true;
    return false;
  }

 private:
  friend struct detail::CustomNode;
  friend class detail::Call;
  variable_list to_save_, dirty_, non_differentiable_;
  bool materialize_grads_ = true;
  core::Node* node_ = nullptr;  // of backward; it owns this context
};

namespace detail {

using BackwardFunction = variable_list (*)(AutogradContext*, variable_list);

// One call of Function::apply.
class Call {
 public:
  Call(const std::type_info& type, BackwardFunction backward, BackwardFunction jvp);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  void add(const Tensor& t);
  void add(const optional<Tensor>& t) { add(t.value_or(Tensor())); }
  void add(TensorList list) {
    for (const Tensor& t : list) add(t);
  }
  void add(const variable_list& list) { add(TensorList(list)); }
  template <class T>
  void add(const T&) {
    add_other();
  }
  AutogradContext* begin();                 // records the edges, and turns recording off
  variable_list finish(variable_list raw);  // turns it on again, and gives the results their history

 private:
  void add_other();
  struct State;
  std::unique_ptr<State> state_;
};

inline variable_list to_list(Tensor&& t) { return {std::move(t)}; }
inline variable_list to_list(variable_list&& list) { return std::move(list); }
template <class... T>
variable_list to_list(std::tuple<T...>&& t) {
  return std::apply([](auto&&... x) { return variable_list{std::move(x)...}; }, std::move(t));
}
template <class T>
struct FromList {
  static T convert(variable_list&& list) { return std::move(list[0]); }
};
template <>
struct FromList<variable_list> {
  static variable_list convert(variable_list&& list) { return std::move(list); }
};
template <class... T>
struct FromList<std::tuple<T...>> {
  template <size_t... I>
  static std::tuple<T...> pick(variable_list&& list, std::index_sequence<I...>) {
    return {std::move(list[I])...};
  }
  static std::tuple<T...> convert(variable_list&& list) {
    return pick(std::move(list), std::index_sequence_for<T...>());
  }
};

}  // namespace detail

template <class T>
struct Function {
  template <class X = T, class... Args>
  static auto apply(Args&&... args) -> std::decay_t<decltype(X::forward(nullptr, args...))> {
    detail::BackwardFunction jvp = nullptr;
    if constexpr (requires(AutogradContext* c, variable_list t) { X::jvp(c, t); })
      jvp = [](AutogradContext* c, variable_list t) -> variable_list { return X::jvp(c, std::move(t)); };
    detail::Call call(
        typeid(X), [](AutogradContext* c, variable_list g) -> variable_list { return X::backward(c, std::move(g)); },
        jvp);
    (call.add(args), ...);
    AutogradContext* ctx = call.begin();
    return detail::FromList<std::decay_t<decltype(X::forward(nullptr, args...))>>::convert(
        call.finish(detail::to_list(X::forward(ctx, std::forward<Args>(args)...))));
  }
};

}  // namespace autograd

}  // namespace undertow
