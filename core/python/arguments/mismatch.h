// mismatch.h: the parts of the TypeError for a call whose arguments fit no overload. Shows signatures as torch does:
// "(Tensor input, tuple of ints dim, bool keepdim = False)".
#pragma once
#include <string>
#include <string_view>

#include "core/python/arguments/args.h"

namespace undertow::core::python {

// The name of an argument in messages: the tensor is the `input` of a function, and has no name in a method.
const char* shown_name(const ArgSpec& argument, PyObject* self);
// The type of an argument: the class of a tensor without its module.
std::string_view shown_type(PyObject* o);
// "() missing 2 required positional argument: ..." for the arguments whose slot is empty.
std::string missing_arguments(const Overload& o, PyObject* self, PyObject* const* slots);
// The overload that a call with this number of arguments must mean, or null if there is more than one, or none.
const Overload* overload_meant(const Function& f, PyObject* self, Py_ssize_t arguments);
// "received an invalid combination of arguments ...", with the types of the arguments and all overloads.
std::string invalid_combination(const Function& f, PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                                PyObject* kwnames);

}  // namespace undertow::core::python
