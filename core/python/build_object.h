// build_object.h: module functions that report how the core was built.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace undertow::core::python {

bool init_build_functions(PyObject* module);

}  // namespace undertow::core::python
