// observer_object.cpp: Python functions that look at tensors while a program runs: observers of the gradients that
// enter nodes, and finders of the first NaN or Inf. Any number of each, from any thread, ending in any order.
// build: small
#include <algorithm>

#include "core/graph/diagnostics/nonfinite.h"
#include "core/graph/diagnostics/trace.h"
#include "core/graph/engine/graph_task.h"
#include "core/python/arguments/convert.h"
#include "core/python/autograd/node_object.h"
#include "core/python/diagnostics/trace_object.h"
#include "core/python/errors.h"
#include "core/python/tensor/tensor_object.h"

namespace undertow::core::python {

namespace {

// Functions with numbers, by which they are removed. Guarded by the GIL.
class Functions {
 public:
  int64_t add(PyObject* fn, bool first) {
    entries_.insert(first ? entries_.begin() : entries_.end(), {++last_, PyRef::borrow(fn)});
    return last_;
  }
  void remove(int64_t number) {
    auto found = std::ranges::find(entries_, number, &Entry::number);
    if (found == entries_.end()) return;
    PyRef held = std::move(found->fn);  // dropped when the list is consistent again: that may run any code
    entries_.erase(found);
  }
  bool empty() const { return entries_.empty(); }
  // A copy, because the functions may add and remove others.
  std::vector<PyRef> all() const {
    std::vector<PyRef> out;
    for (const Entry& e : entries_) out.push_back(PyRef::borrow(e.fn.get()));
    return out;
  }
  void clear() { std::vector<Entry>().swap(entries_); }

 private:
  struct Entry {
    int64_t number;
    PyRef fn;
  };
  std::vector<Entry> entries_;
  int64_t last_ = 0;
};
Functions& observers() {
  static auto* all = new Functions;  // leaked, like the next: passes may run during exit
  return *all;
}
Functions& finders() {  // those that have not found anything yet
  static auto* all = new Functions;
  return *all;
}

template <class Items, class Make>
PyObject* tensors(const Items& items, Make tensor_of) {
  PyRef list(check(PyList_New(0)));
  for (const auto& item : items) {
    Tensor t = tensor_of(item);
    PyRef object(t.defined() ? check(wrap(t)) : new_ref(Py_None));
    if (PyList_Append(list.get(), object.get()) < 0) throw PythonError();
  }
  return list.release();
}
const Tensor& same(const Tensor& t) { return t; }

// Calls every observer with (pass, node, gradients). It may return a list with the gradients that replace them.
void observe_in_python(const GraphTask& task, Node* node, std::span<Tensor> grads) {
  WithGil gil;
  for (PyRef& fn : observers().all()) {
    PyRef result(check(PyObject_CallFunction(fn.get(), "KNN", static_cast<unsigned long long>(task.id),
                                             check(wrap_node(node)), tensors(grads, same))));
    if (result.get() == Py_None) continue;
    UT_CHECK_TYPE(PyList_Check(result.get()) && PyList_GET_SIZE(result.get()) == static_cast<Py_ssize_t>(grads.size()),
                  "an observer of gradients should return None or a list with one entry per gradient");
    for (size_t i = 0; i < grads.size(); i++) {
      PyObject* given = PyList_GET_ITEM(result.get(), static_cast<Py_ssize_t>(i));
      if (given != Py_None) grads[i] = tensor_arg(given);
    }
  }
}
// _observe_gradients(fn, changes=False) -> a number for _unobserve_gradients. Observers that may change gradients are
// called first, so that the others see what enters the node.
PyObject* observe_gradients(PyObject*, PyObject* args) {
  PyObject* fn;
  int changes = 0;
  if (!PyArg_ParseTuple(args, "O|p", &fn, &changes)) return nullptr;
  int64_t number = observers().add(fn, changes != 0);
  trace::set_switch(trace::kObserve, true);
  return PyLong_FromLongLong(number);
}
PyObject* unobserve_gradients(PyObject*, PyObject* number) {
  return guarded([&]() -> PyObject* {
    observers().remove(int_arg(number));
    trace::set_switch(trace::kObserve, !observers().empty());
    Py_RETURN_NONE;
  });
}

// Each finder is told once.
template <class... Args>
void tell_finders(const char* format, Args... args) {
  std::vector<PyRef> told = finders().all();
  finders().clear();
  for (PyRef& fn : told) PyRef r(check(PyObject_CallFunction(fn.get(), format, args...)));
}
void report_node(Node* node, std::span<const Tensor> grad_outputs, std::span<const Tensor> grad_inputs) {
  WithGil gil;
  PyRef object(check(wrap_node(node))), inputs(tensors(grad_outputs, same)), results(tensors(grad_inputs, same));
  tell_finders("sOOO", node->name().c_str(), object.get(), inputs.get(), results.get());
}
void report_operation(const char* operation, std::span<TensorImpl* const> results,
                      std::span<const provenance::Input> inputs) {
  WithGil gil;
  PyRef given(tensors(inputs, [](const provenance::Input& in) { return Tensor(Ref<TensorImpl>(in.tensor)); }));
  PyRef made(tensors(results, [](TensorImpl* t) { return Tensor(Ref<TensorImpl>(t)); }));
  tell_finders("sOOO", operation, Py_None, given.get(), made.get());
}
// _find_nonfinite(fn) -> a number for _stop_finding. fn(operation, node or None, inputs, results) is called once.
PyObject* find_nonfinite(PyObject*, PyObject* fn) {
  int64_t number = finders().add(fn, false);
  nonfinite::start();
  return PyLong_FromLongLong(number);
}
PyObject* stop_finding(PyObject*, PyObject* number) {
  return guarded([&]() -> PyObject* {
    finders().remove(int_arg(number));
    if (finders().empty()) nonfinite::stop();
    Py_RETURN_NONE;
  });
}

PyMethodDef functions[] = {{"_observe_gradients", observe_gradients, METH_VARARGS, nullptr},
                           {"_unobserve_gradients", unobserve_gradients, METH_O, nullptr},
                           {"_find_nonfinite", find_nonfinite, METH_O, nullptr},
                           {"_stop_finding", stop_finding, METH_O, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool init_observer_functions(PyObject* module) {
  trace::observe = observe_in_python;
  nonfinite::report_node = report_node;
  nonfinite::report_operation = report_operation;
  return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace undertow::core::python
