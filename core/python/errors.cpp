// errors.cpp: see errors.h.
// build: small
#include "core/python/errors.h"

#include <new>
#include <stdexcept>
#include <string_view>

#include "core/python/printed_name.h"

namespace undertow::core::python {

PythonError::PythonError() {
  PyErr_Fetch(&type_, &value_, &traceback_);
  PyErr_NormalizeException(&type_, &value_, &traceback_);
  if (traceback_ && value_) PyException_SetTraceback(value_, traceback_);
  PyRef text(value_ ? PyObject_Str(value_) : nullptr);
  PyRef bytes(text ? PyUnicode_AsEncodedString(text.get(), "utf-8", "backslashreplace") : nullptr);
  message_ = bytes ? PyBytes_AS_STRING(bytes.get()) : "Python error";
  PyErr_Clear();
}
PythonError::PythonError(const PythonError& o)
    : std::exception(o), type_(o.type_), value_(o.value_), traceback_(o.traceback_), message_(o.message_) {
  WithGil gil;
  Py_XINCREF(type_);
  Py_XINCREF(value_);
  Py_XINCREF(traceback_);
}
PythonError::~PythonError() {
  if (!type_ && !value_ && !traceback_) return;
  WithGil gil;
  Py_XDECREF(type_);
  Py_XDECREF(value_);
  Py_XDECREF(traceback_);
}
void PythonError::restore() {
  PyErr_Restore(type_, value_, traceback_);
  type_ = value_ = traceback_ = nullptr;
}

PyObject *linalg_error = nullptr, *out_of_memory_error = nullptr, *accelerator_error = nullptr;

namespace {
PyObject* exception_class(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Runtime:
      return PyExc_RuntimeError;
    case ErrorKind::Type:
      return PyExc_TypeError;
    case ErrorKind::Value:
      return PyExc_ValueError;
    case ErrorKind::Index:
      return PyExc_IndexError;
    case ErrorKind::NotImplemented:
      return PyExc_NotImplementedError;
    case ErrorKind::Key:
      return PyExc_KeyError;
    case ErrorKind::Overflow:
      return PyExc_OverflowError;
    case ErrorKind::OutOfMemory:
      return out_of_memory_error;
    case ErrorKind::Attribute:
      return PyExc_AttributeError;
    case ErrorKind::LinAlg:
      return linalg_error ? linalg_error : PyExc_RuntimeError;
    case ErrorKind::Accelerator:
      return accelerator_error;
  }
  return PyExc_RuntimeError;
}
}  // namespace

namespace {
// For a program that runs under as_torch, undertow.name in an error becomes torch.name: its tests look for that
// sentence.
std::string as_printed(std::string text) {
  constexpr std::string_view kPackagePrefix = "undertow.";
  const std::string package = std::string(printed_package()) + ".";
  if (package == kPackagePrefix) return text;
  for (size_t at = text.find(kPackagePrefix); at != std::string::npos;
       at = text.find(kPackagePrefix, at + package.size()))
    text.replace(at, kPackagePrefix.size(), package);
  return text;
}
}  // namespace

bool init_errors(PyObject* module) {
  linalg_error = PyErr_NewExceptionWithDoc("undertow._C._LinAlgError",
                                           "Raised for a matrix that a linear-algebra operator cannot handle.",
                                           PyExc_RuntimeError, nullptr);
  out_of_memory_error = PyErr_NewExceptionWithDoc(
      "undertow.OutOfMemoryError", "Raised when a device has too little memory.", PyExc_RuntimeError, nullptr);
  accelerator_error = PyErr_NewExceptionWithDoc("undertow.AcceleratorError", "Raised when a device reports an error.",
                                                PyExc_RuntimeError, nullptr);
  return linalg_error && PyModule_AddObjectRef(module, "_LinAlgError", linalg_error) == 0 && out_of_memory_error &&
         PyModule_AddObjectRef(module, "_OutOfMemoryError", out_of_memory_error) == 0 && accelerator_error &&
         PyModule_AddObjectRef(module, "_AcceleratorError", accelerator_error) == 0;
}

void set_python_error() {
  try {
    throw;
  } catch (PythonError& e) {
    e.restore();
  } catch (const Error& e) {
    PyErr_SetString(exception_class(e.kind()), as_printed(e.what()).c_str());
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_RuntimeError, "not enough memory");
  } catch (const std::length_error&) {
    // A container was asked for more than its maximum: the size came from the caller, and no memory would do.
    PyErr_SetString(PyExc_RuntimeError, "not enough memory: the sizes given are too large");
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "unknown C++ exception");
  }
}

}  // namespace undertow::core::python
