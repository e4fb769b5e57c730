// engine_object.cpp: `Variable._execution_engine` and the module functions about the running pass.
#include "core/python/autograd/engine_object.h"

#include <csignal>

#include "core/autograd/autograd.h"
#include "core/autograd/delegated/dispatched.h"
#include "core/autograd/root_gradient.h"
#include "core/base/interpreter_lock.h"
#include "core/base/signals.h"
#include "core/graph/autograd_meta.h"
#include "core/graph/cycles.h"
#include "core/graph/engine/engine.h"
#include "core/graph/engine/evaluate.h"
#include "core/graph/retains_grad.h"
#include "core/graph/saved_tensor.h"
#include "core/graph/structural.h"
#include "core/python/arguments/convert.h"
#include "core/python/autograd/hooks_object.h"
#include "core/python/autograd/node_object.h"
#include "core/python/autograd/saved_object.h"
#include "core/python/errors.h"
#include "generated/ops.h"

namespace undertow::core::python {

namespace {

const InterpreterLock gil_functions = {[]() { return Py_IsInitialized() && PyGILState_Check() == 1; },
                                       []() -> void* {
                                         begin_signal_interval();
                                         return PyEval_SaveThread();
                                       },
                                       [](void* token) { PyEval_RestoreThread(static_cast<PyThreadState*>(token)); }};

// True if no signal has a handler of the user's: see Note [Signals In Long Work].
bool handlers_only_raise() {
  static PyObject* module = PyImport_ImportModule("_signal");
  static PyObject* get = module ? PyObject_GetAttrString(module, "getsignal") : nullptr;
  static PyObject* raises = module ? PyObject_GetAttrString(module, "default_int_handler") : nullptr;
  if (!get || !raises) return false;
  for (long signal = 1; signal < NSIG; signal++) {
    PyRef number(PyLong_FromLong(signal));
    PyRef handler(number ? PyObject_CallOneArg(get, number.get()) : nullptr);
    // Numbers stand for the system's handlers, None for those of other libraries.
    if (handler && !PyLong_Check(handler.get()) && handler.get() != Py_None && handler.get() != raises) return false;
  }
  PyErr_Clear();
  return true;
}

void check_signals(Polls where) {
  if (!Py_IsInitialized()) return;
  WithGil gil;
  if (PyErr_Occurred() || (where == Polls::InsideKernel && !handlers_only_raise())) return;
  if (PyErr_CheckSignals() < 0) throw PythonError();
}

// After each full collection by Python, collects cycles through gradients: see Note [Gradient Cycles] in
// graph/cycles.h.
PyObject* after_collection(PyObject*, PyObject* args) {
  const char* phase;
  PyObject* info;
  if (!PyArg_ParseTuple(args, "sO!", &phase, &PyDict_Type, &info)) return nullptr;
  PyObject* generation = PyDict_GetItemString(info, "generation");
  bool full = generation && PyLong_AsLong(generation) == 2;
  if (full && std::string_view(phase) == "stop" && LongOp::unlocked == 0) cycles::collect();
  Py_RETURN_NONE;
}
PyMethodDef after_collection_def = {"_collect_gradient_cycles", after_collection, METH_VARARGS, nullptr};
void watch_collections() {
  static bool watching = false;  // guarded by the GIL
  if (watching) return;
  PyRef gc(check(PyImport_ImportModule("gc"))), callbacks(check(PyObject_GetAttrString(gc.get(), "callbacks")));
  PyRef f(check(PyCFunction_NewEx(&after_collection_def, nullptr, nullptr)));
  if (PyList_Append(callbacks.get(), f.get()) < 0) throw PythonError();
  watching = true;
}

// _root_gradients(outputs, grads, is_grads_batched): the checked gradients with which a pass starts, with 1 for each
// real scalar output without a gradient. For an output that does not require grad, None stays; the engine raises with
// its index.
PyObject* root_gradients(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *outputs, *grads;
    int batched;
    if (!PyArg_ParseTuple(args, "O!O!p", &PyTuple_Type, &outputs, &PyTuple_Type, &grads, &batched)) throw PythonError();
    Py_ssize_t n = PyTuple_GET_SIZE(outputs);
    UT_CHECK(PyTuple_GET_SIZE(grads) == n, "got ", n, " tensors and ", PyTuple_GET_SIZE(grads), " gradients");
    PyRef made(check(PyTuple_New(n)));
    for (Py_ssize_t i = 0; i < n; i++) {
      PyObject *o = PyTuple_GET_ITEM(outputs, i), *g = PyTuple_GET_ITEM(grads, i);
      UT_CHECK_TYPE(is_tensor(o) || PyTuple_Check(o), "Expected output to be a Tensor or a GradientEdge, but got ",
                    Py_TYPE(o)->tp_name, " as output[", i, "]");
      UT_CHECK_TYPE(g == Py_None || is_tensor(g), "gradients can be either Tensors or None, but got ",
                    Py_TYPE(g)->tp_name);
      if (g == Py_None && is_tensor(o) && !tensor_of(o).requires_grad()) {
        PyTuple_SET_ITEM(made.get(), i, new_ref(Py_None));
        continue;
      }
      Edge edge = is_tensor(o) ? Edge() : edge_arg(o);
      autograd::RootOutput output = is_tensor(o) ? autograd::root_output(tensor_of(o))
                                                 : autograd::root_output(edge.node->input_meta(edge.input_nr));
      if (g == Py_None && is_tensor(o) && UT_UNLIKELY(ops::is_dispatched(tensor_of(o)))) {
        autograd::root_gradient(output, {}, static_cast<size_t>(i));  // checks
        NoGradGuard no_grad;
        PyTuple_SET_ITEM(made.get(), i,
                         check(wrap(ops::ones_like(tensor_of(o), std::nullopt, std::nullopt, std::nullopt))));
        continue;
      }
      Tensor checked = autograd::root_gradient(output, opt_tensor_arg(g), static_cast<size_t>(i), batched != 0);
      PyTuple_SET_ITEM(made.get(), i, g == Py_None ? check(wrap(std::move(checked))) : new_ref(g));
    }
    return made.release();
  });
}

