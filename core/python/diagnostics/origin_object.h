// origin_object.h: lets nodes record the Python line that created them.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace undertow::core::python {

void init_origins();

}  // namespace undertow::core::python
