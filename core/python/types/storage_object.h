// storage_object.h: the Python type UntypedStorage: the bytes that tensors share, also through the buffer protocol.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core/tensor/tensor.h"

namespace undertow::core::python {

PyObject* storage_object(Ref<Storage> storage);  // new reference
bool is_storage(PyObject* o);
Ref<Storage> storage_of(PyObject* o);

// A storage for the memory that `o` exports by the buffer protocol: o's own bytes if they are writable (the storage
// then keeps o alive), otherwise a copy. For a view of one of our storages, returns that storage.
Ref<Storage> storage_over_buffer(PyObject* o);

// A tensor on a storage; raises if the layout exceeds it.
Tensor over_storage(Ref<Storage> storage, IntSpan sizes, IntSpan strides, int64_t offset, DType dtype);

bool init_storage_type(PyObject* module);

}  // namespace undertow::core::python
