// nonfinite.h: finds the first operation, forward or backward, that makes a NaN from inputs without one, or an infinity
// from finite inputs.
// Tested together with the switches of the trace (backward) and of the observers (forward): off, it costs nothing.
#pragma once
#include <span>

#include "core/graph/diagnostics/provenance.h"
#include "core/graph/node.h"

namespace undertow::core::nonfinite {

void start();
void stop();

// Backward: a node is about to run, and has run. Both calls come from the same thread.
void entering(const Node* node, std::span<const Tensor> grad_outputs);
void leaving(Node* node, std::span<const Tensor> grad_inputs);
// Forward: an operation has computed `results`.
void computed(const char* operation, std::span<TensorImpl* const> results, std::span<const provenance::Input> inputs);

// Installed by the binding layer: called with the first operation that is found, once after start().
extern void (*report_node)(Node* node, std::span<const Tensor> grad_outputs, std::span<const Tensor> grad_inputs);
extern void (*report_operation)(const char* operation, std::span<TensorImpl* const> results,
                                std::span<const provenance::Input> inputs);

}  // namespace undertow::core::nonfinite
