// overrides.cpp: __torch_function__: arguments whose class overrides a call, and modes that override all calls.
// Finds the overrides and passes the call to undertow.overrides._dispatch, which knows modes and precedence.
// build: small
#include "core/graph/diagnostics/profile.h"
#include "core/python/arguments/args.h"
#include "core/python/arguments/overridable.h"
#include "core/python/arguments/safe_read.h"
#include "core/python/cpython_versions.h"
#include "core/python/errors.h"
#include "core/tensor/mode.h"

namespace undertow::core::python {

namespace {
// Why kOverrides is set on this thread: for a mode of the user, or for the profiler, which sees calls in the same way.
thread_local bool has_modes = false;
thread_local bool is_profiled = false;

PyObject* torch_function_name() {
  static PyObject* name = PyUnicode_InternFromString("__torch_function__");
  return name;
}

// `__torch_function__ = _disabled_torch_function_impl` opts a class out.
PyObject* disabled_impl(PyObject*, PyObject* args) {
  PyObject *func, *types, *call_args = nullptr, *kwargs = nullptr;
  if (!PyArg_ParseTuple(args, "OO|OO", &func, &types, &call_args, &kwargs)) return nullptr;
  ModeGuard off(kNoOverrides, true);
  PyRef empty(call_args ? nullptr : PyTuple_New(0));
  return PyObject_Call(func, call_args ? call_args : empty.get(), kwargs && kwargs != Py_None ? kwargs : nullptr);
}
PyMethodDef disabled_def = {"_disabled_torch_function_impl", disabled_impl, METH_VARARGS, nullptr};
PyObject* disabled_function() {
  static PyObject* f = PyCFunction_NewEx(&disabled_def, nullptr, nullptr);
  return f;
}

bool overrides(PyTypeObject* type) {
  if (type == tensor_type || type == parameter_type) return false;
  PyObject* f = lookup_in_type(type, torch_function_name());
  return f && f != disabled_function();
}

void collect(PyObject* o, std::vector<PyObject*>& found) {
  if (is_plain_tensor(o)) return;
  if (PyTuple_Check(o) || PyList_Check(o)) {
    RecursionLevel level(" while looking for overrides in the arguments");
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(o); k++) collect(PySequence_Fast_GET_ITEM(o, k), found);
    return;
  }
  if (!has_override(o)) return;
  // One argument per class; a subclass comes before its base, otherwise left to right.
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

PyRef tuple_of(PyObject* const* items, size_t n) {
  PyRef t(check(PyTuple_New(static_cast<Py_ssize_t>(n))));
  for (size_t i = 0; i < n; i++) PyTuple_SET_ITEM(t.get(), static_cast<Py_ssize_t>(i), new_ref(items[i]));
  return t;
}

// A call without overrides; the profiler may record it.
PyObject* call_plainly(PyObject* function, PyObject* args, PyObject* kwargs) {
  ModeGuard seen(kOverrides, false);
  if (!is_profiled || is_method_wrapper(function))
    return check(PyObject_Call(function, args, kwargs));  // reads an attribute
  PyRef name(PyObject_GetAttrString(function, "__name__"));
  if (!name) PyErr_Clear();
  std::vector<Dims> shapes;
  if (profile::options().shapes)
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++) {
      PyObject* o = PyTuple_GET_ITEM(args, i);
      shapes.push_back(is_tensor(o) ? Dims(tensor_of(o).sizes()) : Dims());
    }
  profile::begin(name && PyUnicode_Check(name.get()) ? shown(name.get()).c_str() : "call", std::move(shapes));
  PyObject* r = PyObject_Call(function, args, kwargs);
  profile::end();
  return check(r);
}

PyObject* dispatch_override(PyObject* public_function, PyObject* args, PyObject* kwargs,
                            const std::vector<PyObject*>& found) {
  if (!has_modes && found.empty()) return call_plainly(public_function, args, kwargs);
  std::vector<PyObject*> classes;
  classes.reserve(found.size());
  for (PyObject* o : found) classes.push_back(reinterpret_cast<PyObject*>(Py_TYPE(o)));
  PyRef types = tuple_of(classes.data(), classes.size()), list = tuple_of(found.data(), found.size());
  static PyObject* handler = [] {
    PyRef module(check(PyImport_ImportModule("undertow.overrides")));
    return check(PyObject_GetAttrString(module.get(), "_dispatch"));
  }();
  PyRef empty(kwargs ? nullptr : check(PyDict_New()));
  PyObject* call_args[] = {public_function, types.get(), list.get(), args, kwargs ? kwargs : empty.get()};
  return check(PyObject_Vectorcall(handler, call_args, 5, nullptr));
}

PyObject* attribute_of_tensor(const char* name, const char* accessor) {
  PyRef descriptor(check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), name)));
  return accessor ? check(PyObject_GetAttrString(descriptor.get(), accessor)) : descriptor.release();
}

