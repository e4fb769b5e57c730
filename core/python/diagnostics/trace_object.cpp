// trace_object.cpp: the trace of passes for Python: its switches, what it recorded as columns, and the calls that let a
// program look at gradients while a pass runs.
// build: small
#include "core/python/diagnostics/trace_object.h"

#include <cstring>
#include <map>

#include "core/graph/diagnostics/nonfinite.h"
#include "core/graph/diagnostics/provenance.h"
#include "core/graph/diagnostics/tensor_number.h"
#include "core/graph/diagnostics/trace_reader.h"
#include "core/graph/engine/graph_task.h"
#include "core/python/arguments/convert.h"
#include "core/python/autograd/node_object.h"
#include "core/python/diagnostics/origin_object.h"
#include "core/python/errors.h"
#include "core/python/tensor/tensor_object.h"

namespace undertow::core::python {

namespace {

// Places in the program: the frames of the user's code, innermost first, as code objects and instructions; lines are
// computed when they are asked for. Guarded by the GIL. Never freed, so that numbers stay valid; there are no more
// of them than different stacks.
using Place = std::vector<std::pair<PyCodeObject*, int>>;
constexpr size_t kMostFrames = 24;
std::map<Place, int32_t>& place_numbers() {
  static auto* all = new std::map<Place, int32_t>;
  return *all;
}
std::vector<const Place*>& places() {
  static auto* all = new std::vector<const Place*>;
  return *all;
}

int32_t place_now() {
  if (!Py_IsInitialized()) return -1;
  WithGil gil;
  Place found;
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  while (frame) {
    if (found.size() < kMostFrames && !is_package_frame(frame)) {
      PyCodeObject* code = PyFrame_GetCode(frame);
      found.emplace_back(code, PyFrame_GetLasti(frame));
      Py_DECREF(code);  // the frame keeps it
    }
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  if (found.empty()) return -1;
  auto [at, is_new] = place_numbers().emplace(std::move(found), static_cast<int32_t>(places().size()));
  if (is_new) {
    for (auto& [code, instruction] : at->first) Py_INCREF(code);
    places().push_back(&at->first);
  }
  return at->second;
}

// _trace_places(numbers) -> [[(file, line, function), ...], ...], innermost first
PyObject* trace_places(PyObject*, PyObject* numbers) {
  return guarded([&]() -> PyObject* {
    PyRef list(check(PySequence_List(numbers)));
    PyRef out(check(PyList_New(0)));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); i++) {
      int64_t number = int_arg(PyList_GET_ITEM(list.get(), i));
      UT_CHECK_VALUE(number >= 0 && number < static_cast<int64_t>(places().size()), "_trace_places: no place ", number);
      PyRef stack(check(PyList_New(0)));
      for (auto [code, instruction] : *places()[static_cast<size_t>(number)]) {
        PyRef frame(
            check(Py_BuildValue("(OiO)", code->co_filename, PyCode_Addr2Line(code, instruction), code->co_qualname)));
        if (PyList_Append(stack.get(), frame.get()) < 0) throw PythonError();
      }
      if (PyList_Append(out.get(), stack.get()) < 0) throw PythonError();
    }
    return out.release();
  });
}

// The recordings that run, in the order of their starts. Guarded by the GIL.
std::vector<int>& running() {
  static auto* all = new std::vector<int>;
  return *all;
}
trace::Batch read_batch(int recording, bool end) {
  if (end) std::erase(running(), recording);
  return trace::read(recording, end);
}

// _trace_start(memory=False, forward=False, most_events=0) -> the number of the recording
PyObject* trace_start(PyObject*, PyObject* args) {
  int memory = 0, forward = 0;
  Py_ssize_t most = 0;
  if (!PyArg_ParseTuple(args, "|ppn", &memory, &forward, &most)) return nullptr;
  running().push_back(trace::start({.memory = memory != 0,
                                    .forward = forward != 0,
                                    .most_events = most > 0 ? static_cast<size_t>(most) : SIZE_MAX}));
  provenance::adopt_process_mode();
  return PyLong_FromLong(running().back());
}

// _trace_stop() -> the events of the recording that started last, as dictionaries, for the profiler
PyObject* trace_stop(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    trace::Batch b = running().empty() ? trace::Batch() : read_batch(running().back(), true);
    std::map<uint64_t, int> depths;
    std::map<uint64_t, std::string> errors;
    for (const trace::PassInfo& p : b.passes) depths[p.id] = p.depth;
    for (auto& [pass, text] : b.errors) errors[pass] = text;
    PyRef list(check(PyList_New(0)));
    for (const trace::EventInfo& e : b.events) {
      if (e.event == TraceEvent::Recorded) continue;
      const trace::NodeInfo* n = e.node >= 0 ? &b.nodes[static_cast<size_t>(e.node)] : nullptr;
      const char* text = e.event == TraceEvent::Failed ? errors[e.pass].c_str() : n ? n->name.c_str() : "";
      PyRef row(check(Py_BuildValue("{s:s,s:K,s:K,s:K,s:i,s:K,s:L,s:i,s:i,s:s,s:s,s:i}", "event", name(e.event),
                                    "time_ns", e.time_ns, "thread", e.thread, "task", e.pass, "node", e.node,
                                    "sequence", n ? n->sequence : 0, "other", static_cast<long long>(e.other),
                                    "dependencies", e.dependencies, "depth", depths[e.pass], "name", text, "line",
                                    n ? n->line.c_str() : "", "slot", e.slot)));
      if (PyList_Append(list.get(), row.get()) < 0) throw PythonError();
    }
    return list.release();
  });
}

