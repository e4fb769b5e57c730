// accepts.h: which Python objects an argument of each kind accepts, and what messages call the kind.
// Does not convert them: see convert.h.
#pragma once
#include <string>

#include "core/python/arguments/signature.h"
#include "core/tensor/tensor.h"

namespace undertow::core::python {

bool accepts(ArgKind kind, PyObject* o);
bool accepts(const ArgSpec& argument, PyObject* o);
std::string kind_text(ArgKind kind);  // "tuple of ints"

// A Python number or NumPy scalar, but no tensor.
bool is_number_like(PyObject* o);
bool is_int_like(PyObject* o);
// Whether a tensor of no dimensions can be read as a number. That of a batched or meta tensor cannot; item() raises
// with the reason.
bool is_readable(const Tensor& t);

}  // namespace undertow::core::python
