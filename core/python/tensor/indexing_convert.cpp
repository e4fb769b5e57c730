// indexing_convert.cpp: converts Python objects in brackets and on the right of an assignment to tensors.
#include "core/forward/copy/copy.h"
#include "core/forward/index/index_common.h"
#include "core/python/arguments/args.h"
#include "core/python/arguments/convert.h"
#include "core/python/errors.h"
#include "core/python/tensor/indexing.h"
#include "core/python/tensor/tensor_data.h"
#include "core/tensor/dtype/promotion.h"

namespace undertow::core::python {

bool is_numpy_array(PyObject* o) {
  // By name, because NumPy may not be imported.
  return std::string_view(Py_TYPE(o)->tp_name) == "numpy.ndarray";
}

bool is_integer_like(PyObject* o) {
  if (PyLong_Check(o)) return !PyBool_Check(o);
  return PyIndex_Check(o) && !is_tensor(o) && !PySequence_Check(o) &&
         !std::string_view(Py_TYPE(o)->tp_name).starts_with("numpy.bool");
}

void raise_invalid_index(PyObject* index) {
  UT_FAIL_AS(Index,
             "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got ",
             Py_TYPE(index)->tp_name, ")");
}

bool is_disguised_tuple(PyObject* index) {
  if (is_tensor(index) || is_numpy_array(index) || !PySequence_Check(index)) return false;
  Py_ssize_t n = PySequence_Size(index);
  if (n < 0) {
    PyErr_Clear();
    return false;
  }
  if (n >= 32) return false;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyRef item(check(PySequence_GetItem(index, i)));
    PyObject* o = item.get();
    if (is_tensor(o) || PySequence_Check(o) || PySlice_Check(o) || o == Py_Ellipsis || o == Py_None) {
      warn(
          "Using a non-tuple sequence for multidimensional indexing is deprecated; use x[tuple(seq)] instead of "
          "x[seq]. In a later release this will be "
          "interpreted as tensor index, x[undertow.tensor(seq)], which will result either in an error or a different "
          "result");
      return true;
    }
  }
  return false;
}

Tensor index_from_data(PyObject* data) {
  UT_CHECK_TYPE(!PyUnicode_Check(data), "new(): invalid data type 'str'");
  Tensor t = tensor_from_data(data, std::nullopt);
  if (t.numel() == 0 && !is_integral(t.dtype())) return fwd::to_dtype(t, DType::Int64);
  return t.dtype() == DType::Bool || t.dtype() == DType::UInt8 ? t : fwd::to_dtype(t, DType::Int64);
}

bool is_number_value(PyObject* value) {
  if (PyFloat_Check(value) || PyLong_Check(value) || PyComplex_Check(value)) return true;
  if (is_tensor(value) || PySequence_Check(value)) return false;
  return std::string_view(Py_TYPE(value)->tp_name).starts_with("numpy.") && PyNumber_Check(value);
}

Tensor value_from_data(PyObject* value, const Tensor& self) {
  DType dtype = self.dtype();
  if (is_tensor(value)) return tensor_of(value);
  if (is_number_value(value)) return fwd::element_of(scalar_arg(value), self);
  UT_CHECK_TYPE(PyList_Check(value) || PyTuple_Check(value) || is_numpy_array(value), "can't assign a ",
                Py_TYPE(value)->tp_name, " to a undertow.", long_name(dtype), "Tensor");
  return fwd::on_device(fwd::to_dtype(tensor_from_data(value, std::nullopt), dtype), self.device());
}

}  // namespace undertow::core::python
