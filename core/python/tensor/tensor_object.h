// tensor_object.h: the Python type Tensor: one object per TensorImpl, which keeps its identity while C++ owns the impl.
//
// Note [Who Owns Whom In Python]
// Normally the Python object owns the impl. When the last reference to the object is dropped but the impl has other
// owners, an object that a user could recognise (a subclass, attributes, a weak reference) is kept: ownership is
// reversed (kPyOwned), so the impl owns the object, until the next wrap() reverses it again. A plain object is freed; a
// new one created later cannot be distinguished from it.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core/tensor/tensor.h"

namespace undertow::core::python {

struct TensorObject {
  PyObject_HEAD Tensor tensor;
  PyObject* dict;
  PyObject* weakrefs;
  PyObject* backward_hooks;  // `_backward_hooks`, an OrderedDict or null
  bool tracked;              // tracked by the garbage collector
};

extern PyTypeObject* tensor_type;
extern PyTypeObject* parameter_type;

inline bool is_plain_tensor(PyObject* o) { return Py_TYPE(o) == tensor_type || Py_TYPE(o) == parameter_type; }
inline bool is_tensor(PyObject* o) { return is_plain_tensor(o) || PyType_IsSubtype(Py_TYPE(o), tensor_type); }
inline const Tensor& tensor_of(PyObject* o) { return reinterpret_cast<TensorObject*>(o)->tensor; }

// A new reference to the Python object of t, created if there is none; None for an undefined tensor.
PyObject* wrap(Tensor t);
// The same, as an instance of `type` (a subclass of Tensor). t must not have an object yet.
PyObject* wrap_as(PyTypeObject* type, Tensor t);

// Whether instances of the class are dispatched: it has a __torch_dispatch__ that is not Tensor's.
bool has_dispatch(PyTypeObject* type);

// Makes the garbage collector track the object, which now refers to something that could close a cycle.
void track(PyObject* o);

// The attribute __dict__.
PyObject* get_tensor_dict(PyObject* self, void*);
int set_tensor_dict(PyObject* self, PyObject* value, void*);

bool init_tensor_type(PyObject* module);

}  // namespace undertow::core::python
