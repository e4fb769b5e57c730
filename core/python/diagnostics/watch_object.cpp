// watch_object.cpp: what the tools that explain a graph need from the core: what it saves, where it was cut, and the
// state
// of its gradients.
// build: small
#include <cstdlib>
#include <unordered_map>

#include "core/graph/autograd_meta.h"
#include "core/graph/diagnostics/error_details.h"
#include "core/graph/diagnostics/grad_watch.h"
#include "core/graph/diagnostics/provenance.h"
#include "core/graph/diagnostics/saved_report.h"
#include "core/python/arguments/convert.h"
#include "core/python/arguments/safe_read.h"
#include "core/python/autograd/node_object.h"
#include "core/python/errors.h"
#include "core/python/tensor/tensor_attributes.h"
#include "core/tensor/mode.h"

namespace undertow::core::python {

namespace {

// One string object for each text, which may occur in many rows.
class StringCache {
 public:
  PyObject* get(const std::string& text) {  // a new reference
    PyRef& at = made_[text];
    if (!at) at = PyRef(check(PyUnicode_FromString(text.c_str())));
    return new_ref(at.get());
  }

 private:
  std::unordered_map<std::string, PyRef> made_;
};

PyObject* none() { return new_ref(Py_None); }
PyObject* shape_tuple(const Dims& shape) {
  PyRef t(check(PyTuple_New(static_cast<Py_ssize_t>(shape.size()))));
  for (size_t i = 0; i < shape.size(); i++)
    PyTuple_SET_ITEM(t.get(), static_cast<Py_ssize_t>(i), check(PyLong_FromLongLong(shape[i])));
  return t.release();
}
// The edges where passes over these start: tensors, nodes or edges. Tensors that do not require grad have none.
std::vector<Edge> roots_arg(PyObject* roots) {
  PyRef list = snapshot(roots, "expected a sequence of tensors or gradient edges");
  std::vector<Edge> edges;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(list.get()); i++) {
    PyObject* o = PyTuple_GET_ITEM(list.get(), i);
    Edge e = is_tensor(o) ? gradient_edge(tensor_of(o)) : is_node(o) ? Edge{Ref<Node>(node_of(o)), 0} : edge_arg(o);
    if (e) edges.push_back(std::move(e));
  }
  return edges;
}

// _saved_report(roots) -> (rows, nodes, freed); a row is (node's name, its number, its line, saved name, packed, shape,
// dtype, bytes of the tensor, bytes of the storage if counted in this row, whether only saved tensors own the storage).
PyObject* saved_report(PyObject*, PyObject* arg) {
  return guarded([&]() -> PyObject* {
    std::vector<Edge> roots = roots_arg(arg);
    SavedReport report = report_saved(roots);
    StringCache texts;
    PyRef rows(check(PyList_New(static_cast<Py_ssize_t>(report.rows.size()))));
    for (size_t i = 0; i < report.rows.size(); i++) {
      const SavedRow& r = report.rows[i];
      size_t bytes = r.first ? r.storage->nbytes() : 0;
      PyList_SET_ITEM(
          rows.get(), static_cast<Py_ssize_t>(i),
          check(Py_BuildValue(
              "(NKNNONNnnO)", texts.get(r.node->name()), static_cast<unsigned long long>(r.node->sequence_nr()),
              texts.get(error_details::line_of(*r.node)), texts.get(r.name),
              r.state == SavedRow::State::Packed ? Py_True : Py_False, r.known ? shape_tuple(r.shape) : none(),
              r.known ? new_ref(dtype_object(r.dtype)) : none(), static_cast<Py_ssize_t>(r.tensor_bytes),
              static_cast<Py_ssize_t>(bytes), r.alone ? Py_True : Py_False)));
    }
    return Py_BuildValue("(Nnn)", rows.release(), static_cast<Py_ssize_t>(report.nodes),
                         static_cast<Py_ssize_t>(report.freed));
  });
}

// _graph_reaches(roots, tensor): does a gradient of the roots reach the tensor? And has any node of the graph been
// freed?
PyObject* graph_reaches(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *list, *tensor;
    if (!PyArg_ParseTuple(args, "OO", &list, &tensor)) throw PythonError();
    std::vector<Edge> roots = roots_arg(list);
    Edge target = gradient_edge(tensor_arg(tensor));
    bool reached = false, freed = false;
    auto look = [&](const Edge& e) { reached |= e && e == target; };
    for (const Edge& e : roots) look(e);
    for (Node* node : nodes_below(roots)) {
      freed |= node->released();
      for (const Edge& e : node->next_edges()) look(e);
    }
    return Py_BuildValue("(OO)", reached && target ? Py_True : Py_False, freed ? Py_True : Py_False);
  });
}