// run_backward(tensors, grad_tensors, keep_graph, create_graph, inputs, allow_unreachable=False, accumulate_grad=False)
PyObject* run_backward(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject *tensors, *grads, *inputs = nullptr;
    int keep_graph, create_graph, allow_unreachable = 0, accumulate = 0;
    static const char* names[] = {"tensors", "grad_tensors",      "keep_graph",      "create_graph",
                                  "inputs",  "allow_unreachable", "accumulate_grad", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOpp|Opp", const_cast<char**>(names), &tensors, &grads, &keep_graph,
                                     &create_graph, &inputs, &allow_unreachable, &accumulate))
      throw PythonError();
    UT_CHECK_TYPE(PyTuple_Check(tensors), "tensors argument is expected to be a tuple, but got ",
                  Py_TYPE(tensors)->tp_name);
    UT_CHECK_TYPE(PyTuple_Check(grads), "grad_tensors argument is expected to be a tuple, but got ",
                  Py_TYPE(grads)->tp_name);
    Py_ssize_t n = PyTuple_GET_SIZE(tensors);
    UT_CHECK(PyTuple_GET_SIZE(grads) == n, "got ", n, " tensors and ", PyTuple_GET_SIZE(grads), " gradients");

    SmallVector<Edge, 2> roots;
    SmallVector<Tensor, 2> root_grads;
    for (Py_ssize_t i = 0; i < n; i++) {
      PyObject* t = PyTuple_GET_ITEM(tensors, i);
      Edge edge = is_tensor(t) ? autograd::root_edge(tensor_of(t), static_cast<size_t>(i)) : edge_arg(t);
      roots.push_back(std::move(edge));
      PyObject* g = PyTuple_GET_ITEM(grads, i);
      UT_CHECK_TYPE(g == Py_None || is_tensor(g), "element ", i, " of gradients tuple is not a Tensor or None");
      root_grads.push_back(g == Py_None && is_tensor(t) ? autograd::root_gradient(autograd::root_output(tensor_of(t)),
                                                                                  {}, static_cast<size_t>(i))
                                                        : opt_tensor_arg(g));
    }
    bool has_inputs = inputs && inputs != Py_None && PyTuple_Check(inputs) && PyTuple_GET_SIZE(inputs) > 0;
    std::vector<Edge> outputs;
    if (has_inputs) {
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); i++) {
        PyObject* t = PyTuple_GET_ITEM(inputs, i);
        UT_CHECK(is_tensor(t) || PyTuple_Check(t), "all inputs have to be Tensors or GradientEdges, but got ",
                 Py_TYPE(t)->tp_name);
        if (!is_tensor(t)) {
          outputs.push_back(edge_arg(t));
          continue;
        }
        const Tensor& x = tensor_of(t);
        if (accumulate) retain_grad(x);
        outputs.push_back(autograd::input_edge(x));
      }
    }
    if (create_graph && accumulate) watch_collections();
    if (create_graph && accumulate && !has_inputs)
      warn(
          "Using backward() with create_graph=True will create a reference cycle between the parameter and its "
          "gradient which can cause a memory leak. We recommend "
          "using autograd.grad when creating the graph to avoid this. If you have to use this function, make sure to "
          "reset the .grad fields of your parameters to "
          "None after use to break the cycle and avoid the leak.");
    struct AtTheEnd {
      ~AtTheEnd() { restore_default_hooks(); }
    } at_the_end;
    std::vector<Tensor> result = engine::execute(
        roots, root_grads,
        {.keep_graph = keep_graph != 0, .create_graph = create_graph != 0, .accumulate_grad = accumulate != 0},
        outputs);
    if (PyErr_Occurred()) throw PythonError();
    if (!has_inputs || accumulate) Py_RETURN_NONE;
    PyRef out(check(PyTuple_New(static_cast<Py_ssize_t>(result.size()))));
    for (size_t i = 0; i < result.size(); i++) {
      UT_CHECK(allow_unreachable || result[i].defined(), "The differentiated Tensor at index ", i,
               " appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior.");
      PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), check(wrap(std::move(result[i]))));
    }
    return out.release();
  });
}

