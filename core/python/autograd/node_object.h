// node_object.h: graph nodes in Python: grad_fn, next_functions, _saved_*, hooks.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core/graph/node.h"

namespace undertow::core::python {

extern PyTypeObject* node_base_type;  // `_C._NodeBase`

// The Python object of a node. That of a custom Function (function_object.h) starts with the same members.
struct NodeObject {
  PyObject_HEAD Ref<Node> node;
  PyObject* weakrefs;
};

// A new reference to the node's Python object (the same object while any reference to it exists); None for null.
PyObject* wrap_node(Node* node);
bool is_node(PyObject* o);
Node* node_of(PyObject* o);  // never null
// `node.line`: where the node was recorded, as file:line; None if unknown, or if node is null.
PyObject* line_of_node(const Node* node);
// An edge from a (node, number) pair, such as those of next_functions and GradientEdge.
Edge edge_arg(PyObject* o);

bool init_node_types(PyObject* module);

}  // namespace undertow::core::python
