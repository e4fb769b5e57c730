// profile_object.cpp: switches the profiler on and off on a thread, and passes its records to Python.
// build: small
#include "core/graph/diagnostics/profile.h"

#include <chrono>
#include <cstring>

#include "core/python/arguments/args.h"
#include "core/python/arguments/convert.h"
#include "core/python/errors.h"
#include "core/python/tensor/tensor_attributes.h"
#include "core/tensor/mode.h"

namespace undertow::core::python {

namespace {

constexpr size_t kDeepest = 64;

// "train.py(12): step", innermost first, without the frames of the package.
std::vector<std::string> stack_now() {
  std::vector<std::string> out;
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  while (frame) {
    PyRef globals(PyFrame_GetGlobals(frame));
    PyObject* module = PyDict_GetItemString(globals.get(), "__name__");
    const char* text = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : nullptr;
    bool ours = text && std::strncmp(text, "undertow", 8) == 0 && (text[8] == 0 || text[8] == '.');
    if (!ours && out.size() < kDeepest) {
      PyCodeObject* code = PyFrame_GetCode(frame);
      const char *file = PyUnicode_AsUTF8(code->co_filename), *name = PyUnicode_AsUTF8(code->co_name);
      out.push_back(str(file ? file : "?", "(", PyFrame_GetLineNumber(frame), "): ", name ? name : "?"));
      Py_DECREF(code);
    }
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  PyErr_Clear();
  return out;
}

void set_thread(bool on) {
  if (on)
    thread_mode.bits |= kProfile;
  else
    thread_mode.bits &= ~static_cast<uint32_t>(kProfile);
  set_profiled_calls(on);
}

PyObject* time_now() { return PyLong_FromLongLong(std::chrono::steady_clock::now().time_since_epoch().count()); }

// _profile_start(shapes, memory, stack) -> the current time, by the clock of the records
PyObject* start(PyObject*, PyObject* args) {
  int shapes, memory, stack;
  if (!PyArg_ParseTuple(args, "ppp", &shapes, &memory, &stack)) return nullptr;
  profile::current_stack = stack_now;
  profile::start({.shapes = shapes != 0, .memory = memory != 0, .stack = stack != 0});
  set_thread(true);
  return time_now();
}

PyObject* strings(const std::vector<std::string>& list) {
  PyRef out(check(PyList_New(static_cast<Py_ssize_t>(list.size()))));
  for (size_t i = 0; i < list.size(); i++)
    PyList_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), check(PyUnicode_FromString(list[i].c_str())));
  return out.release();
}
PyObject* shapes_of(const profile::Event& e) {
  PyRef out(check(PyList_New(static_cast<Py_ssize_t>(e.shapes.size()))));
  for (size_t i = 0; i < e.shapes.size(); i++) {
    PyRef shape(check(PyList_New(static_cast<Py_ssize_t>(e.shapes[i].size()))));
    for (size_t k = 0; k < e.shapes[i].size(); k++)
      PyList_SET_ITEM(shape.get(), static_cast<Py_ssize_t>(k), check(PyLong_FromLongLong(e.shapes[i][k])));
    PyList_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), shape.release());
  }
  return out.release();
}

// _profile_stop() -> (the current time, [(kind, time_ns, thread, sequence, bytes, name, shapes, stack)]); kinds: 0
// mark, 1 begin, 2 end.
PyObject* stop(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    set_thread(false);
    std::vector<profile::Event> events = profile::stop();
    PyRef now(check(time_now()));
    PyRef out(check(PyList_New(static_cast<Py_ssize_t>(events.size()))));
    for (size_t i = 0; i < events.size(); i++) {
      const profile::Event& e = events[i];
      PyList_SET_ITEM(
          out.get(), static_cast<Py_ssize_t>(i),
          check(Py_BuildValue("(iKKLLsNN)", static_cast<int>(e.kind), static_cast<unsigned long long>(e.time_ns),
                              static_cast<unsigned long long>(e.thread), static_cast<long long>(e.sequence),
                              static_cast<long long>(e.bytes), e.name.c_str(), shapes_of(e), strings(e.stack))));
    }
    return Py_BuildValue("(NN)", now.release(), out.release());
  });
}

// A range defined by the user: record_function.
PyObject* begin(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    if (mode_is(kProfile)) profile::begin(profile::kUserRange + str_arg(name));
    return PyBool_FromLong(mode_is(kProfile));
  });
}
PyObject* end(PyObject*, PyObject*) {
  if (mode_is(kProfile)) profile::end();
  Py_RETURN_NONE;
}
PyObject* is_on(PyObject*, PyObject*) { return PyBool_FromLong(mode_is(kProfile)); }

PyMethodDef functions[] = {
    {"_profile_start", start, METH_VARARGS, nullptr},   {"_profile_stop", stop, METH_NOARGS, nullptr},
    {"_profile_begin", begin, METH_O, nullptr},         {"_profile_end", end, METH_NOARGS, nullptr},
    {"_profiler_enabled", is_on, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool init_profile_functions(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace undertow::core::python
