// tangents.h: forward mode: a tensor may carry a tangent; recorders compute the results' from the inputs'.
#pragma once
#include "core/autograd/op_types.h"

namespace undertow::ops {

Tensor tangent_of(const Tensor& t);  // undefined if it carries none
std::vector<Tensor> tangents_of(TensorSpan list);
void set_tangent(const Tensor& t, const Tensor& tangent);  // undefined: nothing
void set_tangent(const std::vector<Tensor>& list, const std::vector<Tensor>& tangents);
// A view of t that carries the tangent; and a dual's two halves (tangent undefined if it is no dual).
Tensor make_dual(const Tensor& t, const Tensor& tangent);
std::pair<Tensor, Tensor> unpack_dual(const Tensor& t);
// The tangent in t's own layout, so that a view of t addresses the same elements of its tangent.
Tensor fit_tangent(const Tensor& t, const Tensor& tangent);
// The tensor without its tangent; itself if it carries none.
Tensor primal_of(const Tensor& dual);
std::vector<Tensor> primal_of(TensorSpan duals);
void add_tangent(Tensor& sum, const Tensor& part);
Tensor zeros_if_undefined(const Tensor& tangent, const Tensor& like);
std::vector<Tensor> zeros_if_undefined(const std::vector<Tensor>& tangents, TensorSpan like);
// After a result's tangent is set: the alias of it that its own node saved carries it too, so that derivatives computed
// from the saved result have tangents.
void share_with_saved(const Tensor& result);
void share_with_saved(const std::vector<Tensor>& results);
template <class... T>
void share_with_saved(const std::tuple<T...>& results) {
  std::apply([](const auto&... r) { (share_with_saved(r), ...); }, results);
}
[[noreturn]] void refuse_forward(const char* name);

}  // namespace undertow::ops
