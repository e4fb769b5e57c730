// extension_functions.h: what extensions in C++ use of the module, and the module of them.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core/python/arguments/convert.h"

namespace undertow::core::python {

// Releases the interpreter's lock for a scope, as LongOp does for large tensors: what runs may record a graph, so that
// the collector of gradient cycles must wait.
class Unlocked {
 public:
  Unlocked() {
    LongOp::unlocked.fetch_add(1);
    state_ = PyEval_SaveThread();
  }
  ~Unlocked() {
    PyEval_RestoreThread(state_);
    LongOp::unlocked.fetch_sub(1);
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

bool init_extension_api(PyObject* module);      // the capsule `_api`
bool init_library_functions(PyObject* module);  // operators that C++ libraries define

}  // namespace undertow::core::python
