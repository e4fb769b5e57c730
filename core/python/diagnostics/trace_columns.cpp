// trace_columns.cpp: see trace_columns.h. A recording may have a million nodes, so nothing here makes a Python object
// per node that a column of numbers or a shared object can replace.
// build: small
#include "core/python/diagnostics/trace_columns.h"

#include <unordered_map>

#include "core/python/errors.h"

namespace undertow::core::python {

namespace {

// Makes Python integers. Those of a column that repeat within a short distance are one object: a list of a million
// different objects takes four times the memory of the list itself.
class Ints {
 public:
  PyObject* make(int64_t value) {
    Entry& entry = recent_[static_cast<uint64_t>(value) % std::size(recent_)];
    if (!entry.object || entry.value != value) entry = {value, PyRef(check(PyLong_FromLongLong(value)))};
    return new_ref(entry.object.get());
  }

 private:
  struct Entry {
    int64_t value = 0;
    PyRef object;
  };
  Entry recent_[1024];
};

template <class Rows, class Get>
PyObject* column(const Rows& rows, Get get) {
  Ints ints;
  PyRef list(check(PyList_New(static_cast<Py_ssize_t>(rows.size()))));
  Py_ssize_t i = 0;
  for (const auto& row : rows) PyList_SET_ITEM(list.get(), i++, ints.make(static_cast<int64_t>(get(row))));
  return list.release();
}

void set(PyObject* dict, const char* key, PyObject* value) {  // takes over the reference
  PyRef held(check(value));
  if (PyDict_SetItemString(dict, key, held.get()) < 0) throw PythonError();
}

template <class Rows, class Make>
PyObject* list_of(const Rows& rows, Make make) {
  PyRef list(check(PyList_New(static_cast<Py_ssize_t>(rows.size()))));
  for (size_t i = 0; i < rows.size(); i++)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), check(make(rows[i])));
  return list.release();
}

// Numbers strings, each once.
class Strings {
 public:
  int64_t number(const std::string& text) {
    auto [at, is_new] = numbers_.try_emplace(text, static_cast<int64_t>(all_.size()));
    if (is_new) all_.push_back(&at->first);
    return at->second;
  }
  PyObject* list() const {
    return list_of(all_, [](const std::string* text) {
      return PyUnicode_DecodeUTF8(text->data(), static_cast<Py_ssize_t>(text->size()), "replace");
    });
  }

 private:
  std::unordered_map<std::string, int64_t> numbers_;
  std::vector<const std::string*> all_;
};

// Makes the lists of shapes and saved tensors; strings and shapes that are equal are one object.
class NodeLists {
 public:
  // [[dtype, sizes], ...]; the dtype is None if unknown.
  PyObject* outputs(const trace::NodeInfo& n) {
    std::string key;
    for (const trace::Shape& s : n.inputs) append(key, s);
    PyRef& found = outputs_[key];
    if (!found) found = PyRef(list_of(n.inputs, [this](const trace::Shape& s) { return pair(s); }));
    return new_ref(found.get());
  }
  // [[name, dtype, sizes, bytes, storage], ...]
  PyObject* saved(const trace::NodeInfo& n) {
    return list_of(n.saved, [this](const trace::SavedTensorInfo& s) {
      return Py_BuildValue("[OOOKL]", name(s.name), dtype(s.shape), sizes(s.shape),
                           static_cast<unsigned long long>(s.bytes), static_cast<long long>(s.storage));
    });
  }

 private:
  static void append(std::string& key, const trace::Shape& s) {
    key += s.known ? static_cast<char>(s.dtype) : static_cast<char>(-1);
    key += static_cast<char>(s.sizes.size());
    for (int64_t size : s.sizes) key.append(reinterpret_cast<const char*>(&size), sizeof size);
  }
  PyObject* pair(const trace::Shape& s) { return Py_BuildValue("[OO]", dtype(s), sizes(s)); }
  // All of these return borrowed references.
  PyObject* dtype(const trace::Shape& s) { return s.known ? name(core::name(s.dtype)) : Py_None; }
  PyObject* name(const char* text) {
    PyRef& found = names_[text];
    if (!found) found = PyRef(check(PyUnicode_FromString(text)));
    return found.get();
  }
  PyObject* sizes(const trace::Shape& s) {
    std::string key;
    append(key, s);
    PyRef& found = sizes_[key];
    if (!found) found = PyRef(list_of(s.sizes, [](int64_t size) { return PyLong_FromLongLong(size); }));
    return found.get();
  }

