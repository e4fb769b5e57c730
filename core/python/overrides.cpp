// overrides.cpp: __torch_function__: arguments whose class takes over a call, and modes that take over all calls.
#include "core/python/args.h"
#include "core/python/errors.h"
#include "core/tensor/mode.h"

namespace undertow::python {

namespace {
PyObject* torch_function_name() {
  static PyObject* name = PyUnicode_InternFromString("__torch_function__");
  return name;
}

// Tensor's own implementation must not count, or every tensor would be an override.
bool overrides(PyTypeObject* type) {
  if (type == tensor_type || type == parameter_type) return false;
  PyObject* f = _PyType_Lookup(type, torch_function_name());
  if (!f) return false;
  PyObject* own = _PyType_Lookup(tensor_type, torch_function_name());
  return f != own || PyType_IsSubtype(type, tensor_type);
}

void collect(PyObject* o, std::vector<PyObject*>& found) {
  if (is_plain_tensor(o)) return;
  if (PyTuple_Check(o) || PyList_Check(o)) {
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(o); k++) collect(PySequence_Fast_GET_ITEM(o, k), found);
    return;
  }
  if (!has_override(o)) return;
  // One argument per class; a subclass goes before its base, otherwise left to right.
  for (PyObject* x : found)
    if (Py_TYPE(x) == Py_TYPE(o)) return;
  size_t at = found.size();
  for (size_t i = 0; i < found.size(); i++)
    if (PyType_IsSubtype(Py_TYPE(o), Py_TYPE(found[i]))) {
      at = i;
      break;
    }
  found.insert(found.begin() + static_cast<ptrdiff_t>(at), o);
}
}  // namespace

bool has_override(PyObject* o) {
  if (PyType_Check(o)) return false;
  return overrides(Py_TYPE(o));
}
bool overrides_active() { return mode_is(kOverrides); }

PyObject* call_override(PyObject* public_function, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  std::vector<PyObject*> found;
  for (Py_ssize_t i = 0; i < nargs + nkw; i++) collect(args[i], found);
  PyRef types(check(PyTuple_New(static_cast<Py_ssize_t>(found.size()))));
  for (size_t i = 0; i < found.size(); i++) PyTuple_SET_ITEM(types.get(), static_cast<Py_ssize_t>(i), new_ref(reinterpret_cast<PyObject*>(Py_TYPE(found[i]))));
  PyRef positional(check(PyTuple_New(nargs))), keywords(check(PyDict_New()));
  for (Py_ssize_t i = 0; i < nargs; i++) PyTuple_SET_ITEM(positional.get(), i, new_ref(args[i]));
  for (Py_ssize_t k = 0; k < nkw; k++)
    if (PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(kwnames, k), args[nargs + k]) < 0) throw PythonError();
  PyRef module(check(PyImport_ImportModule("undertow.overrides")));
  PyRef handler(check(PyObject_GetAttrString(module.get(), "_dispatch")));
  PyRef list(check(PyTuple_New(static_cast<Py_ssize_t>(found.size()))));
  for (size_t i = 0; i < found.size(); i++) PyTuple_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), new_ref(found[i]));
  PyObject* call_args[] = {public_function, types.get(), list.get(), positional.get(), keywords.get()};
  return check(PyObject_Vectorcall(handler.get(), call_args, 5, nullptr));
}

}  // namespace undertow::python