// A column of 64-bit integers, as bytes.
template <class Rows, class Get>
PyObject* column(const Rows& rows, Get get) {
  PyRef bytes(check(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(rows.size() * sizeof(int64_t)))));
  char* to = PyBytes_AS_STRING(bytes.get());
  for (const auto& row : rows) {
    int64_t value = static_cast<int64_t>(get(row));
    std::memcpy(to, &value, sizeof value);
    to += sizeof value;
  }
  return bytes.release();
}

void set(PyObject* dict, const char* key, PyObject* value) {  // takes over the reference
  PyRef held(check(value));
  if (PyDict_SetItemString(dict, key, held.get()) < 0) throw PythonError();
}

PyObject* sizes_list(const Dims& sizes) {
  PyRef list(check(PyList_New(static_cast<Py_ssize_t>(sizes.size()))));
  for (size_t i = 0; i < sizes.size(); i++)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), check(PyLong_FromLongLong(sizes[i])));
  return list.release();
}

// [name, line, kind, leaf, [[dtype, sizes], ...], [[saved name, dtype, sizes, bytes, storage], ...]]; the dtype is None
// if unknown.
PyObject* node_row(const trace::NodeInfo& n) {
  PyRef inputs(check(PyList_New(0))), saved(check(PyList_New(0)));
  auto append = [](PyObject* list, PyObject* item) {
    PyRef held(check(item));
    if (PyList_Append(list, held.get()) < 0) throw PythonError();
  };
  auto dtype = [](const trace::Shape& s) { return s.known ? name(s.dtype) : nullptr; };
  for (const trace::Shape& s : n.inputs) append(inputs.get(), Py_BuildValue("[zN]", dtype(s), sizes_list(s.sizes)));
  for (const trace::SavedTensorInfo& s : n.saved)
    append(saved.get(), Py_BuildValue("[szNKL]", s.name, dtype(s.shape), sizes_list(s.shape.sizes),
                                      static_cast<unsigned long long>(s.bytes), static_cast<long long>(s.storage)));
  return Py_BuildValue("(ssiKNN)", n.name.c_str(), n.line.c_str(),
                       n.is_accumulate ? 1
                       : n.is_function ? 2
                                       : 0,
                       static_cast<unsigned long long>(n.leaf), inputs.release(), saved.release());
}

PyObject* pass_row(const trace::PassInfo& p) {
  PyRef captures(check(PyList_New(0)));
  for (auto [node, nr] : p.captures) {
    PyRef pair(check(Py_BuildValue("[iI]", node, nr)));
    if (PyList_Append(captures.get(), pair.get()) < 0) throw PythonError();
  }
  auto truth = [](bool b) { return b ? Py_True : Py_False; };
  return Py_BuildValue("(KKKiOOOiN)", p.id, p.outer, p.thread, p.depth, truth(p.keep_graph), truth(p.create_graph),
                       truth(p.accumulates), p.root, captures.release());
}

