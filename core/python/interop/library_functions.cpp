// library_functions.cpp: operators that C++ libraries define (core/api/undertow/library.h), for undertow/library.py.
// build: small
#include "core/api/undertow/library.h"
#include "core/python/arguments/convert.h"
#include "core/python/errors.h"
#include "core/python/interop/extension_functions.h"
#include "core/python/tensor/tensor_object.h"
#include "core/python/types/dtype_object.h"

namespace undertow::core::python {
namespace {

using undertow::IValue;

IValue value_from(PyObject* o) {
  if (o == Py_None) return {};
  if (is_tensor(o)) return tensor_of(o);
  if (PyBool_Check(o)) return o == Py_True;
  if (PyLong_Check(o)) return int_arg(o);
  if (PyFloat_Check(o)) return PyFloat_AS_DOUBLE(o);
  if (PyComplex_Check(o)) return std::complex<double>(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o));
  if (PyUnicode_Check(o)) return str_arg(o);
  if (is_dtype(o)) return static_cast<int64_t>(dtype_of(o));
  if (Py_TYPE(o) == device_type) return str(device_of(o));
  if (Py_TYPE(o) == layout_type) return static_cast<int64_t>(layout_from(o));
  if (Py_TYPE(o) == memory_format_type) return static_cast<int64_t>(memory_format_of(o));
  if (PyList_Check(o) || PyTuple_Check(o)) {
    std::vector<IValue> items;
    PyRef list(check(PySequence_Tuple(o)));  // a copy: converting an element may run code that changes the list
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(list.get()); i++)
      items.push_back(value_from(PyTuple_GET_ITEM(list.get(), i)));
    return PyTuple_Check(o) ? IValue::tuple(std::move(items)) : IValue(std::move(items));
  }
  if (PyDict_Check(o)) {
    std::vector<std::pair<IValue, IValue>> entries;
    PyRef list(check(PyDict_Items(o)));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); i++) {
      PyObject* pair = PyList_GET_ITEM(list.get(), i);
      entries.emplace_back(value_from(PyTuple_GET_ITEM(pair, 0)), value_from(PyTuple_GET_ITEM(pair, 1)));
    }
    return IValue::dict(std::move(entries));
  }
  if (PyIndex_Check(o)) return int_arg(o);
  UT_FAIL_AS(Type, "an operator cannot take a value of type ", Py_TYPE(o)->tp_name);
}

PyObject* object_from(const IValue& v) {
  if (v.isNone()) Py_RETURN_NONE;
  if (v.isTensor()) return check(wrap(Tensor(v.toTensor())));
  if (v.isScalar()) return check(wrap(static_cast<const Scalar&>(v.toScalar())));
  if (v.isString())
    return check(PyUnicode_FromStringAndSize(v.toStringRef().data(), static_cast<Py_ssize_t>(v.toStringRef().size())));
  if (v.isGenericDict()) {
    PyRef dict(check(PyDict_New()));
    for (const auto& [key, value] : v.toGenericDict()) {
      PyRef k(object_from(key)), x(object_from(value));
      if (PyDict_SetItem(dict.get(), k.get(), x.get()) < 0) throw PythonError();
    }
    return dict.release();
  }
  const auto& items = undertow::detail::elements_of(v);
  PyRef list(check(PyList_New(static_cast<Py_ssize_t>(items.size()))));
  for (size_t i = 0; i < items.size(); i++)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), object_from(items[i]));
  return v.isTuple() ? check(PyList_AsTuple(list.get())) : list.release();
}

undertow::library::Operator& operator_arg(PyObject* name) {
  undertow::library::Operator* op = undertow::library::find(str_arg(name));
  UT_CHECK_AS(Key, op, "no library defines the operator ", str_arg(name));
  return *op;
}

// (name, values, below_autograd): calls the operator without the interpreter's lock.
PyObject* library_call(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *name, *values;
    int below = 0;
    if (!PyArg_ParseTuple(args, "UO!|p", &name, &PyTuple_Type, &values, &below)) return nullptr;
    undertow::library::Operator& op = operator_arg(name);
    undertow::library::Stack stack;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(values); i++) stack.push_back(value_from(PyTuple_GET_ITEM(values, i)));
    {
      Unlocked unlocked;
      if (below) {
        undertow::library::BelowAutogradGuard guard;
        undertow::library::call(op, stack);
      } else {
        undertow::library::call(op, stack);
      }
    }
    if (stack.size() == 1) return object_from(stack[0]);
    return stack.empty() ? new_ref(Py_None) : object_from(IValue::tuple(std::move(stack)));
  });
}

PyObject* strings(const std::vector<std::string>& list) {
  PyRef out(check(PyList_New(static_cast<Py_ssize_t>(list.size()))));
  for (size_t i = 0; i < list.size(); i++)
    PyList_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), check(PyUnicode_FromString(list[i].c_str())));
  return out.release();
}
PyObject* library_names(PyObject*, PyObject*) {
  return guarded([] { return strings(undertow::library::names()); });
}
PyObject* library_errors(PyObject*, PyObject*) {
  return guarded([] { return strings(undertow::library::take_errors()); });
}
PyObject* library_schema(PyObject*, PyObject* name) {
  return guarded([&] { return check(PyUnicode_FromString(undertow::library::schema(operator_arg(name)).c_str())); });
}

PyMethodDef functions[] = {{"_library_call", library_call, METH_VARARGS, nullptr},
                           {"_library_names", library_names, METH_NOARGS, nullptr},
                           {"_library_errors", library_errors, METH_NOARGS, nullptr},
                           {"_library_schema", library_schema, METH_O, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool init_library_functions(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace undertow::core::python
