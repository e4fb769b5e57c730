// generator_object.h: the Python type Generator.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace undertow {
struct Generator;
}
namespace undertow::python {

bool is_generator(PyObject* o);
Generator* generator_of(PyObject* o);
bool init_generator_type(PyObject* module);

}  // namespace undertow::python
