// module.cpp: undertow._C: adds the types, and the module functions that belong to no type.
// build: small
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <undertow/autograd/grad_mode.h>

#include "core/base/object_pool.h"
#include "core/base/parallel.h"
#include "core/base/warn_always.h"
#include "core/forward/create/uninitialized.h"
#include "core/graph/autograd_meta.h"
#include "core/graph/cycles.h"
#include "core/graph/diagnostics/provenance.h"
#include "core/python/arguments/args.h"
#include "core/python/arguments/convert.h"
#include "core/python/autograd/engine_object.h"
#include "core/python/autograd/node_object.h"
#include "core/python/build_object.h"
#include "core/python/diagnostics/trace_object.h"
#include "core/python/errors.h"
#include "core/python/interop/cuda_functions.h"
#include "core/python/interop/extension_functions.h"
#include "core/python/interop/numpy_bridge.h"
#include "core/python/tensor/tensor_attributes.h"
#include "core/python/tensor/tensor_data.h"
#include "core/python/tensor/tensor_object.h"
#include "core/python/types/dtype_object.h"
#include "core/python/types/generator_object.h"
#include "core/python/types/storage_object.h"
#include "core/tensor/dtype/promotion.h"
#include "core/tensor/mode.h"
#include "core/tensor/storage/allocator.h"

namespace undertow::core::python {
namespace {

PyObject* set_grad_enabled(PyObject*, PyObject* on) {
  if (!PyBool_Check(on)) {
    PyErr_Format(PyExc_TypeError, "set_grad_enabled(): argument 'enabled' (position 1) must be bool, not %s",
                 Py_TYPE(on)->tp_name);
    return nullptr;
  }
  // In inference mode nothing is recorded, whatever is requested.
  if (on == Py_True && !mode_is(kInferenceMode))
    thread_mode.bits &= ~static_cast<uint32_t>(kNoGrad);
  else
    thread_mode.bits |= kNoGrad;
  provenance::adopt_process_mode();
  Py_RETURN_NONE;
}
PyObject* is_grad_enabled(PyObject*, PyObject*) { return PyBool_FromLong(grad_enabled()); }

// Inference mode switches grad mode and forward mode off, and inference_mode(False) switches them on; the guard keeps
// the bits.
constexpr uint32_t kInferenceBits = kInferenceMode | kNoGrad | kNoTangents;
PyObject* enter_inference(PyObject*, PyObject* on) {
  const int truth = PyObject_IsTrue(on);
  if (truth < 0) return nullptr;
  provenance::adopt_process_mode();
  uint32_t before = thread_mode.bits;
  thread_mode.bits = truth ? before | kInferenceBits : before & ~kInferenceBits;
  return PyLong_FromUnsignedLong(before & kInferenceBits);
}
PyObject* exit_inference(PyObject*, PyObject* guard) {
  unsigned long before = PyLong_AsUnsignedLong(guard);
  if (PyErr_Occurred()) return nullptr;
  thread_mode.bits = (thread_mode.bits & ~kInferenceBits) | (static_cast<uint32_t>(before) & kInferenceBits);
  Py_RETURN_NONE;
}
PyObject* is_inference_enabled(PyObject*, PyObject*) { return PyBool_FromLong(mode_is(kInferenceMode)); }

PyObject* set_anomaly(PyObject*, PyObject* args) {
  int on, check_nan = 1;
  if (!PyArg_ParseTuple(args, "p|p", &on, &check_nan)) return nullptr;
  ::undertow::autograd::AnomalyMode::set_enabled(on, check_nan);
  Py_RETURN_NONE;
}
PyObject* is_anomaly(PyObject*, PyObject*) { return PyBool_FromLong(anomaly_enabled()); }
PyObject* is_anomaly_nan(PyObject*, PyObject*) { return PyBool_FromLong((process_mode.load() & kAnomalyNan) != 0); }

PyObject* live_counts(PyObject*, PyObject*) {
  return guarded([]() -> PyObject* {
    PyRef out(check(PyDict_New()));
    std::vector<size_t> counts = pool_blocks_in_use();
    for (size_t c = 0; c < counts.size(); c++) {
      if (!counts[c]) continue;
      PyRef key(check(PyLong_FromSize_t(c * kPoolGranule))), n(check(PyLong_FromSize_t(counts[c])));
      if (PyDict_SetItem(out.get(), key.get(), n.get()) < 0) throw PythonError();
    }
    return out.release();
  });
}
PyObject* collect_cycles(PyObject*, PyObject*) {
  // Operations that released the GIL may be recording; then leave it to the next collection.
  return guarded([] { return check(PyLong_FromSize_t(LongOp::unlocked > 0 ? 0 : cycles::collect())); });
}

PyObject* increment_version(PyObject*, PyObject* tensors) {
  return guarded([&]() -> PyObject* {
    PyRef list(PySequence_Fast(tensors, ""));
    if (!list) PyErr_Clear();
    UT_CHECK(list.get(), "increment_version expect a Iterable[Tensor] as input, but got ", Py_TYPE(tensors)->tp_name);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); i++) {
      PyObject* t = PySequence_Fast_GET_ITEM(list.get(), i);
      UT_CHECK(is_tensor(t), "increment_version expects each element of the iterable to be a tensor, but got ",
               Py_TYPE(t)->tp_name);
      tensor_of(t).bump_version("increment_version");
    }
    Py_RETURN_NONE;
  });
}

