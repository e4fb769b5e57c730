// python_api.h: the table of functions that undertow._C offers to extensions, in the capsule `undertow._C._api`. C
// types and functions only, so that an extension need not link to _C, which has no library to link to.
//
// Note [Extension API]
// The table only grows: a new function is added at its end and kPythonApiMinor is increased. A changed or removed one
// increases kPythonApiMajor. An extension works with a table of the same major version and the same or a later minor
// version. Every function needs the interpreter's lock.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <exception>

namespace undertow::core {
struct TensorImpl;
class Node;
}  // namespace undertow::core

namespace undertow::python {

inline constexpr uint32_t kPythonApiMajor = 1, kPythonApiMinor = 0;
inline constexpr const char* kPythonApiName = "undertow._C._api";

struct PythonApi {
  uint32_t major, minor;
  // The object of a tensor, a new reference: the one it already has, if it has one. None for null.
  PyObject* (*wrap_tensor)(core::TensorImpl* tensor);
  // Borrowed; null, without an error, if the object is no tensor.
  core::TensorImpl* (*tensor_of)(PyObject* object);
  PyObject* (*wrap_node)(core::Node* node);
  core::Node* (*node_of)(PyObject* object);
  // dtypes, layouts and memory formats by the number of the core's enumeration; -1 if the object is none.
  PyObject* (*wrap_dtype)(int dtype);
  int (*dtype_of)(PyObject* object);
  PyObject* (*wrap_layout)(int layout);
  int (*layout_of)(PyObject* object);
  PyObject* (*wrap_memory_format)(int format);
  int (*memory_format_of)(PyObject* object);
  // A device object, or a string such as "cpu"; false, without an error, if it is neither.
  PyObject* (*wrap_device)(int type, int index);
  bool (*device_of)(PyObject* object, int* type, int* index);
  // Sets the Python exception that belongs to an error of the core: `kind` is its ErrorKind.
  void (*set_error)(int kind, const char* message);
  // If `error` is a Python exception that passes through C++, sets it again and returns true.
  bool (*restore_error)(const std::exception* error);
  // Before and after work without the interpreter's lock; the token belongs to the thread.
  void* (*release_gil)();
  void (*acquire_gil)(void* token);
};

}  // namespace undertow::python
