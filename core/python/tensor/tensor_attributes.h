// tensor_attributes.h: the attributes of Tensor (shape, grad, grad_fn, ...) and its hand-written methods.
#pragma once
#include <vector>

#include "core/python/tensor/tensor_object.h"

namespace undertow::core::python {

PyGetSetDef* tensor_getset();
void add_tensor_methods(std::vector<PyMethodDef>& methods);
void add_more_tensor_methods(std::vector<PyMethodDef>& methods);  // tensor_methods.cpp
// Tensor(2, 3), Tensor([1, 2]): torch's legacy constructor.
Tensor legacy_constructor(PyObject* args, PyObject* kwargs);
void add_dlpack_methods(std::vector<PyMethodDef>& methods);  // dlpack.cpp
bool init_dlpack_functions(PyObject* module);
bool init_forward_functions(PyObject* module);    // forward_ad.cpp
bool init_type_functions(PyObject* module);       // type_functions.cpp
bool init_optim_functions(PyObject* module);      // optim_functions.cpp
bool init_train_functions(PyObject* module);      // train_pass.cpp
bool init_watch_functions(PyObject* module);      // watch_object.cpp
bool init_profile_functions(PyObject* module);    // profile_object.cpp
bool init_transform_functions(PyObject* module);  // transforms.cpp
bool init_sparse_functions(PyObject* module);     // sparse_object.cpp
// Raises for a tensor under vmap, which has no memory of its own. See Note [Batched Tensors].
void check_has_memory(const Tensor& t);  // transforms.cpp
bool batched_requires_grad(const Tensor& t);
// Raises inside a function that undertow.func or vmap transforms, because the transform would not see `what`.
void check_not_in_transform(const char* what);
PyObject* parameter_new(PyTypeObject* type, PyObject* args, PyObject* kwargs);

}  // namespace undertow::core::python
