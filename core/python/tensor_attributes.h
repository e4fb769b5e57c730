// tensor_attributes.h: the attributes of Tensor (shape, grad, grad_fn, ...) and its hand-written methods.
#pragma once
#include <vector>

#include "core/python/tensor_object.h"

namespace undertow::python {

PyGetSetDef* tensor_getset();
void add_tensor_methods(std::vector<PyMethodDef>& methods);
// Tensor(2, 3), Tensor([1, 2]): torch's legacy constructor.
Tensor legacy_constructor(PyObject* args, PyObject* kwargs);
PyObject* parameter_new(PyTypeObject* type, PyObject* args, PyObject* kwargs);

}  // namespace undertow::python