// _cut_history(param, loss) -> None without records, or (depends, incomplete, [(operation, line, in no_grad, in
// inference mode, dtype, dtype of the source, source was frozen, no derivative)], [(conversion of a value, line)]).
PyObject* cut_history(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *param, *loss;
    if (!PyArg_ParseTuple(args, "OO", &param, &loss)) throw PythonError();
    provenance::History h = provenance::history(tensor_arg(param), tensor_arg(loss));
    if (!h.known) Py_RETURN_NONE;
    PyRef cuts(check(PyList_New(0)));
    for (const provenance::Cut& c : h.cuts) {
      const Provenance& r = *c.record;
      auto truth = [](bool b) { return b ? Py_True : Py_False; };
      PyRef row(check(Py_BuildValue("(ssOOOOOO)", r.operation, r.line ? r.line->c_str() : "", truth(r.mode & kNoGrad),
                                    truth(r.mode & kInferenceMode), dtype_object(r.dtype), dtype_object(c.source_dtype),
                                    truth(c.frozen), truth(c.no_derivative))));
      if (PyList_Append(cuts.get(), row.get()) < 0) throw PythonError();
    }
    PyRef exits(check(PyList_New(0)));
    for (const auto& [operation, line] : h.exits) {
      PyRef row(check(Py_BuildValue("(ss)", operation, line ? line->c_str() : "")));
      if (PyList_Append(exits.get(), row.get()) < 0) throw PythonError();
    }
    return Py_BuildValue("(OONN)", h.depends ? Py_True : Py_False, h.incomplete ? Py_True : Py_False, cuts.release(),
                         exits.release());
  });
}

// _how_made(tensor) -> the operation that computed it and the line, as far as recorded; otherwise (None, "").
PyObject* how_made(PyObject*, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    AutogradMeta* meta = tensor_arg(tensor).impl()->meta;
    const Provenance* r = meta ? meta->provenance.get() : nullptr;
    const char* operation = r && r->operation ? r->operation : provenance::cut_by(*tensor_arg(tensor).impl());
    return Py_BuildValue("(zs)", operation, r && r->line ? r->line->c_str() : "");
  });
}

// Do two tensors share elements of one storage? Compares the ranges they span, so parts of one buffer are
// distinguished.
bool overlap(const TensorImpl& a, const TensorImpl& b) {
  auto span = [](const TensorImpl& t) {
    int64_t low = t.offset, high = t.offset;
    for (int d = 0; d < t.ndim; d++)
      (t.strides_ptr()[d] < 0 ? low : high) += (t.sizes_ptr()[d] - 1) * t.strides_ptr()[d];
    return std::pair(low * itemsize(t.dtype), (high + 1) * itemsize(t.dtype));
  };
  if (a.storage != b.storage || !a.numel || !b.numel) return false;
  auto [a_low, a_high] = span(a);
  auto [b_low, b_high] = span(b);
  return a_low < b_high && b_low < a_high;
}

// _cut_saved(roots, param): saved tensors without a gradient that were obviously computed from param, or from a tensor
// that required grad: [(relation, operation, node's name, its line, saved name, dtype, shape)].
PyObject* cut_saved(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    struct Search {
      TensorImpl* param;
      const Node* node = nullptr;
      PyRef rows{check(PyList_New(0))};
    } search;
    PyObject *list, *param;
    if (!PyArg_ParseTuple(args, "OO", &list, &param)) throw PythonError();
    search.param = tensor_arg(param).impl();
    std::vector<Edge> roots = roots_arg(list);
    for (Node* node : nodes_below(roots)) {
      search.node = node;
      node->visit_saved(
          [](void* context, const char* name, TensorImpl* t) {
            auto& s = *static_cast<Search*>(context);
            bool requires_grad = t->has(kRequiresGrad) || (t->base && t->base->has(kRequiresGrad));
            const char *relation = nullptr, *operation = provenance::cut_by(*t);
            bool shared = overlap(*t, *s.param);
            if (t == s.param)
              relation = "same";
            else if (shared && t->has(kViewInference))
              relation = "inference_mode";
            else if (shared && t->has(kViewNoGrad))
              relation = "no_grad";
            else if (shared && !requires_grad)
              relation = t->has(kOwnVersion) ? "data" : "detach";
            else if (operation)
              relation = "cut";
            if (!relation) return;
            Dims shape(t->sizes().begin(), t->sizes().end());
            PyRef row(check(Py_BuildValue("(szssNON)", relation, operation, s.node->name().c_str(),
                                          error_details::line_of(*s.node).c_str(), PyUnicode_FromString(name),
                                          dtype_object(t->dtype), shape_tuple(shape))));
            if (PyList_Append(s.rows.get(), row.get()) < 0) throw PythonError();
          },
          &search);
    }
    return search.rows.release();
  });
}

