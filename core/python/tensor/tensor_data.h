// tensor_data.h: tensors from and to Python data: lists, numbers, buffers; and exchanging a tensor's memory.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "core/python/tensor/tensor_object.h"
#include "core/tensor/device.h"

namespace undertow::python {

// What undertow.tensor(data) makes; dtype inferred from the data if not given. Copies always.
Tensor tensor_from_data(PyObject* data, std::optional<DType> dtype);
// Raises for a tensor without memory.
void check_has_elements(const Tensor& t);
PyObject* to_list(const Tensor& t);
bool is_contiguous_in(const Tensor& t, MemoryFormat format);
// t.data = source: t takes source's memory, layout and dtype, keeping its own version counter and autograd state.
void replace_data(const Tensor& t, const Tensor& source);
// t.set_(storage, offset, size, stride).
void set_storage(const Tensor& t, Ref<Storage> storage, IntSpan sizes, IntSpan strides, int64_t offset);
// FloatTensor(2, 3), FloatTensor([1, 2]), FloatTensor(storage): uninitialised sizes, or data, of one dtype.
Tensor legacy_tensor(PyObject* args, DType dtype);
// Visits elements in row-major order of the indices, whatever the strides.
void for_each_element(const Tensor& t, const std::function<void(char*)>& f);
PyObject* element_object(const char* p, DType t);
void store_element(char* p, DType t, PyObject* value);
// The module function tensor.
bool init_data_functions(PyObject* module);

}  // namespace undertow::python
