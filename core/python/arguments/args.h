// args.h: puts Python's arguments into slots, selects the overload, and calls it. convert.h converts the slots.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <vector>

#include "core/python/tensor/tensor_object.h"

namespace undertow::core::python {

enum class ArgKind : uint8_t {
  Tensor,
  OptTensor,
  TensorList,
  OptTensorList,
  Scalar,
  OptScalar,
  Int,
  OptInt,
  Float,
  OptFloat,
  Bool,
  OptBool,
  True,
  False,
  Ints,
  OptInts,
  SizedInts,
  OptSizedInts,
  DType,
  OptDType,
  Str,
  OptStr,
  Generator,
  Device,
  MemoryFormat,
  Layout,
  OutList
};

struct ArgSpec {
  const char* name;
  ArgKind kind;
  bool has_default;
  bool kwonly;
  PyObject* interned = nullptr;
};

struct Overload {
  const char* text;  // "(Tensor self, int dim)"
  ArgSpec* args;
  int count;
  PyObject* (*call)(PyObject** slots);  // missing arguments are null; may throw
  bool method_only;
};

struct Function {
  const char* name;
  Overload* overloads;
  int count;
  PyObject* public_function = nullptr;  // the function that __torch_function__ receives
  bool ready = false;
};

struct ModuleFunction {
  const char* module;  // "" or "nn.functional"
  PyMethodDef def;
  Function* function;
};

inline constexpr int kMaxArgs = 24;

PyObject* invoke(Function& f, PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
// For a method without arguments on a plain tensor: no parsing.
PyObject* call_fast(Function& f, PyObject* self, PyObject* (*call)(PyObject*));

// The same for arguments that need no parsing: exact ints, in slots or as one list.
inline bool exact_ints(PyObject* const* args, Py_ssize_t n) {
  for (Py_ssize_t i = 0; i < n; i++)
    if (!PyLong_CheckExact(args[i])) return false;
  return true;
}
PyObject* call_slots(Function& f, PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject** slots,
                     PyObject* (*call)(PyObject**));
PyObject* call_with_ints(Function& f, PyObject* self, PyObject* const* args, Py_ssize_t n,
                         Tensor (*call)(const Tensor&, IntSpan));

// One overload, in the form that rules of vmap call: by key, with every argument in its slot.
struct TableOperator {
  const char* key;
  const char* rule;       // its `batch` in the table
  const char* arguments;  // their names, separated by commas
  PyObject* (*call)(PyObject** slots);
};

// Defined by generated code.
void collect_bindings(std::vector<PyMethodDef>& methods, std::vector<ModuleFunction>& functions);
void collect_operators(std::vector<TableOperator>& operators);

// Does the class of this argument override the call? (It has a __torch_function__ of its own that is not disabled.)
bool has_override(PyObject* o);
// Calls the overrides found among `args`. Returns a new reference, or null with an error set.
PyObject* call_override(PyObject* public_function, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
bool overrides_active();  // this thread has an active __torch_function__ mode
// Sets whether this thread has an active __torch_function__ mode, and returns the old value. The profiler uses the same
// bit to see calls.
bool set_function_modes(bool on);
void set_profiled_calls(bool on);
bool init_override_functions(PyObject* module);

}  // namespace undertow::core::python
