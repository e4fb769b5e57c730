// cycles.h: frees gradients that keep their own tensors alive.
//
// Note [Gradient Cycles]
// backward(create_graph=True) gives a leaf a gradient with a history, and that history ends in the leaf's accumulator,
// which keeps the leaf alive: leaf -> grad -> grad_fn -> ... -> AccumulateGrad -> leaf. Reference counting never frees
// such a cycle, and Python's collector does not see it. So tensors that received a gradient with a history are
// recorded, and collect() works like a cycle collector: it walks everything they reach and counts the references from
// inside. An object with more references than that is alive, and so is everything it reaches; the rest is dead.
// Dropping the gradients of dead tensors breaks every cycle, and reference counting frees the rest. References that the
// walk cannot see (hooks, packed tensors, threads) count as references from outside: it may miss a cycle, but it never
// frees an object in use.
#pragma once
#include <cstddef>

#include "core/tensor/tensor.h"

namespace undertow::core {
struct AutogradMeta;
}
namespace undertow::core::cycles {

void suspect(TensorImpl* t);      // t's gradient has a history
void forget(AutogradMeta* meta);  // the tensor of a suspect is being destroyed
// Returns the number of tensors whose gradients were dropped. Does nothing while a pass runs. Call it with the
// interpreter lock held, so that no other thread records meanwhile.
size_t collect();

}  // namespace undertow::core::cycles