PyObject* watch_grads(PyObject*, PyObject*) {
  grad_watch::start();
  Py_RETURN_NONE;
}
// _watched_grads() -> [(node's id, name, line, arrived, entered, left, edges)] in the order in which the nodes ran;
// value kinds are small integers.
PyObject* watched_grads(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    std::vector<grad_watch::NodeGrads> seen = grad_watch::stop();
    auto kinds = [](const std::vector<grad_watch::ValueKind>& list) {
      return check(
          PyBytes_FromStringAndSize(reinterpret_cast<const char*>(list.data()), static_cast<Py_ssize_t>(list.size())));
    };
    PyRef out(check(PyList_New(static_cast<Py_ssize_t>(seen.size()))));
    for (size_t i = 0; i < seen.size(); i++) {
      const Node& node = *seen[i].node;
      PyRef edges(check(PyList_New(0)));
      for (const Edge& e : node.next_edges()) {
        PyRef pair(check(Py_BuildValue("(NI)", PyLong_FromVoidPtr(e.node.get()), e.input_nr)));
        if (PyList_Append(edges.get(), pair.get()) < 0) throw PythonError();
      }
      PyList_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i),
                      check(Py_BuildValue("(NssNNNN)", PyLong_FromVoidPtr(seen[i].node.get()), node.name().c_str(),
                                          error_details::line_of(node).c_str(), kinds(seen[i].arrived),
                                          kinds(seen[i].entered), kinds(seen[i].left), edges.release())));
    }
    return out.release();
  });
}
// _edge_id(tensor) -> (id, number) of the edge of its gradient, as in _watched_grads.
PyObject* edge_id(PyObject*, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    Edge e = gradient_edge(tensor_arg(tensor));
    return Py_BuildValue("(NI)", PyLong_FromVoidPtr(e.node.get()), e.input_nr);
  });
}

// _record_lines(on) -> the old value. On this thread, nodes record lines, and results what they were computed from.
PyObject* record_lines(PyObject*, PyObject* on) {
  const int truth = PyObject_IsTrue(on);
  if (truth < 0) return nullptr;
  bool before = mode_is(kSourceLines);
  if (truth == 1)
    thread_mode.bits |= kSourceLines | kProvenance;
  else
    thread_mode.bits &= ~static_cast<uint32_t>(kSourceLines | kProvenance);
  provenance::adopt_process_mode();
  return PyBool_FromLong(before);
}
PyObject* is_recording_lines(PyObject*, PyObject*) { return PyBool_FromLong(origins_wanted()); }

PyMethodDef functions[] = {
    {"_saved_report", saved_report, METH_O, nullptr},
    {"_graph_reaches", graph_reaches, METH_VARARGS, nullptr},
    {"_cut_history", cut_history, METH_VARARGS, nullptr},
    {"_how_made", how_made, METH_O, nullptr},
    {"_cut_saved", cut_saved, METH_VARARGS, nullptr},
    {"_watch_grads", watch_grads, METH_NOARGS, nullptr},
    {"_watched_grads", watched_grads, METH_NOARGS, nullptr},
    {"_edge_id", edge_id, METH_O, nullptr},
    {"_record_lines", record_lines, METH_O, "Nodes record the user's line, on this thread. Returns the old value."},
    {"_is_recording_lines", is_recording_lines, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool init_watch_functions(PyObject* module) {
  const char* wish = std::getenv("UNDERTOW_TRACE");
  if (wish && *wish && std::string_view(wish) != "0") {
    process_mode.fetch_or(kSourceLines);
    provenance::adopt_process_mode();
  }
  return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace undertow::core::python