template <class Rows, class Make>
PyObject* list_of(const Rows& rows, Make make) {
  PyRef list(check(PyList_New(static_cast<Py_ssize_t>(rows.size()))));
  for (size_t i = 0; i < rows.size(); i++)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), check(make(rows[i])));
  return list.release();
}

// _trace_read(recording, end) -> what is new: {"nodes": rows, "passes": rows, "errors": [(pass, text)], "dropped":
// bool, "unused_nodes": int, and columns of 64-bit integers: "node.*", "edge.*", "event.*"}
PyObject* trace_read(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int recording, end;
    if (!PyArg_ParseTuple(args, "ip", &recording, &end)) throw PythonError();
    trace::Batch b = read_batch(recording, end != 0);
    PyRef out(check(PyDict_New()));
    set(out.get(), "nodes", list_of(b.nodes, node_row));
    set(out.get(), "passes", list_of(b.passes, pass_row));
    set(out.get(), "errors",
        list_of(b.errors, [](auto& e) { return Py_BuildValue("(Ks)", e.first, e.second.c_str()); }));
    set(out.get(), "dropped", PyBool_FromLong(b.dropped));
    set(out.get(), "unused_nodes", PyLong_FromUnsignedLongLong(b.unused_nodes));
    using N = trace::NodeInfo;
    set(out.get(), "node.sequence", column(b.nodes, [](const N& n) { return n.sequence; }));
    set(out.get(), "node.place", column(b.nodes, [](const N& n) { return n.place; }));
    set(out.get(), "node.module", column(b.nodes, [](const N& n) { return n.module; }));
    set(out.get(), "node.time", column(b.nodes, [](const N& n) { return n.time_ns; }));
    set(out.get(), "node.thread", column(b.nodes, [](const N& n) { return n.thread; }));
    using G = trace::EdgeInfo;
    set(out.get(), "edge.from", column(b.edges, [](const G& e) { return e.from; }));
    set(out.get(), "edge.from_slot", column(b.edges, [](const G& e) { return e.from_slot; }));
    set(out.get(), "edge.to", column(b.edges, [](const G& e) { return e.to; }));
    set(out.get(), "edge.to_slot", column(b.edges, [](const G& e) { return e.to_slot; }));
    using E = trace::EventInfo;
    set(out.get(), "event.kind", column(b.events, [](const E& e) { return static_cast<int>(e.event); }));
    set(out.get(), "event.time", column(b.events, [](const E& e) { return e.time_ns; }));
    set(out.get(), "event.thread", column(b.events, [](const E& e) { return e.thread; }));
    set(out.get(), "event.pass", column(b.events, [](const E& e) { return e.pass; }));
    set(out.get(), "event.node", column(b.events, [](const E& e) { return e.node; }));
    set(out.get(), "event.other", column(b.events, [](const E& e) { return e.other; }));
    set(out.get(), "event.slot", column(b.events, [](const E& e) { return e.slot; }));
    set(out.get(), "event.dependencies", column(b.events, [](const E& e) { return e.dependencies; }));
    set(out.get(), "event.memory", column(b.events, [](const E& e) { return e.memory; }));
    return out.release();
  });
}

PyObject* trace_module(PyObject*, PyObject* module) {
  return guarded(
      [&]() -> PyObject* { return PyLong_FromLong(trace::set_module(static_cast<int32_t>(int_arg(module)))); });
}
// _trace_number(recording, pass, node) -> the node's number in the recording; -1 if the pass has not been read
PyObject* trace_number(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int recording;
    unsigned long long pass;
    PyObject* node;
    if (!PyArg_ParseTuple(args, "iKO", &recording, &pass, &node)) throw PythonError();
    UT_CHECK_TYPE(is_node(node), "_trace_number expects a node, got ", Py_TYPE(node)->tp_name);
    return PyLong_FromLong(trace::number_in_pass(recording, pass, node_of(node)));
  });
}
PyObject* tensor_number(PyObject*, PyObject* tensor) {
  return guarded(
      [&]() -> PyObject* { return PyLong_FromUnsignedLongLong(provenance::number_of(tensor_arg(tensor).impl())); });
}

