// safe_read.cpp: see safe_read.h.
// build: small
#include "core/python/arguments/safe_read.h"

namespace undertow::core::python {

PyRef snapshot(PyObject* sequence, const char* message) {
  if (PyTuple_Check(sequence)) return PyRef::borrow(sequence);
  PyRef list(check(PySequence_Fast(sequence, message)));
  return PyRef(check(PyList_AsTuple(list.get())));
}

std::string_view utf8(PyObject* string) {
  Py_ssize_t n = 0;
  const char* text = PyUnicode_AsUTF8AndSize(string, &n);
  if (!text) throw PythonError();
  return {text, static_cast<size_t>(n)};
}
std::string shown(PyObject* string) {
  PyRef bytes(check(PyUnicode_AsEncodedString(string, "utf-8", "backslashreplace")));
  return {PyBytes_AS_STRING(bytes.get()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.get()))};
}

}  // namespace undertow::core::python
