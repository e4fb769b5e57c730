// python.h: pybind11 with our casters, and torch's helpers for bindings.
#pragma once
#include <undertow/pybind11.h>

#include <undertow_compat/names.h>

namespace py = pybind11;

namespace undertow {

// pybind11 already turns our errors into Python's, so the function is passed on as it is.
template <class F>
F&& wrap_pybind_function(F&& f) {
  return std::forward<F>(f);
}
template <class R, class... A>
auto wrap_pybind_function_no_gil(R (*f)(A...)) {
  return [f](A... a) -> R {
    python::GilRelease unlocked;
    return f(std::forward<A>(a)...);
  };
}

}  // namespace undertow

inline PyObject* THPVariable_Wrap(const undertow::Tensor& t) { return undertow::python::object_of(t); }
inline bool THPVariable_Check(PyObject* o) { return undertow::python::is_tensor(o); }
inline undertow::Tensor THPVariable_Unpack(PyObject* o) { return undertow::python::tensor_of(o); }
