// engine.h: runs the chain rule backwards through a recorded graph.
// Front ends (C++ autograd::backward, Python's run_backward) check their arguments and call execute.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "core/graph/engine/graph_task.h"

namespace undertow {

namespace engine {

// Sends root_grads into roots and runs everything they reach. With `outputs`, runs only what leads to them, and, if
// accumulate_grad is off, returns the gradients that arrive there (undefined where none did).
std::vector<Tensor> execute(std::span<const Edge> roots, std::span<const Tensor> root_grads, ExecuteOptions options,
                            std::span<const Edge> outputs = {});

// Runs fn when the pass this thread is in ends. Raises outside a pass.
void queue_callback(std::function<void()> fn);
// Reentrant checkpointing may run here: no pass over chosen inputs is under way.
bool is_checkpoint_valid();
// The id of the pass this thread is in, or -1.
int64_t current_graph_task_id();

// Will the pass this thread is in run the node, or capture what enters it?
bool will_execute(Node* node);

// Opt-in CPU workers: independent branches run at once, bitwise equal to one worker. 1 by default.
void set_num_workers(int n);
int num_workers();
// Per thread: may this thread's passes use workers and device threads? (torch's set_multithreading_enabled.)
void set_multithreading_enabled(bool on);
bool multithreading_enabled();

// Reentrant passes nest on one thread's stack up to this depth, then go on in another thread.
inline constexpr int kMaxNestedDepth = 60;

}  // namespace engine

// Checks one gradient against what the node it enters expects: reduces an expanded one, casts, or refuses.
// See validation.cpp.
void validate_gradient(const InputMeta& meta, Tensor& grad, size_t index, const Node* producer);

}  // namespace undertow
