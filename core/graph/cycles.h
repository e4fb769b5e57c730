// cycles.h: frees gradients that keep their own tensors alive.
//
// Note [Gradient Cycles]
// backward(create_graph=True) gives a leaf a gradient with a history, and that history ends in the leaf's accumulator,
// which holds the leaf: leaf -> grad -> grad_fn -> ... -> AccumulateGrad -> leaf. Counting references never frees such
// a ring, and Python's collector does not see it. So tensors that received a gradient with history are remembered, and
// collect() does what a cycle collector does: it walks what they reach, counts the references that come from inside,
// and takes for dead whatever is not reached from something with more references than that. Dropping the dead tensors'
// gradients opens every ring; counts do the rest. References it cannot see (hooks, packed tensors, threads) count as
// from outside: it may leave a ring, it never frees what is in use.
#pragma once
#include <cstddef>

#include "core/tensor/tensor.h"

namespace undertow {
struct AutogradMeta;
}
namespace undertow::cycles {

void suspect(TensorImpl* t);      // t's gradient has a history
void forget(AutogradMeta* meta);  // a suspect dies
// The number of tensors freed from their gradients. Does nothing while a pass runs: call with the interpreter's lock
// held, so that no thread records meanwhile.
size_t collect();

}  // namespace undertow::cycles
