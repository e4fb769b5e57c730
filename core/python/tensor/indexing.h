// indexing.h: x[...], x[...] = v, `v in x` and iteration.
#pragma once
#include "core/python/tensor/tensor_object.h"

namespace undertow::core::python {

PyObject* get_item(PyObject* self, PyObject* index);              // throws
void set_item(PyObject* self, PyObject* index, PyObject* value);  // throws
bool contains(PyObject* self, PyObject* element);                 // throws

// The items between the brackets as C++ values. See indexing_convert.cpp.

// A sequence, NumPy array or scalar as an index tensor: bool and uint8 stay, all other dtypes become int64.
Tensor index_from_data(PyObject* data);
// True for a list (or another sequence that is not a tuple) that torch reads as a tuple, because it contains slices,
// None, an ellipsis, tensors or sequences. Warns.
bool is_disguised_tuple(PyObject* index);
bool is_numpy_array(PyObject* o);
bool is_integer_like(PyObject* o);  // an int or NumPy integer, but not a bool
[[noreturn]] void raise_invalid_index(PyObject* index);
// The right-hand side of an assignment to self: a tensor as it is, anything else converted to self's dtype and device.
Tensor value_from_data(PyObject* value, const Tensor& self);
bool is_number_value(PyObject* value);

}  // namespace undertow::core::python
