// hooks_object.h: Python hooks on tensors and nodes, as hook objects of the graph layer.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core/graph/node.h"

namespace undertow::core {
struct AutogradMeta;
}  // namespace undertow::core
namespace undertow::core::python {

// Each returns a RemovableHandle (new reference).
PyObject* add_tensor_hook(PyObject* tensor, PyObject* hook);
PyObject* add_post_accumulate_hook(PyObject* tensor, PyObject* hook);
PyObject* add_node_pre_hook(Node* node, PyObject* hook);
PyObject* add_node_post_hook(Node* node, PyObject* hook);
PyObject* add_hook_dict(Node* node, PyObject* tensor);

void retain_grad(PyObject* tensor);

// For the garbage collector: visits the dictionaries of hooks that a leaf's metadata or a node owns.
int visit_leaf_hooks(AutogradMeta& meta, visitproc visit, void* arg);
int visit_node_hooks(Node* node, visitproc visit, void* arg);
void clear_node_hooks(Node* node);

void init_hooks();

}  // namespace undertow::core::python
