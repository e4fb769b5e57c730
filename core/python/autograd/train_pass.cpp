// train_pass.cpp: what undertow.train needs from the engine: a pass with a chosen way to sum, places to stop at, and a
// callback for each finished gradient (`_C._run_configured_pass`), and the leaves of a graph with the nodes that use
// them (`_C._graph_leaves`).
#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "core/autograd/autograd.h"
#include "core/autograd/root_gradient.h"
#include "core/graph/accumulate_grad.h"
#include "core/python/arguments/convert.h"
#include "core/python/arguments/safe_read.h"
#include "core/python/autograd/node_object.h"
#include "core/python/errors.h"
#include "core/python/tensor/tensor_attributes.h"

namespace undertow::core::python {

namespace {

// Passes gradients to a Python function: at once, or when the node that completed them has finished.
class PythonSink final : public CaptureSink {
 public:
  PythonSink(PyObject* ready, bool each_node) : ready_(ready), each_node_(each_node) {}
  void captured(size_t index, Tensor grad) override {
    if (!each_node_) return report(index, std::move(grad));
    std::lock_guard lock(mutex_);
    pending_.emplace_back(index, std::move(grad));
  }
  void between_nodes() override {
    std::vector<std::pair<size_t, Tensor>> pending;
    {
      std::lock_guard lock(mutex_);
      std::swap(pending, pending_);
    }
    for (auto& [index, grad] : pending) report(index, std::move(grad));
  }

 private:
  void report(size_t index, Tensor grad) {
    WithGil gil;
    PyRef number(check(PyLong_FromSize_t(index))), g(check(wrap(std::move(grad))));
    PyRef r(check(PyObject_CallFunctionObjArgs(ready_, number.get(), g.get(), nullptr)));
  }
  PyObject* ready_;  // borrowed from the caller's arguments
  const bool each_node_;
  std::mutex mutex_;  // guards pending_: threads of other devices may capture
  std::vector<std::pair<size_t, Tensor>> pending_;
};

// What the passes start from.
const Tensor& root_arg(PyObject* o) {
  UT_CHECK_TYPE(is_tensor(o), "_run_configured_pass: expected tensors, got ", Py_TYPE(o)->tp_name);
  return tensor_of(o);
}
PyRef sequence(PyObject* o) { return snapshot(o, "_run_configured_pass: expected a sequence"); }

std::vector<Edge> edges_of(PyObject* o) {
  PyRef list = sequence(o);
  std::vector<Edge> out;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(list.get()); i++) {
    PyObject* x = PyTuple_GET_ITEM(list.get(), i);
    out.push_back(is_tensor(x) ? autograd::input_edge(tensor_of(x)) : edge_arg(x));
  }
  return out;
}

// _run_configured_pass(tensors, grads, inputs, stops, keep_graph, create_graph, aggregation, ready, each_node):
// gradients of `inputs`, which are tensors or edges. With `ready`, calls ready(index, gradient or None) during the pass
// and returns None.
PyObject* run_configured_pass(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *tensors, *grads, *inputs, *stops, *ready;
    int keep_graph, create_graph, aggregation, each_node;
    if (!PyArg_ParseTuple(args, "OOOOppiOp", &tensors, &grads, &inputs, &stops, &keep_graph, &create_graph,
                          &aggregation, &ready, &each_node))
      throw PythonError();
    UT_CHECK_VALUE(aggregation >= 0 && aggregation <= 2, "_run_configured_pass: unknown aggregation ", aggregation);
    PyRef ys = sequence(tensors), gs = sequence(grads);
    std::vector<Edge> roots;
    std::vector<Tensor> root_grads;
    UT_CHECK_VALUE(PyTuple_GET_SIZE(ys.get()) == PyTuple_GET_SIZE(gs.get()),
                   "_run_configured_pass: expected as many gradients as tensors");
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ys.get()); i++) {
      const Tensor& y = root_arg(PyTuple_GET_ITEM(ys.get(), i));
      roots.push_back(autograd::root_edge(y, static_cast<size_t>(i)));
      root_grads.push_back(autograd::root_gradient(
          autograd::root_output(y), opt_tensor_arg(PyTuple_GET_ITEM(gs.get(), i)), static_cast<size_t>(i)));
    }
    std::vector<Edge> outputs = edges_of(inputs), ends = edges_of(stops);
    UT_CHECK_VALUE(!outputs.empty(), "_run_configured_pass: expected inputs");
    PythonSink sink(ready, each_node != 0);
    ExecuteOptions options{.keep_graph = keep_graph != 0, .create_graph = create_graph != 0, .accumulate_grad = false};
    options.aggregation = static_cast<Aggregation>(aggregation);
    options.stops = ends;
    if (ready != Py_None) {
      options.sink = &sink;
      options.one_thread = each_node != 0;
    }
    std::vector<Tensor> result = engine::execute(roots, root_grads, options, outputs);
    if (PyErr_Occurred()) throw PythonError();
    if (options.sink) Py_RETURN_NONE;
    PyRef out(check(PyList_New(static_cast<Py_ssize_t>(result.size()))));
    for (size_t i = 0; i < result.size(); i++)
      PyList_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), check(wrap(std::move(result[i]))));
    return out.release();
  });
}

