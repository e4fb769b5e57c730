// tensor_data.h: tensors from and to Python data: lists, numbers, buffers; and exchanging a tensor's memory.
#pragma once
#include <optional>
#include <vector>

#include "core/python/tensor_object.h"
#include "core/tensor/device.h"

namespace undertow::python {

// What undertow.tensor(data) makes; dtype inferred from the data if not given. Copies always.
Tensor tensor_from_data(PyObject* data, std::optional<DType> dtype);
PyObject* to_list(const Tensor& t);
bool is_contiguous_in(const Tensor& t, MemoryFormat format);
// t.data = source: t takes source's memory, layout and dtype, keeping its own version counter and autograd state.
void replace_data(const Tensor& t, const Tensor& source);
void add_data_methods(std::vector<PyMethodDef>& methods);
// Module functions: tensor, _tensor_from_bytes, _storage_bytes, ...
bool init_data_functions(PyObject* module);

}  // namespace undertow::python