PyObject* queue_callback(PyObject*, PyObject* fn) {
  return guarded([&]() -> PyObject* {
    std::shared_ptr<PyObject> callback(new_ref(fn), [](PyObject* o) {
      WithGil gil;
      Py_DECREF(o);
    });
    engine::queue_callback([callback] {
      WithGil gil;
      PyRef r(check(PyObject_CallNoArgs(callback.get())));
    });
    Py_RETURN_NONE;
  });
}
PyObject* is_checkpoint_valid(PyObject*, PyObject*) { return PyBool_FromLong(engine::is_checkpoint_valid()); }

PyMethodDef engine_methods[] = {{"run_backward", reinterpret_cast<PyCFunction>(run_backward),
                                 METH_VARARGS | METH_KEYWORDS, "Runs a backward pass."},
                                {"queue_callback", queue_callback, METH_O, "Calls fn() when the running pass ends."},
                                {"is_checkpoint_valid", is_checkpoint_valid, METH_NOARGS, nullptr},
                                {nullptr, nullptr, 0, nullptr}};

PyObject* graph_task_id(PyObject*, PyObject*) { return PyLong_FromLongLong(engine::current_graph_task_id()); }
PyObject* autograd_node(PyObject*, PyObject*) {
  return guarded([] { return wrap_node(current_node); });
}
PyObject* packing_node_name(PyObject*, PyObject*) {
  return guarded([]() -> PyObject* {
    if (!packing_node) Py_RETURN_NONE;
    return check(PyUnicode_FromString(packing_node->name().c_str()));
  });
}
PyObject* will_execute(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    UT_CHECK(is_node(o), "_will_engine_execute_node expects an grad_fn, but got ", Py_TYPE(o)->tp_name);
    UT_CHECK(current_graph_task, "_will_engine_execute_node should only be called during the backward pass");
    return PyBool_FromLong(engine::will_execute(node_of(o)));
  });
}
PyObject* execution_order(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    GraphTask* task = current_graph_task;
    UT_CHECK(task, "_current_graph_task_execution_order should only be called during the backward pass");
    UT_CHECK(!engine::multithreading_enabled(),
             "_current_graph_task_execution_order expects the current backward to be executed with multithreading "
             "disabled: run it under set_multithreading_enabled(False)");
    PyRef nodes(check(PyList_New(0)));
    for (Node* n : task->execution_order()) {
      if (n == task->root && dynamic_cast<GraphRoot*>(n)) continue;
      PyRef node(check(wrap_node(n)));
      if (PyList_Append(nodes.get(), node.get()) < 0) throw PythonError();
    }
    return nodes.release();
  });
}
PyObject* keeps_graph(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    UT_CHECK(current_graph_task, "_get_current_graph_task_keep_graph should only be called during the backward pass");
    return PyBool_FromLong(current_graph_task->options.keep_graph);
  });
}
PyObject* set_num_workers(PyObject*, PyObject* n) {
  return guarded([&]() -> PyObject* {
    UT_CHECK_TYPE(PyLong_Check(n) && !PyBool_Check(n), "set_num_workers: expected an int, got ", Py_TYPE(n)->tp_name);
    engine::set_num_workers(int_arg(n));
    Py_RETURN_NONE;
  });
}
PyObject* get_num_workers(PyObject*, PyObject*) { return PyLong_FromLong(engine::num_workers()); }
PyObject* set_multithreading(PyObject*, PyObject* on) {
  const int truth = PyObject_IsTrue(on);
  if (truth < 0) return nullptr;
  engine::set_multithreading_enabled(truth == 1);
  Py_RETURN_NONE;
}
PyObject* is_multithreading(PyObject*, PyObject*) { return PyBool_FromLong(engine::multithreading_enabled()); }

