// engine.h: runs the backward pass through a recorded graph.
// Front ends (C++ autograd::backward, Python's run_backward) check their arguments and call execute.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "core/graph/engine/graph_task.h"

namespace undertow::core {

namespace engine {

// Sends root_grads into roots and runs every node they reach. With `outputs`, runs only the nodes that lead to them
// and, if accumulate_grad is off, returns the gradients that arrive there (undefined where none did).
std::vector<Tensor> execute(std::span<const Edge> roots, std::span<const Tensor> root_grads, ExecuteOptions options,
                            std::span<const Edge> outputs = {});

// Runs fn at the end of the pass that this thread runs. Raises outside a pass.
void queue_callback(std::function<void()> fn);
// True if reentrant checkpointing may run here, i.e. no pass for chosen inputs is running.
bool is_checkpoint_valid();
// The id of the pass that this thread runs, or -1.
int64_t current_graph_task_id();

// True if the pass that this thread runs will run the node or capture the gradient that enters it.
bool will_execute(Node* node);

// Opt-in CPU workers: independent branches run at the same time, with results bitwise equal to one worker. Default 1.
inline constexpr int kMaxWorkers = 1024;
void set_num_workers(int64_t n);
int num_workers();
// Per thread: may the passes of this thread use workers and device threads? (torch's set_multithreading_enabled.)
void set_multithreading_enabled(bool on);
bool multithreading_enabled();

// Reentrant passes nest on one thread's stack up to this depth, then continue on another thread.
inline constexpr int kMaxNestedDepth = 60;

}  // namespace engine

// Checks a gradient against the metadata of the node it enters: sums over expanded dimensions, casts, or raises.
// See validation.cpp.
void validate_gradient(const InputMeta& meta, Tensor& grad, size_t index, const Node* producer);

}  // namespace undertow::core
