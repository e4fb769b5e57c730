// accepts.cpp: see accepts.h.
#include "core/python/arguments/accepts.h"

#include <string_view>

#include "core/base/error.h"
#include "core/python/printed_name.h"
#include "core/python/tensor/tensor_object.h"
#include "core/python/types/dtype_object.h"
#include "core/python/types/generator_object.h"

namespace undertow::core::python {

bool is_number_like(PyObject* o) {
  if (PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o)) return true;
  if (is_tensor(o)) return false;
  PyNumberMethods* n = Py_TYPE(o)->tp_as_number;
  return n && (n->nb_index || n->nb_float) && !PySequence_Check(o);  // NumPy's scalars
}

bool is_readable(const Tensor& t) { return !t.impl()->has(kDelegated | kDispatched) && !t.is_meta(); }

bool is_int_like(PyObject* o) {
  if (PyLong_Check(o)) return !PyBool_Check(o);
  if (PyFloat_Check(o)) return false;
  if (is_tensor(o))
    return tensor_of(o).dim() == 0 && is_integral(tensor_of(o).dtype()) && tensor_of(o).dtype() != DType::Bool &&
           is_readable(tensor_of(o));
  return PyIndex_Check(o);
}

namespace {

bool is_float_like(PyObject* o) {
  if (PyFloat_Check(o) || PyLong_Check(o)) return true;
  if (is_tensor(o)) {
    const Tensor& t = tensor_of(o);
    return t.dim() == 0 && !t.is_complex() && !t.requires_grad() && is_readable(t);
  }
  PyNumberMethods* n = Py_TYPE(o)->tp_as_number;
  return n && (n->nb_float || n->nb_index) && !PySequence_Check(o);
}
bool is_int_list(PyObject* o) {
  if (PyTuple_Check(o) || PyList_Check(o)) {
    Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    // The first element is enough to select an overload; conversion checks the rest.
    return n == 0 || is_int_like(PySequence_Fast_GET_ITEM(o, 0));
  }
  return false;
}
bool is_tensor_list(PyObject* o, bool none_allowed) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
  Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* x = PySequence_Fast_GET_ITEM(o, i);
    if (!is_tensor(x) && !(none_allowed && x == Py_None)) return false;
  }
  return true;
}

}  // namespace

bool accepts(ArgKind kind, PyObject* o) {
  switch (kind) {
    case ArgKind::Tensor:
      return is_tensor(o);
    case ArgKind::OptTensor:
      return o == Py_None || is_tensor(o);
    case ArgKind::TensorList:
      return is_tensor_list(o, false);
    case ArgKind::OptTensorList:
      return is_tensor_list(o, true);
    case ArgKind::Scalar:  // as in torch, a tensor of no dimensions is a number if reading it loses no gradient
      return is_number_like(o) || (is_tensor(o) && tensor_of(o).dim() == 0 && !tensor_of(o).requires_grad() &&
                                   !tensor_of(o).impl()->has(kHasTangent) && is_readable(tensor_of(o)));
    case ArgKind::OptScalar:
      return o == Py_None || accepts(ArgKind::Scalar, o);
    case ArgKind::Int:
      return is_int_like(o);
    case ArgKind::OptInt:
      return o == Py_None || is_int_like(o);
    case ArgKind::Float:
      return is_float_like(o);
    case ArgKind::OptFloat:
      return o == Py_None || is_float_like(o);
    case ArgKind::Bool:
      return PyBool_Check(o) ||
             (Py_TYPE(o)->tp_name && std::string_view(Py_TYPE(o)->tp_name).starts_with("numpy.bool"));
    case ArgKind::True:
      return o == Py_True;
    case ArgKind::False:
      return o == Py_False;
    case ArgKind::OptBool:
      return o == Py_None || PyBool_Check(o);
    case ArgKind::Ints:
      return is_int_list(o);
    case ArgKind::OptInts:
      return o == Py_None || is_int_list(o);
    case ArgKind::SizedInts:
      return is_int_like(o) || is_int_list(o);
    case ArgKind::OptSizedInts:
      return o == Py_None || is_int_like(o) || is_int_list(o);
    case ArgKind::DType:
      return accepts_as_dtype(o);
    case ArgKind::OptDType:
      return o == Py_None || accepts_as_dtype(o);
    case ArgKind::Str:
      return PyUnicode_Check(o);
    case ArgKind::OptStr:
      return o == Py_None || PyUnicode_Check(o);
    case ArgKind::Generator:
      return o == Py_None || is_generator(o);
    case ArgKind::Device:
      return o == Py_None || PyUnicode_Check(o) || Py_TYPE(o) == device_type || (PyLong_Check(o) && !PyBool_Check(o));
    case ArgKind::MemoryFormat:
      return o == Py_None || Py_TYPE(o) == memory_format_type;
    case ArgKind::Layout:
      return o == Py_None || Py_TYPE(o) == layout_type;
    case ArgKind::OutList:
      return o == Py_None || is_tensor_list(o, false);
  }
  return false;
}

bool accepts(const ArgSpec& argument, PyObject* o) {
  if (accepts(argument.kind, o)) return true;
  // `inplace` may be a number, because torch tests it in Python.
  return PyLong_Check(o) && argument.kind == ArgKind::Bool && std::string_view(argument.name) == "inplace";
}

std::string kind_text(ArgKind kind) {
  switch (kind) {
    case ArgKind::Tensor:
    case ArgKind::OptTensor:
      return "Tensor";
    case ArgKind::TensorList:
    case ArgKind::OptTensorList:
    case ArgKind::OutList:
      return "tuple of Tensors";
    case ArgKind::Scalar:
    case ArgKind::OptScalar:
      return "Number";
    case ArgKind::Int:
    case ArgKind::OptInt:
      return "int";
    case ArgKind::Float:
    case ArgKind::OptFloat:
      return "float";
    case ArgKind::Bool:
    case ArgKind::OptBool:
    case ArgKind::True:
    case ArgKind::False:
      return "bool";
    case ArgKind::Ints:
    case ArgKind::OptInts:
    case ArgKind::SizedInts:
    case ArgKind::OptSizedInts:
      return "tuple of ints";
    case ArgKind::DType:
    case ArgKind::OptDType:
      return str(printed_package(), ".dtype");
    case ArgKind::Str:
    case ArgKind::OptStr:
      return "str";
    case ArgKind::Generator:
      return str(printed_package(), ".Generator");
    case ArgKind::Device:
      return str(printed_package(), ".device");
    case ArgKind::MemoryFormat:
      return str(printed_package(), ".memory_format");
    case ArgKind::Layout:
      return str(printed_package(), ".layout");
  }
  return "object";
}

}  // namespace undertow::core::python
