// extension_api.cpp: fills the table of functions that extensions use. See Note [Extension API] in python_api.h.
// build: small
#include "core/api/undertow/extension/python_api.h"
#include "core/python/arguments/convert.h"
#include "core/python/autograd/node_object.h"
#include "core/python/errors.h"
#include "core/python/interop/extension_functions.h"
#include "core/python/tensor/tensor_object.h"
#include "core/python/types/dtype_object.h"

namespace undertow::core::python {
namespace {

PyObject* api_wrap_tensor(TensorImpl* t) {
  return guarded([&] { return wrap(Tensor(Ref<TensorImpl>(t))); });
}
TensorImpl* api_tensor_of(PyObject* o) { return is_tensor(o) ? tensor_of(o).impl() : nullptr; }
PyObject* api_wrap_node(Node* n) {
  return guarded([&] { return wrap_node(n); });
}
Node* api_node_of(PyObject* o) { return is_node(o) ? node_of(o) : nullptr; }

PyObject* api_wrap_dtype(int t) { return new_ref(dtype_object(static_cast<DType>(t))); }
int api_dtype_of(PyObject* o) { return is_dtype(o) ? static_cast<int>(dtype_of(o)) : -1; }
PyObject* api_wrap_layout(int l) { return new_ref(layout_object(static_cast<Layout>(l))); }
int api_layout_of(PyObject* o) { return Py_TYPE(o) == layout_type ? static_cast<int>(layout_from(o)) : -1; }
PyObject* api_wrap_memory_format(int f) { return new_ref(memory_format_object(static_cast<MemoryFormat>(f))); }
int api_memory_format_of(PyObject* o) {
  return Py_TYPE(o) == memory_format_type ? static_cast<int>(memory_format_of(o)) : -1;
}
PyObject* api_wrap_device(int type, int index) {
  return guarded([&] { return device_object(Device{static_cast<DeviceType>(type), static_cast<int8_t>(index)}); });
}
bool api_device_of(PyObject* o, int* type, int* index) {
  if (Py_TYPE(o) != device_type && !PyUnicode_Check(o)) return false;
  try {
    const Device d = device_of(o);
    *type = static_cast<int>(d.type);
    *index = d.index;
    return true;
  } catch (const Error&) {
    return false;
  }
}

void api_set_error(int kind, const char* message) {
  try {
    throw_error(static_cast<ErrorKind>(kind), message);
  } catch (...) {
    set_python_error();
  }
}
bool api_restore_error(const std::exception* error) {
  auto* ours = dynamic_cast<const PythonError*>(error);
  if (!ours) return false;
  PythonError(*ours).restore();
  return true;
}

void* api_release_gil() { return new Unlocked; }
void api_acquire_gil(void* token) { delete static_cast<Unlocked*>(token); }

constexpr undertow::python::PythonApi kTable = {
    .major = undertow::python::kPythonApiMajor,
    .minor = undertow::python::kPythonApiMinor,
    .wrap_tensor = api_wrap_tensor,
    .tensor_of = api_tensor_of,
    .wrap_node = api_wrap_node,
    .node_of = api_node_of,
    .wrap_dtype = api_wrap_dtype,
    .dtype_of = api_dtype_of,
    .wrap_layout = api_wrap_layout,
    .layout_of = api_layout_of,
    .wrap_memory_format = api_wrap_memory_format,
    .memory_format_of = api_memory_format_of,
    .wrap_device = api_wrap_device,
    .device_of = api_device_of,
    .set_error = api_set_error,
    .restore_error = api_restore_error,
    .release_gil = api_release_gil,
    .acquire_gil = api_acquire_gil,
};

}  // namespace

bool init_extension_api(PyObject* module) {
  PyRef capsule(
      PyCapsule_New(const_cast<undertow::python::PythonApi*>(&kTable), undertow::python::kPythonApiName, nullptr));
  return capsule && PyModule_AddObjectRef(module, "_api", capsule.get()) == 0;
}

}  // namespace undertow::core::python
