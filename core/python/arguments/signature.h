// signature.h: the parameters of an overload, read from its text "(Tensor self, int dim, *, bool keepdim=False)".
// Knows the words of the operator tables; not how an argument is converted.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

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
  PyObject* interned;  // the name; lives as long as the interpreter
  const char* name;    // its characters
  ArgKind kind;
  bool has_default;
  bool kwonly;
  std::string_view default_value;  // a part of the overload's text

  bool is_out() const { return std::string_view(name) == "out"; }  // functions have this argument, methods do not
};

// `text` must live as long as the result.
std::vector<ArgSpec> parse_signature(std::string_view text);
// The position of the argument that a keyword means, or -1. Accepts the other names that torch accepts, such as `axis`.
int find_argument(std::span<const ArgSpec> arguments, PyObject* key);

}  // namespace undertow::core::python
