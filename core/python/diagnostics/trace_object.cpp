// trace_object.cpp: the trace of passes for Python: its switches, places in the program, and the calls that read it.
// build: small
#include "core/python/diagnostics/trace_object.h"

#include <map>

#include "core/graph/diagnostics/provenance.h"
#include "core/graph/diagnostics/tensor_number.h"
#include "core/python/arguments/convert.h"
#include "core/python/autograd/node_object.h"
#include "core/python/diagnostics/origin_object.h"
#include "core/python/diagnostics/trace_columns.h"
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
trace::Batch read_batch(int recording, trace::ReadOptions options) {
  if (options.end) std::erase(running(), recording);
  return trace::read(recording, options);
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

// _trace_stop(recording=0) -> the events of a recording as dictionaries, for the profiler; 0: of the one that started
// last
PyObject* trace_stop(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int recording = 0;
    if (!PyArg_ParseTuple(args, "|i", &recording)) throw PythonError();
    if (!recording && !running().empty()) recording = running().back();
    trace::Batch b = read_batch(recording, {.end = true, .forward = false});
    std::map<uint64_t, int> depths;
    std::map<uint64_t, std::string> errors;
    for (const trace::PassInfo& p : b.passes) depths[p.id] = p.depth;
    for (auto& [pass, text] : b.errors) errors[pass] = text;
    std::vector<std::string> lines;
    for (const trace::NodeInfo& n : b.nodes) lines.push_back(n.origin ? n.origin->line() : "");
    PyRef list(check(PyList_New(0)));
    for (const trace::EventInfo& e : b.events) {
      const trace::NodeInfo* n = e.node >= 0 ? &b.nodes[static_cast<size_t>(e.node)] : nullptr;
      const char* text = e.event == TraceEvent::Failed ? errors[e.pass].c_str() : n ? n->name->c_str() : "";
      PyRef row(check(Py_BuildValue("{s:s,s:K,s:I,s:I,s:i,s:K,s:i,s:i,s:i,s:s,s:s,s:i}", "event", name(e.event),
                                    "time_ns", e.time_ns, "thread", e.thread, "task", e.pass, "node", e.node,
                                    "sequence", n ? n->sequence : 0, "other", e.other, "dependencies", e.dependencies,
                                    "depth", depths[e.pass], "name", text, "line",
                                    n ? lines[static_cast<size_t>(e.node)].c_str() : "", "slot", e.slot)));
      if (PyList_Append(list.get(), row.get()) < 0) throw PythonError();
    }
    return list.release();
  });
}

// _trace_read(recording, end, forward, start) -> what is new, with times since `start`; see trace_columns.h
PyObject* trace_read(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int recording, end, forward;
    long long start;
    if (!PyArg_ParseTuple(args, "ippL", &recording, &end, &forward, &start)) throw PythonError();
    return batch_columns(read_batch(recording, {.end = end != 0, .forward = forward != 0}), start);
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

PyMethodDef functions[] = {
    {"_trace_start", trace_start, METH_VARARGS, nullptr},
    {"_trace_stop", trace_stop, METH_VARARGS, nullptr},
    {"_trace_read", trace_read, METH_VARARGS, nullptr},
    {"_trace_places", trace_places, METH_O, nullptr},
    {"_trace_module", trace_module, METH_O,
     "Sets the call of a module that runs on this thread, by number. Returns the old one."},
    {"_trace_number", trace_number, METH_VARARGS, nullptr},
    {"_tensor_number", tensor_number, METH_O, "A number that identifies a leaf as long as it lives."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool init_trace_functions(PyObject* module) {
  trace::current_place = place_now;
  return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace undertow::core::python
