// dtype_object.h: the small immutable objects of the API: dtype, device, layout, memory_format, Size.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core/tensor/device.h"
#include "core/tensor/dtype/dtype.h"

namespace undertow::core::python {

extern PyTypeObject* dtype_type;
extern PyTypeObject* device_type;
extern PyTypeObject* layout_type;
extern PyTypeObject* memory_format_type;
extern PyTypeObject* size_type;

PyObject* dtype_object(DType t);  // borrowed, one per dtype
bool is_dtype(PyObject* o);
DType dtype_of(PyObject* o);  // also accepts Python's types bool, int, float and complex
bool accepts_as_dtype(PyObject* o);
PyObject* device_object(Device d);  // new reference
Device device_of(PyObject* o);      // from a device object or a string; raises if this build has no such backend
// The device of new tensors on this thread if none is given. `with device:` and set_default_device change it.
Device default_device();
void set_default_device(Device d);
PyObject* layout_object(Layout l);  // borrowed
Layout layout_from(PyObject* o);
PyObject* memory_format_object(MemoryFormat m);
MemoryFormat memory_format_of(PyObject* o);

bool init_dtype_types(PyObject* module);

}  // namespace undertow::core::python
