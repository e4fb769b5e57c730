// aggregate.cpp: see aggregate.h.
#include "core/graph/engine/aggregate.h"

#include <utility>

#include "core/graph/engine/input_buffer.h"

namespace undertow::core {

namespace {

// Adds neighbours in pairs, then their sums in pairs.
Tensor sum_in_pairs(std::span<Tensor> terms) {
  for (size_t step = 1; step < terms.size(); step *= 2)
    for (size_t i = 0; i + step < terms.size(); i += 2 * step)
      terms[i] = input_buffer::accumulate(std::move(terms[i]), std::move(terms[i + step]));
  return std::move(terms[0]);
}

}  // namespace

Tensor aggregate(Aggregation how, std::span<Tensor> terms) {
  if (terms.size() == 1) return std::move(terms[0]);
  if (how == Aggregation::AddN) return graph_ops::add_n(terms);
  if (how == Aggregation::Tree) return sum_in_pairs(terms);
  Tensor sum = std::move(terms[0]);
  for (Tensor& t : terms.subspan(1)) sum = input_buffer::accumulate(std::move(sum), std::move(t));
  return sum;
}

void WaitingTerms::sum_into(Node* node, std::span<Tensor> grads, Aggregation how) {
  auto found = terms_.find(node);
  if (found == terms_.end()) return;
  std::vector<Term> waiting = std::move(found->second);
  terms_.erase(found);
  for (uint32_t i = 0; i < grads.size(); i++) {
    std::vector<Tensor> terms;
    if (grads[i].defined()) terms.push_back(std::move(grads[i]));
    for (Term& t : waiting)
      if (t.input_nr == i) terms.push_back(std::move(t.grad));
    if (!terms.empty()) grads[i] = aggregate(how, terms);
  }
}

}  // namespace undertow::core
