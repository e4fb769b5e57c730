// storage_object.h: the Python type UntypedStorage: the bytes that tensors share, also through the buffer protocol.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core/tensor/tensor.h"

namespace undertow::python {

PyObject* storage_object(Ref<Storage> storage);  // new reference
bool is_storage(PyObject* o);
Ref<Storage> storage_of(PyObject* o);

// A storage over what `o` exports by the buffer protocol: o's own bytes when they may be written (and o lives as long
// as the storage), a copy otherwise. A view of one of our storages gives that storage back.
Ref<Storage> storage_over_buffer(PyObject* o);

// A tensor laid over a storage; refuses a layout that leaves it.
Tensor over_storage(Ref<Storage> storage, IntSpan sizes, IntSpan strides, int64_t offset, DType dtype);

bool is_shared(const Storage& s);
void share_memory(Storage& s);

bool init_storage_type(PyObject* module);

}  // namespace undertow::python
