// trace_columns.h: what a recording has read, as columns for the tables of undertow.inspect.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core/graph/diagnostics/trace_reader.h"

namespace undertow::core::python {

// {"passes": rows, "hooks": rows, "errors": [(pass, text)], "dropped": bool, "unused_nodes": int, "names" and "lines":
// the different strings of the nodes, "outputs" and "saved": a list per node, and lists of integers: "node.*" (name and
// line are rows of those lists, -1 for none), "edge.*", "event.*"}. Times count from `start`. Equal lists may be one
// object.
PyObject* batch_columns(const trace::Batch& batch, int64_t start);

}  // namespace undertow::core::python
