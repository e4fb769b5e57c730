// input_buffer.cpp: see input_buffer.h.
#include "core/graph/engine/input_buffer.h"

#include <algorithm>

#include "core/graph/tensor_ops.h"
#include "core/tensor/layout.h"

namespace undertow::core::input_buffer {

Tensor accumulate(Tensor a, Tensor b) {
  if (!a.defined()) return b;
  if (!b.defined()) return a;
  auto exclusive = [](const Tensor& t) {
    return t.impl()->use_count() == 1 && t.storage().use_count() == 1 && !t.impl()->has(kFlagSlow) &&
           is_non_overlapping_and_dense(t.sizes(), t.strides());
  };
  if (!grad_enabled() && a.dtype() == b.dtype() && same(a.sizes(), b.sizes()) && exclusive(a) &&
      !b.impl()->has(kDelegated | kDispatched) && !mode_is(kDispatchMode)) {
    graph_ops::add_in_place(a, b);
    return a;
  }
  // The elements of a sparse sum are in the order of its operands, and torch adds to a sparse gradient in this order.
  return a.is_sparse() ? graph_ops::add(b, a) : graph_ops::add(a, b);
}

namespace {
// The array form: num_inputs tensors in one pooled block.
Tensor* array_of(const TaskSlot& slot) { return static_cast<Tensor*>(slot.buffer); }
size_t array_bytes(const Node& node) { return node.num_inputs() * sizeof(Tensor); }
}  // namespace

void add(TaskSlot& slot, const Node& node, uint32_t input_nr, Tensor grad) {
  if (UT_LIKELY(node.num_inputs() <= 1)) {
    if (UT_LIKELY(!slot.buffer)) {
      slot.buffer = grad.leak();
    } else {
      Tensor old = Tensor::adopt(static_cast<TensorImpl*>(slot.buffer));
      slot.buffer = nullptr;  // so that a throwing addition leaves the slot empty, not dangling
      slot.buffer = accumulate(std::move(old), std::move(grad)).leak();
    }
    return;
  }
  if (!slot.buffer) {
    slot.buffer = pool_alloc(array_bytes(node));
    for (uint32_t i = 0; i < node.num_inputs(); i++) new (array_of(slot) + i) Tensor;
  }
  Tensor& cell = array_of(slot)[input_nr];
  cell = accumulate(std::move(cell), std::move(grad));
}

void take(TaskSlot& slot, const Node& node, std::span<Tensor> out) {
  if (!slot.buffer) return;
  if (UT_LIKELY(node.num_inputs() <= 1)) {
    if (!out.empty()) out[0] = Tensor::adopt(static_cast<TensorImpl*>(slot.buffer));
    slot.buffer = nullptr;
    return;
  }
  for (uint32_t i = 0; i < node.num_inputs(); i++) out[i] = std::move(array_of(slot)[i]);
  pool_free(slot.buffer, array_bytes(node));
  slot.buffer = nullptr;
}

void clear(TaskSlot& slot, const Node& node) {
  if (!slot.buffer) return;
  SmallVector<Tensor, 4> dropped(std::max<uint32_t>(node.num_inputs(), 1));
  take(slot, node, dropped);
}

Tensor peek(const TaskSlot& slot, const Node& node, uint32_t input_nr) {
  if (!slot.buffer) return {};
  if (node.num_inputs() > 1) return array_of(slot)[input_nr];
  return Tensor(Ref<TensorImpl>(static_cast<TensorImpl*>(slot.buffer)));
}

void add_shared(TaskSlot& slot, Contribution contribution) {
  auto* shared = static_cast<Shared*>(slot.buffer);
  while (shared->busy.test_and_set(std::memory_order_acquire)) {
  }
  shared->list.push_back(std::move(contribution));
  shared->busy.clear(std::memory_order_release);
}

namespace {
void sum_at_the_end(std::span<Contribution> list, std::span<Tensor> out, Aggregation how,
                    const std::function<void(uint64_t, uint32_t)>& before_addition) {
  for (uint32_t i = 0; i < out.size(); i++) {
    std::vector<Tensor> terms;
    for (Contribution& c : list) {
      if (c.input_nr != i) continue;
      if (!terms.empty()) before_addition(c.rank, c.edge);
      terms.push_back(std::move(c.grad));
    }
    if (!terms.empty()) out[i] = aggregate(how, terms);
  }
}
void add_in_order(std::span<Contribution> list, std::span<Tensor> out,
                  const std::function<void(uint64_t, uint32_t)>& before_addition) {
  for (Contribution& c : list) {
    if (c.input_nr >= out.size()) continue;
    if (out[c.input_nr].defined()) before_addition(c.rank, c.edge);
    out[c.input_nr] = accumulate(std::move(out[c.input_nr]), std::move(c.grad));
  }
}
}  // namespace

void take_shared(TaskSlot& slot, std::span<Tensor> out, Aggregation how,
                 const std::function<void(uint64_t, uint32_t)>& before_addition) {
  auto* shared = static_cast<Shared*>(slot.buffer);
  std::sort(shared->list.begin(), shared->list.end(), [](const Contribution& a, const Contribution& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.edge < b.edge;
  });
  if (how != Aggregation::AsTheyArrive)
    sum_at_the_end(shared->list, out, how, before_addition);
  else
    add_in_order(shared->list, out, before_addition);
  delete shared;
  slot.buffer = nullptr;
}

void clear_shared(TaskSlot& slot) {
  delete static_cast<Shared*>(slot.buffer);
  slot.buffer = nullptr;
}

}  // namespace undertow::core::input_buffer
