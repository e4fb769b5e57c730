// origin_object.cpp: where in the user's program a node was made: the whole stack in anomaly mode, one line otherwise.
#include "core/python/origin_object.h"

#include "core/autograd/origin.h"
#include "core/python/convert.h"
#include "core/python/errors.h"
#include "core/tensor/mode.h"

namespace undertow::python {

namespace {

std::string text_of(PyObject* o) {
  const char* text = o ? PyUnicode_AsUTF8(o) : nullptr;
  if (!text) PyErr_Clear();
  return text ? text : "";
}

// The innermost frame outside the package itself.
std::string user_line() {
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  std::string line;
  while (frame) {
    PyRef globals(PyFrame_GetGlobals(frame));
    std::string module = text_of(PyDict_GetItemString(globals.get(), "__name__"));
    bool ours = module == "undertow" || module.starts_with("undertow.");
    if (!ours || line.empty()) {
      PyCodeObject* code = PyFrame_GetCode(frame);
      line = str(text_of(code->co_filename), ":", PyFrame_GetLineNumber(frame));
      Py_DECREF(code);
    }
    PyFrameObject* back = ours ? PyFrame_GetBack(frame) : nullptr;
    Py_DECREF(frame);
    frame = back;
  }
  return line;
}

std::string whole_stack() {
  PyRef module(PyImport_ImportModule("traceback"));
  PyRef lines(module ? PyObject_CallMethod(module.get(), "format_stack", nullptr) : nullptr);
  PyRef empty(PyUnicode_FromString(""));
  PyRef joined(lines && empty ? PyUnicode_Join(empty.get(), lines.get()) : nullptr);
  return text_of(joined.get());
}

class PythonOrigin final : public NodeOrigin {
 public:
  PythonOrigin(std::string line, std::string stack) : line_(std::move(line)), stack_(std::move(stack)) {}
  std::string describe() const override { return stack_.empty() ? line_ : stack_; }
  std::string line() const override { return line_; }

 private:
  std::string line_, stack_;
};

NodeOrigin* here() {
  if (!Py_IsInitialized()) return nullptr;
  WithGil gil;
  return new PythonOrigin(user_line(), anomaly_enabled() ? whole_stack() : "");
}

}  // namespace

void init_origins() { make_node_origin = here; }

}  // namespace undertow::python
