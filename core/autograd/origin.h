// origin.h: how a binding layer tells where the user's program is.
#pragma once
#include "core/graph/hooks.h"

namespace undertow {

// Captures the present place in the user's program; null without a binding layer.
extern NodeOrigin* (*make_node_origin)();

}  // namespace undertow
