// forward_ad.cpp: the functions of undertow.autograd.forward_ad. See Note [Dual Levels] in graph/forward_level.h.
// build: small
#include "core/autograd/tangents.h"
#include "core/graph/forward_level.h"
#include "core/python/arguments/convert.h"
#include "core/python/errors.h"
#include "core/python/tensor/tensor_attributes.h"
#include "core/tensor/mode.h"

namespace undertow::core::python {

namespace {

const Tensor& tensor_at(PyObject* args, Py_ssize_t i, const char* function) {
  PyObject* o = PyTuple_GET_ITEM(args, i);
  UT_CHECK_TYPE(is_tensor(o), function, "(): argument ", i + 1, " must be Tensor, not ", Py_TYPE(o)->tp_name);
  return tensor_of(o);
}

PyObject* enter(PyObject*, PyObject*) {
  return guarded([] { return wrap(forward_level::enter()); });
}
PyObject* leave(PyObject*, PyObject* level) {
  return guarded([&]() -> PyObject* {
    forward_level::leave(int_arg(level));
    Py_RETURN_NONE;
  });
}
PyObject* make(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    UT_CHECK_TYPE(PyTuple_GET_SIZE(args) >= 2, "_make_dual() takes a tensor and its tangent");
    return wrap(ops::make_dual(tensor_at(args, 0, "_make_dual"), tensor_at(args, 1, "_make_dual")));
  });
}
PyObject* unpack(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    UT_CHECK_TYPE(PyTuple_GET_SIZE(args) >= 1, "_unpack_dual() takes a tensor");
    auto [primal, tangent] = ops::unpack_dual(tensor_at(args, 0, "_unpack_dual"));
    PyRef p(check(wrap(std::move(primal)))), t(check(wrap(std::move(tangent))));
    return check(PyTuple_Pack(2, p.get(), t.get()));
  });
}

PyObject* set_enabled(PyObject*, PyObject* on) {
  return guarded([&]() -> PyObject* {
    UT_CHECK_TYPE(PyBool_Check(on), "_set_fwd_grad_enabled(): argument 'enabled' must be bool, not ",
                  Py_TYPE(on)->tp_name);
    if (on == Py_True)
      thread_mode.bits &= ~static_cast<uint32_t>(kNoTangents);
    else
      thread_mode.bits |= kNoTangents;
    Py_RETURN_NONE;
  });
}
PyObject* is_enabled(PyObject*, PyObject*) { return PyBool_FromLong(!mode_is(kNoTangents)); }

PyMethodDef functions[] = {{"_enter_dual_level", enter, METH_NOARGS, nullptr},
                           {"_exit_dual_level", leave, METH_O, nullptr},
                           {"_make_dual", make, METH_VARARGS, nullptr},
                           {"_unpack_dual", unpack, METH_VARARGS, nullptr},
                           {"_set_fwd_grad_enabled", set_enabled, METH_O, nullptr},
                           {"_is_fwd_grad_enabled", is_enabled, METH_NOARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool init_forward_functions(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace undertow::core::python
