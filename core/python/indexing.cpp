// indexing.cpp: see indexing.h.
#include "core/python/indexing.h"

#include "core/python/convert.h"
#include "core/python/errors.h"
#include "generated/ops.h"

namespace undertow::python {

PyObject* get_item(PyObject* self, PyObject* index) {
  if (PyLong_CheckExact(index)) return wrap(ops::select(tensor_of(self), 0, int_arg(index)));
  UT_FAIL_AS(Type, "index of type ", Py_TYPE(index)->tp_name);
}
void set_item(PyObject*, PyObject* index, PyObject*) { UT_FAIL_AS(Type, "index of type ", Py_TYPE(index)->tp_name); }

}  // namespace undertow::python
