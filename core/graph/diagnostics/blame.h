// blame.h: the facts that errors of the backward pass state: which pass freed a node, by what way the running pass came
// to it, and what wrote to a saved tensor. Looked up only when something has failed; what is noted on the way is cheap.
#pragma once
#include <string>

#include "core/graph/node.h"

namespace undertow {

class GraphTask;

// Where the program is now, as file:line; empty when unknown. Installed by the binding layer.
extern std::string (*current_line)();
// Notes where a pass was called from, and finds it again. Installed by the binding layer; passes long ago are
// forgotten.
extern void (*note_pass)(uint64_t id);
extern std::string (*caller_of_pass)(uint16_t id);

namespace blame {

// ", freed by the backward pass called at train.py:12", or empty.
std::string who_freed(const Node& node);
// "SumBackward0 -> MulBackward0 -> ExpBackward0": a shortest way from the running pass's root to the node, its middle
// left out when it is long; empty outside a pass.
std::string way_to(const Node* node);
// ", which add_ changed at train.py:7", as far as known; empty for memory nobody wrote to.
std::string who_wrote(const Storage& storage);
// ", recorded at train.py:5", when lines are recorded.
std::string where_made(const Node& node);

}  // namespace blame
}  // namespace undertow