// Restores version counters, undoing the writes since: (tensors, versions).
PyObject* set_versions(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *tensors, *versions;
    if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &tensors, &PyTuple_Type, &versions)) return nullptr;
    UT_CHECK(PyTuple_GET_SIZE(tensors) == PyTuple_GET_SIZE(versions),
             "_unsafe_set_version_counter: ", PyTuple_GET_SIZE(tensors), " tensors and ", PyTuple_GET_SIZE(versions),
             " versions");
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensors); i++) {
      PyObject* t = PyTuple_GET_ITEM(tensors, i);
      UT_CHECK_TYPE(is_tensor(t), "_unsafe_set_version_counter expects tensors, but got ", Py_TYPE(t)->tp_name);
      UT_CHECK(!tensor_of(t).impl()->has(kInference), "Inference tensors do not track version counter.");
      const int64_t version = int_arg(PyTuple_GET_ITEM(versions, i));
      UT_CHECK(version >= 0, "Cannot set a version_counter to a value below 0: ", version);
      tensor_of(t).impl()->version_holder()->set_version(static_cast<uint32_t>(version));
    }
    Py_RETURN_NONE;
  });
}

PyObject* set_threads(PyObject*, PyObject* n) {
  return guarded([&]() -> PyObject* {
    UT_CHECK_TYPE(PyLong_Check(n) && !PyBool_Check(n), "set_num_threads expects an int, but got ", Py_TYPE(n)->tp_name);
    int64_t v = int_arg(n);
    UT_CHECK(v > 0, "set_num_threads expects a positive integer, got ", v);
    set_num_threads(static_cast<int>(v));
    Py_RETURN_NONE;
  });
}
PyObject* get_threads(PyObject*, PyObject*) { return PyLong_FromLong(num_threads()); }

PyObject* get_default_dtype(PyObject*, PyObject*) { return new_ref(dtype_object(default_dtype())); }
PyObject* set_default_device_(PyObject*, PyObject* d) {
  return guarded([&]() -> PyObject* {
    set_default_device(device_of(d));
    Py_RETURN_NONE;
  });
}
PyObject* get_default_device_(PyObject*, PyObject*) { return device_object(default_device()); }
PyObject* set_default_dtype_(PyObject*, PyObject* t) {
  return guarded([&]() -> PyObject* {
    UT_CHECK_TYPE(is_dtype(t), "invalid dtype object: ", Py_TYPE(t)->tp_name);
    set_default_dtype(dtype_of(t));
    Py_RETURN_NONE;
  });
}

PyObject* set_fill_uninitialized_(PyObject*, PyObject* on) {
  set_fill_uninitialized(on == Py_True);
  Py_RETURN_NONE;
}

PyObject* set_overrides(PyObject*, PyObject* args) {
  int bit, on;
  if (!PyArg_ParseTuple(args, "ip", &bit, &on)) return nullptr;
  if (bit == 0) return PyBool_FromLong(set_function_modes(on));
  uint32_t mask = kNoOverrides;
  bool before = thread_mode.bits & mask;
  if (on)
    thread_mode.bits |= mask;
  else
    thread_mode.bits &= ~mask;
  return PyBool_FromLong(before);
}

PyObject* memory_stats(PyObject*, PyObject*) {
  AllocatorStats s = allocator_stats();
  return Py_BuildValue("{s:n,s:n,s:n}", "in_use", static_cast<Py_ssize_t>(s.in_use), "peak_in_use",
                       static_cast<Py_ssize_t>(s.peak_in_use), "cached", static_cast<Py_ssize_t>(s.cached));
}
PyObject* empty_cache_(PyObject*, PyObject*) {
  empty_cache();
  Py_RETURN_NONE;
}
PyObject* reset_peak(PyObject*, PyObject*) {
  reset_peak_stats();
  Py_RETURN_NONE;
}

