// tangents.h: forward mode: a tensor may have a tangent; recorders compute the tangents of results from those of
// inputs.
#pragma once
#include "core/autograd/op_types.h"

namespace undertow::core::ops {

Tensor tangent_of(const Tensor& t);  // undefined if it has none
std::vector<Tensor> tangents_of(TensorSpan list);
void set_tangent(const Tensor& t, const Tensor& tangent);  // does nothing for an undefined tangent
void set_tangent(const std::vector<Tensor>& list, const std::vector<Tensor>& tangents);
// make_dual returns a view of t with the tangent; unpack_dual splits a dual in two (undefined tangent if it is no
// dual).
Tensor make_dual(const Tensor& t, const Tensor& tangent);
std::pair<Tensor, Tensor> unpack_dual(const Tensor& t);
// The tangent in t's own layout, so that a view of t has the same offsets in the tangent.
Tensor fit_tangent(const Tensor& t, const Tensor& tangent);
// The tensor without its tangent; itself if it has none.
Tensor primal_of(const Tensor& dual);
std::vector<Tensor> primal_of(TensorSpan duals);
void add_tangent(Tensor& sum, const Tensor& part);
Tensor zeros_if_undefined(const Tensor& tangent, const Tensor& like);
std::vector<Tensor> zeros_if_undefined(const std::vector<Tensor>& tangents, TensorSpan like);
// Call it after a result's tangent is set: sets it also on the alias of the result that its own node saved, so that
// derivatives computed from the saved result have tangents.
void share_with_saved(const Tensor& result);
void share_with_saved(const Tensor& result, Node* node);  // of this node, which may be inside of another one
void share_with_saved(const std::vector<Tensor>& results);
template <class... T>
void share_with_saved(const std::tuple<T...>& results) {
  std::apply([](const auto&... r) { (share_with_saved(r), ...); }, results);
}
[[noreturn]] void raise_no_forward_derivative(const char* name);

}  // namespace undertow::core::ops