// has_torch_function(args): would a call with these arguments be overridden?
PyObject* has_torch_function(PyObject*, PyObject* relevant) {
  if (has_modes) Py_RETURN_TRUE;
  if (mode_is(kNoOverrides)) Py_RETURN_FALSE;
  PyRef list(PySequence_Fast(relevant, "has_torch_function expects an iterable of arguments"));
  if (!list) return nullptr;
  // Nothing in this loop runs Python.
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); i++) {
    PyObject* o = PySequence_Fast_GET_ITEM(list.get(), i);
    if (!is_plain_tensor(o) && has_override(o)) Py_RETURN_TRUE;
  }
  Py_RETURN_FALSE;
}
PyObject* has_torch_function_unary(PyObject*, PyObject* o) {
  return PyBool_FromLong(has_modes || (!mode_is(kNoOverrides) && !is_plain_tensor(o) && has_override(o)));
}
// The arguments that override, by precedence.
PyObject* overloaded_args(PyObject*, PyObject* relevant) {
  return guarded([&]() -> PyObject* {
    std::vector<PyObject*> found;
    PyRef list(check(PySequence_Fast(relevant, "expected an iterable of arguments")));
    if (!mode_is(kNoOverrides))
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); i++) {
        PyObject* o = PySequence_Fast_GET_ITEM(list.get(), i);
        if (!PyTuple_Check(o) && !PyList_Check(o)) collect(o, found);
      }
    return tuple_of(found.data(), found.size()).release();
  });
}
PyMethodDef functions[] = {{"_has_torch_function", has_torch_function, METH_O, nullptr},
                           {"_has_torch_function_unary", has_torch_function_unary, METH_O, nullptr},
                           {"_overloaded_args", overloaded_args, METH_O, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool has_override(PyObject* o) {
  if (PyType_Check(o)) return false;
  return overrides(Py_TYPE(o));
}
bool set_function_modes(bool on) {
  bool before = std::exchange(has_modes, on);
  if (has_modes || is_profiled)
    thread_mode.bits |= kOverrides;
  else
    thread_mode.bits &= ~static_cast<uint32_t>(kOverrides);
  return before;
}
void set_profiled_calls(bool on) {
  is_profiled = on;
  set_function_modes(has_modes);
}
bool overrides_active() { return mode_is(kOverrides); }
bool is_overridden(PyObject* self) { return mode_is(kOverrides) || (!mode_is(kNoOverrides) && has_override(self)); }

namespace {
PyRef keywords_of(PyObject* const* values, PyObject* kwnames) {
  PyRef keywords(check(PyDict_New()));
  for (Py_ssize_t k = 0; k < (kwnames ? PyTuple_GET_SIZE(kwnames) : 0); k++)
    if (PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(kwnames, k), values[k]) < 0) throw PythonError();
  return keywords;
}
}  // namespace

PyObject* call_override(PyObject* public_function, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  std::vector<PyObject*> found;
  if (!mode_is(kNoOverrides))
    for (Py_ssize_t i = 0; i < nargs + nkw; i++) collect(args[i], found);
  PyRef positional = tuple_of(args, static_cast<size_t>(nargs)), keywords = keywords_of(args + nargs, kwnames);
  return dispatch_override(public_function, positional.get(), keywords.get(), found);
}

PyObject* call_delegated_out(const char* module, PyObject* public_function, PyObject* const* args, Py_ssize_t nargs,
                             PyObject* kwnames) {
  PyRef rules(check(PyImport_ImportModule(module)));
  PyRef f(check(PyObject_GetAttrString(rules.get(), "call_out")));
  PyRef positional = tuple_of(args, static_cast<size_t>(nargs)), keywords = keywords_of(args + nargs, kwnames);
  return check(PyObject_CallFunctionObjArgs(f.get(), public_function, positional.get(), keywords.get(), nullptr));
}

PyObject* override_method(const char* name, PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    PyRef f(attribute_of_tensor(name, nullptr));
    std::vector<PyObject*> all{self};
    all.insert(all.end(), args, args + nargs);
    return call_override(f.get(), all.data(), nargs + 1, nullptr);
  });
}
PyObject* override_method(const char* name, PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyRef f(attribute_of_tensor(name, nullptr));
    std::vector<PyObject*> all{self}, found;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++) all.push_back(PyTuple_GET_ITEM(args, i));
    if (!mode_is(kNoOverrides)) {
      for (PyObject* o : all) collect(o, found);
      PyObject *key, *value;
      for (Py_ssize_t at = 0; kwargs && PyDict_Next(kwargs, &at, &key, &value);) collect(value, found);
    }
    PyRef positional = tuple_of(all.data(), all.size());
    return dispatch_override(f.get(), positional.get(), kwargs, found);
  });
}
PyObject* override_creation(const char* name, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyRef module(check(PyImport_ImportModule("undertow._C")));
    PyRef f(check(PyObject_GetAttrString(module.get(), name)));
    return dispatch_override(f.get(), args, kwargs, {});
  });
}
PyObject* override_get(const char* name, PyObject* self) {
  return guarded([&]() -> PyObject* {
    PyRef f(attribute_of_tensor(name, "__get__"));
    return call_override(f.get(), &self, 1, nullptr);
  });
}
int override_set(const char* name, PyObject* self, PyObject* value) {
  PyRef r(guarded([&]() -> PyObject* {
    PyRef f(attribute_of_tensor(name, value ? "__set__" : "__delete__"));
    PyObject* args[] = {self, value};
    return call_override(f.get(), args, value ? 2 : 1, nullptr);
  }));
  return r ? 0 : -1;
}

bool init_override_functions(PyObject* module) {
  return PyModule_AddObjectRef(module, "_disabled_torch_function_impl", disabled_function()) == 0 &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace undertow::core::python
