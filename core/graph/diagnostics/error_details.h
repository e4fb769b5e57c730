// error_details.h: details for the errors of a backward pass: which pass freed a node, the path from the root to a
// node, and what wrote to a saved tensor. Computed only after a failure; what is recorded beforehand is cheap.
#pragma once
#include <string>

#include "core/graph/node.h"

namespace undertow::core {

class GraphTask;

// The current line of the user's program as file:line; empty if unknown. Installed by the binding layer.
extern std::string (*current_line)();
// note_pass records where a pass was called from; caller_of_pass looks it up. Installed by the binding layer, which
// keeps only recent passes.
extern void (*note_pass)(uint64_t id);
extern std::string (*caller_of_pass)(uint16_t id);

namespace error_details {

// ", freed by the backward pass called at train.py:12", or empty.
std::string freed_by_text(const Node& node);
// "SumBackward0 -> MulBackward0 -> ExpBackward0": a shortest path from the root of the running pass to the node, with
// the middle left out if it is long. Empty outside a pass.
std::string path_to(const Node* node);
// ", last changed by add_ at train.py:7", as far as known; empty if nobody wrote to the memory.
std::string last_write_text(const Storage& storage);
// Where the node was recorded, as file:line; empty if unknown.
std::string line_of(const Node& node);
// ", recorded at train.py:5", if lines are recorded.
std::string recorded_at_text(const Node& node);

}  // namespace error_details
}  // namespace undertow::core
