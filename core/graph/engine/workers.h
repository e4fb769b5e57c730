// workers.h: passes on several threads: opt-in CPU workers, and one thread per accelerator.
#pragma once
#include "core/graph/engine/graph_task.h"

namespace undertow::core {

// Runs the task to its end on the calling thread, CPU workers and device threads; rethrows the first error.
void run_in_parallel(GraphTask& task, Node* root);

}  // namespace undertow::core
