// overridable.h: adds the __torch_function__ check to hand-written methods and attributes of Tensor.
// For generated methods, invoke() has this check (args.cpp). A plain tensor costs two comparisons.
#pragma once
#include <type_traits>

#include "core/python/arguments/args.h"
#include "core/tensor/mode.h"

namespace undertow::core::python {

// A string as a template argument.
template <size_t N>
struct Text {
  char text[N];
  constexpr Text(const char (&s)[N]) {
    for (size_t i = 0; i < N; i++) text[i] = s[i];
  }
};

inline bool may_be_overridden(PyObject* self) { return UT_UNLIKELY(!is_plain_tensor(self) || mode_is(kOverrides)); }
bool is_overridden(PyObject* self);
// Pass a method call, attribute read or attribute write to __torch_function__. Return a new reference, 0 or -1.
PyObject* override_method(const char* name, PyObject* self, PyObject* const* args, Py_ssize_t nargs);
PyObject* override_method(const char* name, PyObject* self, PyObject* args, PyObject* kwargs);
// Passes a call of a module's function that creates a tensor to the modes.
PyObject* override_creation(const char* name, PyObject* args, PyObject* kwargs);
PyObject* override_get(const char* name, PyObject* self);
int override_set(const char* name, PyObject* self, PyObject* value);

using NoArgs = PyObject* (*)(PyObject*, PyObject*);
using Fast = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t);
using WithKeywords = PyObject* (*)(PyObject*, PyObject*, PyObject*);

// A row of a method table: method<"size", size>(METH_FASTCALL, doc).
template <Text name, auto f>
PyMethodDef method(int flags, const char* doc = nullptr) {
  using F = std::remove_const_t<decltype(f)>;
  if constexpr (std::is_same_v<F, Fast>) {
    Fast g = [](PyObject* self, PyObject* const* args, Py_ssize_t n) -> PyObject* {
      if (may_be_overridden(self) && is_overridden(self)) return override_method(name.text, self, args, n);
      return f(self, args, n);
    };
    return {name.text, reinterpret_cast<PyCFunction>(g), flags, doc};
  } else if constexpr (std::is_same_v<F, WithKeywords>) {
    WithKeywords g = [](PyObject* self, PyObject* args, PyObject* kwargs) -> PyObject* {
      if (may_be_overridden(self) && is_overridden(self)) return override_method(name.text, self, args, kwargs);
      return f(self, args, kwargs);
    };
    return {name.text, reinterpret_cast<PyCFunction>(g), flags, doc};
  } else {
    NoArgs g = [](PyObject* self, PyObject* arg) -> PyObject* {
      if (may_be_overridden(self) && is_overridden(self)) return override_method(name.text, self, &arg, arg ? 1 : 0);
      return f(self, arg);
    };
    return {name.text, g, flags, doc};
  }
}

// A row of an attribute table.
template <Text name, getter get, setter set = nullptr>
PyGetSetDef attribute_row(const char* doc = nullptr) {
  getter g = [](PyObject* self, void*) -> PyObject* {
    if (may_be_overridden(self) && is_overridden(self)) return override_get(name.text, self);
    return get(self, nullptr);
  };
  setter s = nullptr;
  if constexpr (set != nullptr) {
    s = [](PyObject* self, PyObject* value, void*) -> int {
      if (may_be_overridden(self) && is_overridden(self)) return override_set(name.text, self, value);
      return set(self, value, nullptr);
    };
  }
  return {name.text, g, s, doc, nullptr};
}

}  // namespace undertow::core::python