PyObject* set_grad_layout(PyObject*, PyObject* on) {
  const int truth = PyObject_IsTrue(on);
  if (truth < 0) return nullptr;
  thread_mode.bits =
      truth == 1 ? thread_mode.bits & ~static_cast<uint32_t>(kAnyGradLayout) : thread_mode.bits | kAnyGradLayout;
  Py_RETURN_NONE;
}
PyObject* is_grad_layout(PyObject*, PyObject*) { return PyBool_FromLong(!mode_is(kAnyGradLayout)); }

PyMethodDef module_methods[] = {
    {"_root_gradients", root_gradients, METH_VARARGS, nullptr},
    {"_current_graph_task_id", graph_task_id, METH_NOARGS, nullptr},
    {"_current_autograd_node", autograd_node, METH_NOARGS, nullptr},
    {"_packing_node_name", packing_node_name, METH_NOARGS, "The name of the node whose tensor a pack hook is given."},
    {"_will_engine_execute_node", will_execute, METH_O, nullptr},
    {"_current_graph_task_execution_order", execution_order, METH_NOARGS, nullptr},
    {"_get_current_graph_task_keep_graph", keeps_graph, METH_NOARGS, nullptr},
    {"_set_num_workers", set_num_workers, METH_O, nullptr},
    {"_get_num_workers", get_num_workers, METH_NOARGS, nullptr},
    {"_set_multithreading_enabled", set_multithreading, METH_O, nullptr},
    {"_set_grad_layout_enforcement_enabled", set_grad_layout, METH_O, nullptr},
    {"_is_grad_layout_enforcement_enabled", is_grad_layout, METH_NOARGS, nullptr},
    {"_is_multithreading_enabled", is_multithreading, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

// Keeps an error that is being handled.
void print_to_stderr(const std::string& text) {
  WithGil gil;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject* file = PySys_GetObject("stderr");
  if (file && file != Py_None && PyFile_WriteString(text.c_str(), file) < 0) PyErr_Clear();
  PyErr_Restore(type, value, trace);
}

bool init_engine_type(PyObject* module) {
  interpreter_lock = &gil_functions;
  run_signal_handlers = check_signals;
  print_error = print_to_stderr;
  PyType_Slot slots[] = {{Py_tp_methods, engine_methods}, {0, nullptr}};
  PyType_Spec spec = {"undertow._C._ImperativeEngine", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                      slots};
  PyObject* type = PyType_FromSpec(&spec);
  return type && PyModule_AddObjectRef(module, "_ImperativeEngine", type) == 0 &&
         PyModule_AddObjectRef(module, "_EngineBase", type) == 0 && PyModule_AddFunctions(module, module_methods) == 0;
}

}  // namespace undertow::core::python
