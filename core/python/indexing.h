// indexing.h: x[...] and x[...] = v, basic and advanced.
#pragma once
#include "core/python/tensor_object.h"

namespace undertow::python {

PyObject* get_item(PyObject* self, PyObject* index);                  // throws
void set_item(PyObject* self, PyObject* index, PyObject* value);      // throws

}  // namespace undertow::python
