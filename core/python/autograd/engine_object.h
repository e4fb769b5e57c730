// engine_object.h: the engine's Python interface.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace undertow::core::python {

bool init_engine_type(PyObject* module);

}  // namespace undertow::core::python
