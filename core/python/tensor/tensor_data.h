// tensor_data.h: tensors from and to Python data: lists, numbers, buffers.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "core/python/tensor/tensor_object.h"
#include "core/tensor/device.h"

namespace undertow::core::python {

// The result of undertow.tensor(data); infers the dtype from the data if it is not given. Always copies.
Tensor tensor_from_data(PyObject* data, std::optional<DType> dtype);
// Raises for a tensor without memory.
void check_has_elements(const Tensor& t);
PyObject* to_list(const Tensor& t);
bool is_contiguous_in(const Tensor& t, MemoryFormat format);
// t.set_(storage, offset, size, stride).
void set_storage(const Tensor& t, Ref<Storage> storage, IntSpan sizes, IntSpan strides, int64_t offset);
// FloatTensor(2, 3), FloatTensor([1, 2]), FloatTensor(storage): uninitialised with these sizes, or from data.
Tensor legacy_tensor(PyObject* args, DType dtype);
// Visits the elements in row-major index order, for any strides.
void for_each_element(const Tensor& t, const std::function<void(char*)>& f);
PyObject* element_object(const char* p, DType t);
void store_element(char* p, DType t, PyObject* value);
// Adds the module function `tensor`.
bool init_data_functions(PyObject* module);

}  // namespace undertow::core::python