  std::unordered_map<const char*, PyRef> names_;  // by address: they live as long as the process
  std::unordered_map<std::string, PyRef> sizes_, outputs_;
};

PyObject* pass_row(const trace::PassInfo& p) {
  auto truth = [](bool b) { return b ? Py_True : Py_False; };
  PyRef captures(list_of(p.captures, [](auto& c) { return Py_BuildValue("[iI]", c.first, c.second); }));
  return Py_BuildValue("(KKKiOOOiN)", p.id, p.outer, p.thread, p.depth, truth(p.keep_graph), truth(p.create_graph),
                       truth(p.accumulates), p.root, captures.release());
}

void set_nodes(PyObject* out, const std::vector<trace::NodeInfo>& nodes, int64_t start) {
  using N = trace::NodeInfo;
  Strings names, lines;
  NodeLists lists;
  set(out, "node.name", column(nodes, [&](const N& n) { return names.number(*n.name); }));
  // The place of a recorded operation says more than the line that its node remembers, which is costly to find out.
  set(out, "node.line", column(nodes, [&](const N& n) {
        return n.place < 0 && n.origin ? lines.number(n.origin->line()) : int64_t{-1};
      }));
  set(out, "node.kind", column(nodes, [](const N& n) { return n.is_accumulate ? 1 : n.is_function ? 2 : 0; }));
  set(out, "node.leaf", column(nodes, [](const N& n) { return n.leaf; }));
  set(out, "node.sequence", column(nodes, [](const N& n) { return n.sequence; }));
  set(out, "node.place", column(nodes, [](const N& n) { return n.place; }));
  set(out, "node.call", column(nodes, [](const N& n) { return n.module; }));
  set(out, "node.time", column(nodes, [start](const N& n) { return n.time_ns < 0 ? -1 : n.time_ns - start; }));
  set(out, "node.thread", column(nodes, [](const N& n) { return n.thread; }));
  set(out, "outputs", list_of(nodes, [&](const N& n) { return lists.outputs(n); }));
  set(out, "saved", list_of(nodes, [&](const N& n) { return lists.saved(n); }));
  set(out, "names", names.list());
  set(out, "lines", lines.list());
}

}  // namespace

PyObject* batch_columns(const trace::Batch& b, int64_t start) {
  PyRef held(check(PyDict_New()));
  PyObject* out = held.get();
  set_nodes(out, b.nodes, start);
  set(out, "passes", list_of(b.passes, pass_row));
  set(out, "hooks", list_of(b.hooks, [](const trace::HookInfo& h) {
        return Py_BuildValue("(iiss)", h.node, static_cast<int>(h.function.kind), h.function.name.c_str(),
                             h.function.line.c_str());
      }));
  set(out, "errors", list_of(b.errors, [](auto& e) { return Py_BuildValue("(Ks)", e.first, e.second.c_str()); }));
  set(out, "dropped", PyBool_FromLong(b.dropped));
  set(out, "unused_nodes", PyLong_FromUnsignedLongLong(b.unused_nodes));
  using G = trace::EdgeInfo;
  set(out, "edge.from", column(b.edges, [](const G& e) { return e.from; }));
  set(out, "edge.from_slot", column(b.edges, [](const G& e) { return e.from_slot; }));
  set(out, "edge.to", column(b.edges, [](const G& e) { return e.to; }));
  set(out, "edge.to_slot", column(b.edges, [](const G& e) { return e.to_slot; }));
  using E = trace::EventInfo;
  set(out, "event.kind", column(b.events, [](const E& e) { return static_cast<int>(e.event); }));
  set(out, "event.time", column(b.events, [start](const E& e) { return static_cast<int64_t>(e.time_ns) - start; }));
  set(out, "event.thread", column(b.events, [](const E& e) { return e.thread; }));
  set(out, "event.pass", column(b.events, [](const E& e) { return e.pass; }));
  set(out, "event.node", column(b.events, [](const E& e) { return e.node; }));
  set(out, "event.other", column(b.events, [](const E& e) { return e.other; }));
  set(out, "event.slot", column(b.events, [](const E& e) { return e.slot; }));
  set(out, "event.dependencies", column(b.events, [](const E& e) { return e.dependencies; }));
  set(out, "event.memory", column(b.events, [](const E& e) { return e.memory; }));
  return held.release();
}

}  // namespace undertow::core::python
