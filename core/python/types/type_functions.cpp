// type_functions.cpp: module functions about dtypes: promote_types, result_type, can_cast.
// build: small
#include "core/python/arguments/convert.h"
#include "core/python/errors.h"
#include "core/python/tensor/tensor_attributes.h"
#include "core/tensor/dtype/promotion.h"

namespace undertow::core::python {

namespace {

DType dtype_at(PyObject* o, const char* function, const char* name) {
  UT_CHECK_TYPE(accepts_as_dtype(o), function, "(): argument '", name, "' must be undertow.dtype, not ",
                Py_TYPE(o)->tp_name);
  return dtype_of(o);
}
PyObject* promote(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject *a, *b;
    static const char* names[] = {"type1", "type2", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO", const_cast<char**>(names), &a, &b)) throw PythonError();
    return wrap(promote_types(dtype_at(a, "promote_types", "type1"), dtype_at(b, "promote_types", "type2")));
  });
}
PyObject* can_cast_(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject *a, *b;
    static const char* names[] = {"from_", "to", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO", const_cast<char**>(names), &a, &b)) throw PythonError();
    return wrap(can_cast(dtype_at(a, "can_cast", "from_"), dtype_at(b, "can_cast", "to")));
  });
}
PyObject* result_type_(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject *a, *b;
    static const char* names[] = {"tensor1", "tensor2", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO", const_cast<char**>(names), &a, &b)) throw PythonError();
    Promoter p;
    for (PyObject* o : {a, b}) {
      if (is_tensor(o))
        p.add(tensor_of(o));
      else {
        UT_CHECK_TYPE(PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o),
                      "result_type() takes tensors and numbers, not ", Py_TYPE(o)->tp_name);
        p.add(scalar_arg(o));
      }
    }
    return wrap(p.result());
  });
}

PyMethodDef functions[] = {{"promote_types", reinterpret_cast<PyCFunction>(promote), METH_VARARGS | METH_KEYWORDS,
                            "The smallest dtype that holds both."},
                           {"can_cast", reinterpret_cast<PyCFunction>(can_cast_), METH_VARARGS | METH_KEYWORDS,
                            "May values of one dtype be stored in another by promotion's rules?"},
                           {"result_type", reinterpret_cast<PyCFunction>(result_type_), METH_VARARGS | METH_KEYWORDS,
                            "The dtype of an operation on both."},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool init_type_functions(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace undertow::core::python
