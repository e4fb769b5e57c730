// python.h: between tensors and their Python objects, for extensions. A tensor that has a Python object comes back as
// that object. Everything here needs the interpreter's lock. pybind11.h and nanobind.h build on it.
#pragma once
#include <undertow/extension/python_api.h>
#include <undertow/tensor.h>

#include <string>

namespace undertow::python {

// A Python exception is set; thrown through C++ until the binding library returns to Python.
struct ErrorAlreadySet : std::exception {
  const char* what() const noexcept override { return "a Python exception is set"; }
};

// The functions of _C; imports undertow on first use. Raises ImportError (as ErrorAlreadySet) for another version.
inline const PythonApi& api() {
  static const PythonApi* found = nullptr;  // guarded by the interpreter's lock
  if (found) return *found;
  PyObject* module = PyImport_ImportModule("undertow._C");
  PyObject* capsule = module ? PyObject_GetAttrString(module, "_api") : nullptr;
  Py_XDECREF(module);
  auto* table = capsule ? static_cast<const PythonApi*>(PyCapsule_GetPointer(capsule, kPythonApiName)) : nullptr;
  Py_XDECREF(capsule);  // the table is static
  if (table && (table->major != kPythonApiMajor || table->minor < kPythonApiMinor)) {
    PyErr_Format(PyExc_ImportError,
                 "this extension was compiled for version %u.%u of Undertow's extension API, but the installed "
                 "Undertow has version %u.%u; compile it again",
                 kPythonApiMajor, kPythonApiMinor, table->major, table->minor);
    table = nullptr;
  }
  if (!table) throw ErrorAlreadySet();
  return *(found = table);
}

// The tensor of a Python object, or an undefined one if the object is no tensor.
inline Tensor tensor_of(PyObject* object) {
  core::TensorImpl* impl = api().tensor_of(object);
  return impl ? Tensor(core::Tensor(core::Ref<core::TensorImpl>(impl))) : Tensor();
}
inline bool is_tensor(PyObject* object) { return api().tensor_of(object) != nullptr; }
// A new reference; None for an undefined tensor.
inline PyObject* object_of(const core::Tensor& t) {
  PyObject* made = api().wrap_tensor(t.impl());
  if (!made) throw ErrorAlreadySet();
  return made;
}
inline PyObject* object_of(core::Node* node) {
  PyObject* made = api().wrap_node(node);
  if (!made) throw ErrorAlreadySet();
  return made;
}

inline PyObject* object_of(const core::Scalar& s) {
  switch (s.kind()) {
    case core::Scalar::Kind::Bool:
      return PyBool_FromLong(s.to_int() != 0);
    case core::Scalar::Kind::Int:
      return PyLong_FromLongLong(s.to_int());
    case core::Scalar::Kind::UInt:
      return PyLong_FromUnsignedLongLong(s.to<uint64_t>());
    case core::Scalar::Kind::Float:
      return PyFloat_FromDouble(s.to_double());
    case core::Scalar::Kind::Complex:
      return PyComplex_FromDoubles(s.to_complex().real(), s.to_complex().imag());
  }
  return nullptr;
}
// A Python number, or a tensor with one element that needs no gradient. False, without an error, for anything else.
inline bool scalar_from(PyObject* o, core::Scalar* out) {
  if (PyBool_Check(o)) {
    *out = core::Scalar(o == Py_True);
  } else if (PyLong_Check(o)) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow > 0) {
      const unsigned long long large = PyLong_AsUnsignedLongLong(o);
      if (PyErr_Occurred()) return PyErr_Clear(), false;
      *out = core::Scalar(static_cast<unsigned long>(large));
    } else if (overflow < 0) {
      return false;
    } else {
      *out = core::Scalar(value);
    }
  } else if (PyFloat_Check(o)) {
    *out = core::Scalar(PyFloat_AS_DOUBLE(o));
  } else if (PyComplex_Check(o)) {
    *out = core::Scalar(std::complex<double>(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o)));
  } else if (Tensor t = tensor_of(o); t.defined()) {
    if (t.numel() != 1) return false;
    *out = core::ops::item(t);
  } else if (PyIndex_Check(o)) {  // NumPy's integers
    PyObject* number = PyNumber_Index(o);
    if (!number) return PyErr_Clear(), false;
    const bool read = scalar_from(number, out);
    Py_DECREF(number);
    return read;
  } else if (PyNumber_Check(o)) {  // NumPy's floats
    const double value = PyFloat_AsDouble(o);
    if (PyErr_Occurred()) return PyErr_Clear(), false;
    *out = core::Scalar(value);
  } else {
    return false;
  }
  return true;
}

// Call it inside a catch clause for std::exception: sets the Python exception that belongs to an error of ours and
// returns true; false if the error is another one.
inline bool set_python_error(const std::exception& error) {
  if (dynamic_cast<const ErrorAlreadySet*>(&error)) return true;
  if (auto* ours = dynamic_cast<const core::Error*>(&error)) {
    api().set_error(static_cast<int>(ours->kind()), ours->what());
    return true;
  }
  return api().restore_error(&error);
}

// Releases the interpreter's lock for a scope. Use it, not that of a binding library, around work that records a graph:
// the collector of gradient cycles waits for its end.
class GilRelease {
 public:
  GilRelease() : token_(api().release_gil()) {}
  ~GilRelease() { api().acquire_gil(token_); }
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

 private:
  void* token_;
};

}  // namespace undertow::python
