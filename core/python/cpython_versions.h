// cpython_versions.h: differences between versions of CPython, and its private functions. The only file that uses
// private functions, each with the versions known to have it and its replacement elsewhere.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <bit>
#include <cstdint>

namespace undertow::core::python {

// CPython's hash of an address, public since 3.13: the low bits, which are zero because of alignment, become the high
// bits.
inline Py_hash_t hash_of_address(const void* p) {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_HashPointer(p);
#else
  auto hash = static_cast<Py_hash_t>(std::rotr(reinterpret_cast<uintptr_t>(p), 4));
  return hash == -1 ? -2 : hash;  // -1 means an error
#endif
}

// Looks up a name in a class and its bases, without binding: a borrowed reference, or null with no error set.
// The private function has a cache; define UNDERTOW_PUBLIC_CPYTHON to test without it.
inline PyObject* lookup_in_type(PyTypeObject* type, PyObject* name) {
#if PY_VERSION_HEX < 0x030F0000 && !defined(UNDERTOW_PUBLIC_CPYTHON)
  return _PyType_Lookup(type, name);
#else
  PyObject* bases = type->tp_mro;
  for (Py_ssize_t i = 0; bases && i < PyTuple_GET_SIZE(bases); i++) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(bases, i));
#if PY_VERSION_HEX >= 0x030C0000
    PyObject* dict = PyType_GetDict(base);
    Py_XDECREF(dict);  // the class keeps it alive
#else
    PyObject* dict = base->tp_dict;
#endif
    PyObject* found = dict ? PyDict_GetItemWithError(dict, name) : nullptr;
    if (found) return found;
    PyErr_Clear();
  }
  return nullptr;
#endif
}

// types.MethodWrapperType, which has no public name in C: a slot bound to an object, such as x.__str__.
inline bool is_method_wrapper(PyObject* o) {
  static PyTypeObject* const type = [] {
    PyObject* bound = PyObject_GetAttrString(Py_None, "__str__");
    PyTypeObject* found = bound ? Py_TYPE(bound) : nullptr;
    Py_XDECREF(bound);
    PyErr_Clear();
    return found;
  }();
  return Py_TYPE(o) == type;
}

}  // namespace undertow::core::python