struct LeafUse {
  TensorImpl* leaf;
  uint64_t sequence;  // of the first operation that used it; sorted by this, then by its edge
  uint32_t edge;
  std::vector<Node*> users;
};

std::vector<LeafUse> leaves_below(std::vector<Node*> stack) {
  std::unordered_set<Node*> seen(stack.begin(), stack.end());
  std::unordered_map<TensorImpl*, LeafUse> found;
  auto note = [&](Node* accumulator, Node* user, uint32_t edge) {
    TensorImpl* leaf = static_cast<AccumulateGrad*>(accumulator)->leaf();
    uint64_t sequence = user ? user->sequence_nr() : UINT64_MAX;
    auto [at, fresh] = found.try_emplace(leaf, LeafUse{leaf, sequence, edge, {}});
    LeafUse& use = at->second;
    if (std::pair(sequence, edge) < std::pair(use.sequence, use.edge)) use.sequence = sequence, use.edge = edge;
    if (use.users.empty() || use.users.back() != user)
      use.users.push_back(user);  // each node is visited once, so all its edges come one after the other
  };
  for (Node* n : stack)
    if (n->is_accumulate()) note(n, nullptr, 0);
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    for (uint32_t i = 0; i < node->num_edges(); i++) {
      Node* next = node->edges()[i].node.get();
      if (!next) continue;
      if (next->is_accumulate())
        note(next, node, i);
      else if (seen.insert(next).second)
        stack.push_back(next);
    }
  }
  std::vector<LeafUse> out;
  out.reserve(found.size());
  for (auto& [leaf, use] : found) out.push_back(std::move(use));
  std::sort(out.begin(), out.end(), [](const LeafUse& a, const LeafUse& b) {
    return std::pair(a.sequence, a.edge) < std::pair(b.sequence, b.edge);
  });
  return out;
}

// True if the node's operation looks up rows of its first input.
bool is_row_lookup(Node* n) {
  if (!n) return false;
  std::string name = n->name();
  return name == "EmbeddingBackward0" || name == "EmbeddingBagBackward0" || name == "IndexSelectBackward0" ||
         name == "IndexBackward0";
}

// _graph_leaves(tensors): the leaves of their graph in order of first use, each with the nodes that use it, latest
// first, if all of them look up rows; otherwise with None.
PyObject* graph_leaves(PyObject*, PyObject* tensors) {
  return guarded([&]() -> PyObject* {
    PyRef ys = sequence(tensors);
    std::vector<Node*> roots;
    std::vector<Edge> kept;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ys.get()); i++) {
      Edge e = gradient_edge(root_arg(PyTuple_GET_ITEM(ys.get(), i)));
      if (!e || std::find(roots.begin(), roots.end(), e.node.get()) != roots.end()) continue;
      roots.push_back(e.node.get());
      kept.push_back(std::move(e));
    }
    PyRef out(check(PyList_New(0)));
    for (LeafUse& use : leaves_below(roots)) {
      PyRef leaf(check(wrap(Tensor{Ref<TensorImpl>(use.leaf)}))), users = PyRef::borrow(Py_None);
      if (std::all_of(use.users.begin(), use.users.end(), is_row_lookup)) {
        std::sort(use.users.begin(), use.users.end(),
                  [](Node* a, Node* b) { return a->sequence_nr() > b->sequence_nr(); });
        users = PyRef(check(PyList_New(0)));
        for (Node* n : use.users) {
          PyRef node(check(wrap_node(n)));
          if (PyList_Append(users.get(), node.get()) < 0) throw PythonError();
        }
      }
      PyRef pair(check(PyTuple_Pack(2, leaf.get(), users.get())));
      if (PyList_Append(out.get(), pair.get()) < 0) throw PythonError();
    }
    return out.release();
  });
}

PyMethodDef functions[] = {
    {"_run_configured_pass", run_configured_pass, METH_VARARGS, "A backward pass for undertow.train."},
    {"_graph_leaves", graph_leaves, METH_O, "The leaves of a graph, in order of first use."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool init_train_functions(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace undertow::core::python
