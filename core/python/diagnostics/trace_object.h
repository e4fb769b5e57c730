// trace_object.h: registers the functions of trace_object.cpp and observer_object.cpp.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace undertow::core::python {

bool init_trace_functions(PyObject* module);
bool init_observer_functions(PyObject* module);

}  // namespace undertow::core::python
