// origin_object.cpp: where in the user's program a node was recorded: the whole stack in anomaly mode, otherwise one
// line.
// build: small
#include "core/python/diagnostics/origin_object.h"

#include <cstring>

#include "core/autograd/origin.h"
#include "core/graph/diagnostics/error_details.h"
#include "core/graph/diagnostics/provenance.h"
#include "core/python/arguments/convert.h"
#include "core/python/errors.h"
#include "core/tensor/mode.h"

namespace undertow::core::python {

bool is_package_frame(PyFrameObject* frame) {
  static PyObject* const key = PyUnicode_InternFromString("__name__");
  PyRef globals(PyFrame_GetGlobals(frame));
  PyObject* name = PyDict_GetItem(globals.get(), key);
  const char* text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  return text && std::strncmp(text, "undertow", 8) == 0 && (text[8] == 0 || text[8] == '.');
}

namespace {

std::string text_of(PyObject* o) {
  const char* text = o ? PyUnicode_AsUTF8(o) : nullptr;
  if (!text) PyErr_Clear();
  return text ? text : "";
}

// The lines of instructions that were seen lately, because computing one costs more than a small operation. Guarded by
// the GIL.
struct KnownLine {
  PyObject* code = nullptr;  // owned, so that its address stays its own
  int instruction = 0;
  const char* text = nullptr;
};
KnownLine known_lines[1024];

const char* line_of(PyFrameObject* frame) {
  PyCodeObject* code = PyFrame_GetCode(frame);
  auto* owned = reinterpret_cast<PyObject*>(code);
  int instruction = PyFrame_GetLasti(frame);
  KnownLine& at =
      known_lines[(reinterpret_cast<size_t>(code) / 16 + static_cast<size_t>(instruction)) % std::size(known_lines)];
  const char* text = at.text;
  if (at.code == owned && at.instruction == instruction) {
    Py_DECREF(owned);
    return text;
  }
  text = provenance::permanent(str(text_of(code->co_filename), ":", PyFrame_GetLineNumber(frame)));
  PyRef before(at.code);
  at = {owned, instruction, text};
  return text;
}

// The innermost frame outside the package, or the innermost of all.
const char* user_line() {
  PyRef innermost = PyRef::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  PyRef frame = PyRef::borrow(innermost.get());
  auto at = [](const PyRef& f) { return reinterpret_cast<PyFrameObject*>(f.get()); };
  while (frame && is_package_frame(at(frame))) frame = PyRef(reinterpret_cast<PyObject*>(PyFrame_GetBack(at(frame))));
  return frame ? line_of(at(frame)) : innermost ? line_of(at(innermost)) : "";
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
  PythonOrigin(const char* line, std::string stack) : line_(line), stack_(std::move(stack)) {}
  std::string describe() const override { return stack_.empty() ? line_ : stack_; }
  std::string line() const override { return line_; }

 private:
  const char* line_;  // lives as long as the process
  std::string stack_;
};

// The callers of the last few thousand passes, by the low bits of their ids. Guarded by the GIL. Stores the code object
// and instruction, because computing the line of an instruction costs more than a short pass.
struct PassCaller {
  PyObject* code = nullptr;  // owned
  int instruction = 0;
  uint16_t id = 0;
};
constexpr size_t kPassesKept = 4096;
PassCaller pass_callers[kPassesKept];

void remember_pass(uint64_t id) {
  if (!Py_IsInitialized() || !PyGILState_Check()) return;
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  while (frame && is_package_frame(frame)) {
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  if (!frame) return;
  PassCaller& at = pass_callers[id % kPassesKept];
  Py_XSETREF(at.code, reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
  at.instruction = PyFrame_GetLasti(frame);
  at.id = static_cast<uint16_t>(id);
  Py_DECREF(frame);
}

std::string recall_pass(uint16_t id) {
  if (!Py_IsInitialized()) return "";
  WithGil gil;
  const PassCaller& at = pass_callers[id % kPassesKept];
  if (!at.code || at.id != id) return "";
  auto* code = reinterpret_cast<PyCodeObject*>(at.code);
  return str(text_of(code->co_filename), ":", PyCode_Addr2Line(code, at.instruction));
}

std::string line_now() {
  if (!Py_IsInitialized()) return "";
  WithGil gil;
  return user_line();
}

NodeOrigin* here() {
  if (!Py_IsInitialized()) return nullptr;
  WithGil gil;
  return new PythonOrigin(user_line(), anomaly_enabled() ? whole_stack() : "");
}

}  // namespace

void init_origins() {
  make_node_origin = here;
  current_line = line_now;
  note_pass = remember_pass;
  caller_of_pass = recall_pass;
}

}  // namespace undertow::core::python