PyObject* warn_always(PyObject*, PyObject* on) {
  set_warn_always(PyObject_IsTrue(on) == 1);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"_set_warn_always", warn_always, METH_O, nullptr},
    {"_set_grad_enabled", set_grad_enabled, METH_O, nullptr},
    {"is_grad_enabled", is_grad_enabled, METH_NOARGS, "Is grad mode on in this thread?"},
    {"_enter_inference_mode", enter_inference, METH_O, nullptr},
    {"_exit_inference_mode", exit_inference, METH_O, nullptr},
    {"is_inference_mode_enabled", is_inference_enabled, METH_NOARGS, nullptr},
    {"_set_anomaly_enabled", set_anomaly, METH_VARARGS, nullptr},
    {"is_anomaly_enabled", is_anomaly, METH_NOARGS, nullptr},
    {"is_anomaly_check_nan_enabled", is_anomaly_nan, METH_NOARGS, nullptr},
    {"_live_counts", live_counts, METH_NOARGS,
     "Blocks in use of the pool behind tensors, nodes and small storages, by their size in bytes."},
    {"_collect_cycles", collect_cycles, METH_NOARGS, nullptr},
    {"_increment_version", increment_version, METH_O, nullptr},
    {"_unsafe_set_version_counter", set_versions, METH_VARARGS, nullptr},
    {"set_num_threads", set_threads, METH_O, "How many threads large operations may use."},
    {"get_num_threads", get_threads, METH_NOARGS, "How many threads large operations may use."},
    {"get_default_dtype", get_default_dtype, METH_NOARGS, nullptr},
    {"_default_device", get_default_device_, METH_NOARGS, nullptr},
    {"_set_default_device", set_default_device_, METH_O, nullptr},
    {"set_default_dtype", set_default_dtype_, METH_O, nullptr},
    {"_set_fill_uninitialized", set_fill_uninitialized_, METH_O, nullptr},
    {"_set_overrides", set_overrides, METH_VARARGS, nullptr},
    {"_memory_stats", memory_stats, METH_NOARGS, nullptr},
    {"_reset_peak_memory_stats", reset_peak, METH_NOARGS, nullptr},
    {"_empty_cache", empty_cache_, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

void warn_in_python(const std::string& message) {
  WithGil gil;
  if (PyErr_WarnEx(PyExc_UserWarning, message.c_str(), 1) < 0) throw PythonError();  // warnings are errors
}

bool fill(PyObject* module) {
  return init_errors(module) && init_dtype_types(module) && init_generator_type(module) && init_tensor_type(module) &&
         init_node_types(module) && init_engine_type(module) && init_storage_type(module) &&
         init_data_functions(module) && init_numpy_functions(module) && init_override_functions(module) &&
         init_forward_functions(module) && init_type_functions(module) && init_dlpack_functions(module) &&
         init_watch_functions(module) && init_trace_functions(module) && init_observer_functions(module) &&
         init_profile_functions(module) && init_transform_functions(module) && init_sparse_functions(module) &&
         init_optim_functions(module) && init_train_functions(module) && init_build_functions(module) &&
         init_extension_api(module) && init_library_functions(module) && init_cuda_functions(module);
}

// Note [One Module]
// Types, the graph and the thread pool belong to the process. So there is one module object, which a second import
// returns again, and only one interpreter may import it. CPython 3.12 and later read this from the slots below; for
// 3.11 there is the check here. Objects are guarded by the GIL, which a free-threaded build enables for us.
PyObject* the_module = nullptr;
bool is_filled = false;

PyObject* create(PyObject* spec, PyModuleDef*) {
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    PyErr_SetString(PyExc_ImportError, "module undertow._C does not support loading in subinterpreters");
    return nullptr;
  }
  if (!the_module) {
    PyRef name(PyObject_GetAttrString(spec, "name"));
    if (!name || !(the_module = PyModule_NewObject(name.get()))) return nullptr;
  }
  return new_ref(the_module);
}

int execute(PyObject* module) {
  if (is_filled) return 0;
  set_warning_sink(warn_in_python);
  try {
    num_threads();  // reads the environment now, so that an invalid value warns at import
    if (!fill(module)) return -1;
  } catch (...) {
    set_python_error();
    return -1;
  }
  is_filled = true;
  return 0;
}

PyModuleDef_Slot slots[] = {{Py_mod_create, reinterpret_cast<void*>(create)},
                            {Py_mod_exec, reinterpret_cast<void*>(execute)},
#if PY_VERSION_HEX >= 0x030C0000
                            {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030D0000
                            {Py_mod_gil, Py_MOD_GIL_USED},
#endif
                            {0, nullptr}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "undertow._C", "Undertow's core.", 0, functions, slots, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace undertow::core::python

PyMODINIT_FUNC PyInit__C() { return PyModuleDef_Init(&undertow::core::python::definition); }
