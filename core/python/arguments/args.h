// args.h: puts Python's arguments into slots, selects the overload, and calls it. convert.h converts the slots.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <vector>

#include "core/python/arguments/signature.h"
#include "core/python/tensor/tensor_object.h"

namespace undertow::core::python {

struct Overload {
  const char* text;                     // "(Tensor self, int dim)"
  PyObject* (*call)(PyObject** slots);  // missing arguments are null; may throw
  bool method_only;
  int count = 0;                  // of args
  const ArgSpec* args = nullptr;  // read from the text at the first call: as data they would take 190 kB
};

struct Function {
  const char* name;
  Overload* overloads;
  int count;
  PyObject* public_function = nullptr;  // the function that __torch_function__ receives
  bool ready = false;
};

struct ModuleFunction {
  char module[16];  // "" or "nn.functional"; in place, because a pointer would also need a relocation
  PyObject* (*call)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
  const char* doc;
  Function* function;  // has the name
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
  const char* text;  // "key rule arguments": the rule is its `batch` in the table; commas separate the arguments' names
  PyObject* (*call)(PyObject** slots);
};

// Defined by generated code.
void collect_bindings(std::vector<PyMethodDef>& methods, std::vector<ModuleFunction>& functions);
void collect_operators(std::vector<TableOperator>& operators);

// Does the class of this argument override the call? (It has a __torch_function__ of its own that is not disabled.)
bool has_override(PyObject* o);
// Calls the overrides found among `args`. Returns a new reference, or null with an error set.
PyObject* call_override(PyObject* public_function, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
// Passes a call with out= to the function call_out of a module.
PyObject* call_delegated_out(const char* module, PyObject* public_function, PyObject* const* args, Py_ssize_t nargs,
                             PyObject* kwnames);
bool overrides_active();  // this thread has an active __torch_function__ mode
// Sets whether this thread has an active __torch_function__ mode, and returns the old value. The profiler uses the same
// bit to see calls.
bool set_function_modes(bool on);
void set_profiled_calls(bool on);
bool init_override_functions(PyObject* module);

}  // namespace undertow::core::python
