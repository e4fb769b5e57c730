// saved_object.h: saved tensors for Python: `_raw_saved_x`, and the stack of saved_tensors_hooks.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <span>

#include "core/graph/node.h"
#include "core/graph/saved_fields.h"

namespace undertow::core {
class SavedTensor;
}  // namespace undertow::core
namespace undertow::core::python {

// _raw_saved_x: a SavedTensor object with register_hooks.
PyObject* wrap_raw_saved(Node* node, const SavedField& field);
PyObject* wrap_raw_saved(Node* node, std::span<SavedTensor> list);  // a tuple

// Undoes what nodes that no longer run did to this thread's stack of saved_tensors_hooks. Needs the interpreter lock.
void restore_default_hooks();

bool init_saved_types(PyObject* module);

}  // namespace undertow::core::python
