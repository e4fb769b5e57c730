// origin.h: lets a binding layer report the current position in the user's program.
#pragma once
#include "core/graph/hooks.h"

namespace undertow::core {

// Captures the current position in the user's program; null without a binding layer.
extern NodeOrigin* (*make_node_origin)();

}  // namespace undertow::core