// The functions that look at gradients; guarded by the GIL.
PyObject* observer = nullptr;
PyObject* finder = nullptr;

PyObject* tensor_or_none(const Tensor& t) { return t.defined() ? wrap(t) : new_ref(Py_None); }
template <class Tensors>
PyObject* tensor_list(const Tensors& tensors) {
  return list_of(tensors, [](const Tensor& t) { return tensor_or_none(t); });
}

// Calls the observer with (pass, node, gradients). It may return a list with the gradients that replace them.
void observe_in_python(const GraphTask& task, Node* node, std::span<Tensor> grads) {
  WithGil gil;
  if (!observer) return;
  PyRef fn(new_ref(observer));
  PyRef list(tensor_list(grads));
  PyRef result(check(PyObject_CallFunction(fn.get(), "KNO", static_cast<unsigned long long>(task.id),
                                           check(wrap_node(node)), list.get())));
  if (result.get() == Py_None) return;
  UT_CHECK_TYPE(PyList_Check(result.get()) && PyList_GET_SIZE(result.get()) == static_cast<Py_ssize_t>(grads.size()),
                "an observer of gradients should return None or a list with one entry per gradient");
  for (size_t i = 0; i < grads.size(); i++) {
    PyObject* given = PyList_GET_ITEM(result.get(), static_cast<Py_ssize_t>(i));
    if (given != Py_None) grads[i] = tensor_arg(given);
  }
}

void report_node(Node* node, std::span<const Tensor> grad_outputs, std::span<const Tensor> grad_inputs) {
  WithGil gil;
  if (!finder) return;
  PyRef r(check(PyObject_CallFunction(finder, "sNNN", node->name().c_str(), check(wrap_node(node)),
                                      tensor_list(grad_outputs), tensor_list(grad_inputs))));
}
void report_operation(const char* operation, std::span<TensorImpl* const> results,
                      std::span<const provenance::Input> inputs) {
  WithGil gil;
  if (!finder) return;
  auto of_input = [](const provenance::Input& in) { return tensor_or_none(Tensor(Ref<TensorImpl>(in.tensor))); };
  auto of_result = [](TensorImpl* t) { return tensor_or_none(Tensor(Ref<TensorImpl>(t))); };
  PyRef r(check(PyObject_CallFunction(finder, "sONN", operation, Py_None, list_of(inputs, of_input),
                                      list_of(results, of_result))));
}

// _trace_observe(fn or None) -> the old one
PyObject* trace_observe(PyObject*, PyObject* fn) {
  PyObject* before = observer ? observer : new_ref(Py_None);
  observer = fn == Py_None ? nullptr : new_ref(fn);
  trace::set_switch(trace::kObserve, observer != nullptr);
  return before;
}
// _find_nonfinite(fn or None): fn(operation, node or None, inputs, results) is called once.
PyObject* find_nonfinite(PyObject*, PyObject* fn) {
  Py_XSETREF(finder, fn == Py_None ? nullptr : new_ref(fn));
  if (finder)
    nonfinite::start();
  else
    nonfinite::stop();
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"_trace_start", trace_start, METH_VARARGS, nullptr},
    {"_trace_stop", trace_stop, METH_NOARGS, nullptr},
    {"_trace_read", trace_read, METH_VARARGS, nullptr},
    {"_trace_places", trace_places, METH_O, nullptr},
    {"_trace_module", trace_module, METH_O,
     "Sets the module that runs on this thread, by number. Returns the old one."},
    {"_trace_number", trace_number, METH_VARARGS, nullptr},
    {"_trace_observe", trace_observe, METH_O, nullptr},
    {"_tensor_number", tensor_number, METH_O, "A number that identifies a leaf as long as it lives."},
    {"_find_nonfinite", find_nonfinite, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool init_trace_functions(PyObject* module) {
  trace::current_place = place_now;
  trace::observe = observe_in_python;
  nonfinite::report_node = report_node;
  nonfinite::report_operation = report_operation;
  return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace undertow::core::python
