// structural.cpp: see structural.h.
#include "core/graph/structural.h"

namespace undertow::core {

GraphRoot::GraphRoot(std::span<const Edge> roots, std::span<const Tensor> grads) : grads_(grads.begin(), grads.end()) {
  set_num_edges(roots.size());
  for (size_t i = 0; i < roots.size(); i++) edges()[i] = roots[i];
  finish_recording();
}

void GraphRoot::apply(std::span<Tensor>, std::span<Tensor> grad_inputs) {
  for (size_t i = 0; i < grads_.size(); i++) grad_inputs[i] = grads_[i];
}

}  // namespace undertow::core
