// numpy_bridge.h: arrays as tensors and tensors as arrays, without copies and without NumPy's C interface.
// Reads arrays through the buffer protocol; imports NumPy only when an array has to be made.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <optional>

#include "core/tensor/tensor.h"

namespace undertow::python {

bool is_ndarray(PyObject* o);                          // does not import NumPy
std::optional<DType> numpy_scalar_dtype(PyObject* o);  // of np.float32(1) and the like
bool is_numpy_scalar(PyObject* o);
// A tensor over the array's memory, or torch's error. `for_reading`: no warning about arrays that may not be written.
Tensor from_ndarray(PyObject* array, bool for_reading);
// An array over the tensor's memory; new reference.
PyObject* to_ndarray(const Tensor& t);
// The NumPy dtype object of a DType; borrowed. TypeError for bfloat16.
PyObject* numpy_dtype(DType t);
// The DType of a NumPy dtype, a NumPy scalar class or their names; nothing if there is none.
std::optional<DType> dtype_from_numpy(PyObject* o);

bool init_numpy_functions(PyObject* module);

}  // namespace undertow::python
