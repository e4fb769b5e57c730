// errors.h: converts C++ exceptions to Python exceptions and back.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <exception>

#include "core/base/error.h"

namespace undertow::core::python {

// A Python exception passing through C++. Thrown with the Python error set; takes it over.
class PythonError : public std::exception {
 public:
  PythonError();
  PythonError(const PythonError& o);
  ~PythonError() override;
  void restore();  // sets the Python error again
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  PyObject *type_, *value_, *traceback_;
  std::string message_;
};

// undertow.linalg.LinAlgError: raised for a matrix that an operator cannot handle, such as a singular one. Created by
// init_errors.
extern PyObject* linalg_error;
bool init_errors(PyObject* module);

// Call it inside catch (...): sets the Python error that corresponds to the current exception.
void set_python_error();

// Runs f(). Turns an exception into a Python error and returns `failed`.
template <class F, class R = PyObject*>
R guarded(F&& f, R failed = R()) {
  try {
    return f();
  } catch (...) {
    set_python_error();
    return failed;
  }
}

inline PyObject* check(PyObject* o) {
  if (!o) throw PythonError();
  return o;
}
inline PyObject* new_ref(PyObject* o) {
  Py_INCREF(o);
  return o;
}

// Owns one reference.
class PyRef {
 public:
  PyRef() = default;
  explicit PyRef(PyObject* owned) : p_(owned) {}
  PyRef(PyRef&& o) noexcept : p_(o.p_) { o.p_ = nullptr; }
  PyRef& operator=(PyRef&& o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~PyRef() { Py_XDECREF(p_); }
  static PyRef borrow(PyObject* o) {
    Py_XINCREF(o);
    return PyRef(o);
  }
  PyObject* get() const { return p_; }
  PyObject* release() {
    PyObject* p = p_;
    p_ = nullptr;
    return p;
  }
  explicit operator bool() const { return p_; }

 private:
  PyObject* p_ = nullptr;
};

// Holds the GIL for a scope, on any thread.
class WithGil {
 public:
  WithGil() : state_(PyGILState_Ensure()) {}
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace undertow::core::python
