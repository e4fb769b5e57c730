// tensor_state.h: changes of a tensor's own autograd state: requires_grad, detach_, .data. Shared by the C++ API and
// the bindings, with torch's errors.
#pragma once
#include "core/tensor/tensor.h"

namespace undertow::core {

void require_grad(const Tensor& t, bool on);
// .grad as a program reads it: warns that the gradient of a tensor that is no leaf is not kept.
const Tensor& visible_grad(const Tensor& t);
// Removes t's history. Raises for a view.
void detach_in_place(const Tensor& t);
// The same memory without history, with its own version counter: what .data returns.
Tensor data_of(const Tensor& t);
// Gives t the memory and layout of `source`: what assigning to .data does.
void replace_data(const Tensor& t, const Tensor& source);

}  // namespace undertow::core
