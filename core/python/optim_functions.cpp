// optim_functions.cpp: `_C._optim_update`: one native update of a parameter group, for undertow.optim and
// undertow.train.
// build: small
#include "core/forward/optim.h"
#include "core/python/arguments/convert.h"
#include "core/python/arguments/safe_read.h"
#include "core/python/errors.h"

namespace undertow::core::python {

namespace {

std::vector<double> numbers_of(PyObject* row) {
  PyRef fast = snapshot(row, "_optim_update: expected rows of numbers");
  std::vector<double> out;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fast.get()); i++) {
    double v = PyFloat_AsDouble(PyTuple_GET_ITEM(fast.get(), i));
    if (v == -1.0 && PyErr_Occurred()) throw PythonError();
    out.push_back(v);
  }
  return out;
}

// _optim_update(algorithm, lists, constants): constants is one row for all parameters (a tuple), a list of rows,
// or a float64 matrix of rows on the parameters' device.
PyObject* optim_update(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* algorithm;
    PyObject *lists, *constants;
    if (!PyArg_ParseTuple(args, "sO!O", &algorithm, &PyList_Type, &lists, &constants)) throw PythonError();
    std::vector<std::vector<Tensor>> tensors;
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(lists); k++) {
      PyObject* list = PyList_GET_ITEM(lists, k);
      UT_CHECK_TYPE(PyList_Check(list) || PyTuple_Check(list), "_optim_update: expected lists of tensors, got ",
                    Py_TYPE(list)->tp_name);
      tensors.push_back(tensor_list_arg(list));
    }
    UT_CHECK_VALUE(!tensors.empty(), "_optim_update: expected lists of tensors");
    for (const auto& list : tensors)
      for (const Tensor& t : list) {
        UT_CHECK(!t.is_sparse(), "the step of an optimizer does not support sparse tensors here");
        UT_CHECK(!t.impl()->has(kDispatched),
                 "the native step of an optimizer does not support tensors with a __torch_dispatch__");
      }
    std::vector<std::vector<double>> rows;
    Tensor on_device;
    if (is_tensor(constants)) {
      on_device = tensor_of(constants);
    } else if (PyTuple_Check(constants)) {
      rows.assign(tensors[0].size(), numbers_of(constants));
    } else {
      PyRef fast = snapshot(constants, "_optim_update: expected a list of rows");
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fast.get()); i++)
        rows.push_back(numbers_of(PyTuple_GET_ITEM(fast.get(), i)));
    }
    {
      LongOp unlocked(tensors[0]);
      if (on_device.defined())
        fwd::optim_update(algorithm, tensors, on_device);
      else
        fwd::optim_update(algorithm, tensors, rows);
    }
    for (size_t k = 0; k < tensors.size(); k++)
      for (const Tensor& t : tensors[k])
        if (k != 1) t.bump_version("an optimizer's step");  // all lists except the gradients
    Py_RETURN_NONE;
  });
}

PyMethodDef functions[] = {
    {"_optim_update", optim_update, METH_VARARGS, "One native update of parameters by the named algorithm."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool init_optim_functions(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace undertow::core::python
