// numpy_bridge.h: arrays as tensors and tensors as arrays, without copies and without NumPy's C API.
// Reads arrays through the buffer protocol; imports NumPy only to create an array.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <optional>

#include "core/tensor/tensor.h"

namespace undertow::core::python {

bool is_ndarray(PyObject* o);                          // does not import NumPy
std::optional<DType> numpy_scalar_dtype(PyObject* o);  // for np.float32(1) and similar
bool is_numpy_scalar(PyObject* o);
// A tensor on the array's memory; raises torch's error if that is not possible. `for_reading`: no warning about
// read-only arrays.
Tensor from_ndarray(PyObject* array, bool for_reading);
// An array on the tensor's memory; new reference.
PyObject* to_ndarray(const Tensor& t);
// The NumPy dtype object for a DType; borrowed. Raises TypeError for bfloat16.
PyObject* numpy_dtype(DType t);
// The DType for a NumPy dtype, a NumPy scalar class or their names; nullopt if there is none.
std::optional<DType> dtype_from_numpy(PyObject* o);

bool init_numpy_functions(PyObject* module);

}  // namespace undertow::core::python
