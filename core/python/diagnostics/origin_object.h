// origin_object.h: lets nodes remember the line of Python that made them.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace undertow::python {

void init_origins();

}  // namespace undertow::python
