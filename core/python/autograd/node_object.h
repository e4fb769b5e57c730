// node_object.h: graph nodes as Python sees them: grad_fn, next_functions, _saved_*, hooks.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core/graph/node.h"

namespace undertow::python {

extern PyTypeObject* node_base_type;  // `_C._NodeBase`

// The object of a node. A custom Function's (function_object.h) begins with the same members.
struct NodeObject {
  PyObject_HEAD Ref<Node> node;
  PyObject* weakrefs;
};

// A new reference to the node's object (the same one while any reference to it lives); None for null.
PyObject* wrap_node(Node* node);
bool is_node(PyObject* o);
Node* node_of(PyObject* o);  // never null
// Makes edges of (node, number) pairs such as next_functions' and GradientEdge's.
Edge edge_arg(PyObject* o);

bool init_node_types(PyObject* module);

}  // namespace undertow::python
