// generator_object.h: the Python type Generator.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace undertow::core {
struct Generator;
}
namespace undertow::core::python {

bool is_generator(PyObject* o);
Generator* generator_of(PyObject* o);
PyObject* generator_object(Generator* g);  // a new object that does not own g; valid during one call
bool init_generator_type(PyObject* module);

}  // namespace undertow::core::python
