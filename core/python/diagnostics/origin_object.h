// origin_object.h: lets nodes record the Python line that created them.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace undertow::core::python {

void init_origins();
// Does the frame belong to the package?
bool is_package_frame(PyFrameObject* frame);

}  // namespace undertow::core::python
