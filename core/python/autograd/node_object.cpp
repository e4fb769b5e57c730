// node_object.cpp: see node_object.h. One Python type per node name, created on first use.
// build: small
#include "core/python/autograd/node_object.h"

#include <structmember.h>

#include <map>
#include <string>

#include "core/graph/accumulate_grad.h"
#include "core/graph/diagnostics/error_details.h"
#include "core/graph/saved_fields.h"
#include "core/graph/saved_tensor.h"
#include "core/python/arguments/convert.h"
#include "core/python/arguments/safe_read.h"
#include "core/python/autograd/function_object.h"
#include "core/python/autograd/hooks_object.h"
#include "core/python/autograd/saved_object.h"
#include "core/python/diagnostics/origin_object.h"
#include "core/python/errors.h"
#include "core/python/types/dtype_object.h"
#include "core/tensor/layout.h"
#include "generated/ops.h"

namespace undertow::core::python {

PyTypeObject* node_base_type = nullptr;

namespace {

NodeObject* as_node(PyObject* o) { return reinterpret_cast<NodeObject*>(o); }

void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  auto* o = as_node(self);
  if (o->weakrefs) PyObject_ClearWeakRefs(self);
  if (NodeExtra* extra = o->node->extra()) extra->pyobj = nullptr;
  PyTypeObject* type = Py_TYPE(self);
  o->node.~Ref<Node>();
  PyObject_GC_Del(self);
  Py_DECREF(type);
}
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Node* n = as_node(self)->node.get();
  if (n->use_count() == 1 && n->extra()) {
    if (n->extra()->metadata) Py_VISIT(static_cast<PyObject*>(n->extra()->metadata));
    return visit_node_hooks(n, visit, arg);
  }
  return 0;
}
int clear(PyObject* self) {
  Node* n = as_node(self)->node.get();
  if (n->use_count() == 1 && n->extra()) clear_node_hooks(n);
  return 0;
}

// The address of the node, not that of its Python object: the Python object is made again when the last reference to it
// is gone, and its address may then be that of another node's.
PyObject* repr(PyObject* self) {
  Node* n = node_of(self);
  return PyUnicode_FromFormat("<%s object at %p>", n->name().c_str(), n);
}
// Programs that walk a graph compare the names of the structural nodes with torch's, which are the names of torch's C++
// classes.
PyObject* name_method(PyObject* self, PyObject*) {
  std::string name = node_of(self)->name();
  if (name == "AccumulateGrad" || name == "CopySlices" || name == "CopyBackwards" || name == "NotImplemented")
    name = "torch::autograd::" + name;
  return PyUnicode_FromString(name.c_str());
}
PyObject* next_functions(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    Node* n = node_of(self);
    PyRef out(check(PyTuple_New(n->num_edges())));
    for (uint32_t i = 0; i < n->num_edges(); i++) {
      const Edge& e = n->edges()[i];
      PyRef fn(check(wrap_node(e.node.get())));
      PyTuple_SET_ITEM(out.get(), i, check(Py_BuildValue("(OI)", fn.get(), e.input_nr)));
    }
    return out.release();
  });
}
PyObject* metadata(PyObject* self, void*) {
  NodeExtra& extra = node_of(self)->make_extra();
  if (!extra.metadata) extra.metadata = PyDict_New();
  return extra.metadata ? new_ref(static_cast<PyObject*>(extra.metadata)) : nullptr;
}
PyObject* input_metadata(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    Node* n = node_of(self);
    PyTypeObject* type =
        return_type("InputMetadata", {"shape", "dtype", "device", "is_nested_tensor", "is_cpp_nested_tensor"});
    PyRef out(check(PyTuple_New(n->num_inputs())));
    for (uint32_t i = 0; i < n->num_inputs(); i++) {
      const InputMeta& m = n->input_meta(i);
      PyTuple_SET_ITEM(out.get(), i,
                       wrap_items({check(wrap_sizes(m.sizes())), new_ref(dtype_object(m.dtype())),
                                   check(device_object({})), new_ref(Py_False), new_ref(Py_False)},
                                  type));
    }
    return out.release();
  });
}
PyObject* line(PyObject* self, void*) { return line_of_node(node_of(self)); }
PyObject* sequence_nr(PyObject* self, PyObject*) { return PyLong_FromUnsignedLongLong(node_of(self)->sequence_nr()); }
PyObject* set_sequence_nr(PyObject* self, PyObject* v) {
  unsigned long long n = PyLong_AsUnsignedLongLong(v);
  if (PyErr_Occurred()) return nullptr;
  node_of(self)->set_sequence_nr(n);
  Py_RETURN_NONE;
}
PyObject* requires_grad(PyObject*, void*) { Py_RETURN_TRUE; }
PyObject* variable(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    Node* n = node_of(self);
    UT_CHECK_AS(Attribute, n->is_accumulate(), "'", n->name(), "' object has no attribute 'variable'");
    return wrap(Tensor(Ref<TensorImpl>(static_cast<AccumulateGrad*>(n)->leaf())));
  });
}
PyObject* register_hook(PyObject* self, PyObject* hook) {
  return guarded([&] { return add_node_post_hook(node_of(self), hook); });
}
PyObject* register_prehook(PyObject* self, PyObject* hook) {
  return guarded([&] { return add_node_pre_hook(node_of(self), hook); });
}
PyObject* register_hook_dict(PyObject* self, PyObject* tensor) {
  return guarded([&] { return add_hook_dict(node_of(self), tensor); });
}

PyObject* ints_tuple(const Dims& d) {
  PyRef t(check(PyTuple_New(static_cast<Py_ssize_t>(d.size()))));
  for (size_t i = 0; i < d.size(); i++)
    PyTuple_SET_ITEM(t.get(), static_cast<Py_ssize_t>(i), check(PyLong_FromLongLong(d[i])));
  return t.release();
}

// The values of _saved_x as Python objects.
PyObject* saved_value(Node* n, const SavedField& f) {
  auto optional = [&](auto& v, auto&& make) -> PyObject* {
    if (!v) Py_RETURN_NONE;
    return make(*v);
  };
  switch (f.kind) {
    case SavedKind::Tensor:
      return wrap(saved_member<SavedTensor>(n, f).unpack(n));
    case SavedKind::TensorList: {
      std::vector<Tensor> out;
      for (auto& s : saved_member<std::vector<SavedTensor>>(n, f)) out.push_back(s.unpack(n));
      return wrap(std::move(out));
    }
    case SavedKind::Scalar:
      return wrap(saved_member<Scalar>(n, f));
    case SavedKind::OptScalar:
      return optional(saved_member<std::optional<Scalar>>(n, f), [](const Scalar& s) { return wrap(s); });
    case SavedKind::Int:
      return wrap(saved_member<int64_t>(n, f));
    case SavedKind::OptInt:
      return optional(saved_member<std::optional<int64_t>>(n, f), [](int64_t v) { return wrap(v); });
    case SavedKind::Float:
      return wrap(saved_member<double>(n, f));
    case SavedKind::OptFloat:
      return optional(saved_member<std::optional<double>>(n, f), [](double v) { return wrap(v); });
    case SavedKind::Bool:
      return wrap(saved_member<bool>(n, f));
    case SavedKind::OptBool:
      return optional(saved_member<std::optional<bool>>(n, f), [](bool v) { return wrap(v); });
    case SavedKind::Ints:
      return ints_tuple(saved_member<Dims>(n, f));
    case SavedKind::OptInts:
      return optional(saved_member<std::optional<Dims>>(n, f), ints_tuple);
    case SavedKind::IntsList: {
      auto& list = saved_member<std::vector<Dims>>(n, f);
      PyRef t(check(PyTuple_New(static_cast<Py_ssize_t>(list.size()))));
      for (size_t i = 0; i < list.size(); i++)
        PyTuple_SET_ITEM(t.get(), static_cast<Py_ssize_t>(i), ints_tuple(list[i]));
      return t.release();
    }
    case SavedKind::DType:
      return wrap(saved_member<DType>(n, f));
    case SavedKind::OptDType:
      return optional(saved_member<std::optional<DType>>(n, f), [](DType v) { return wrap(v); });
    case SavedKind::DTypeList: {
      auto& list = saved_member<std::vector<DType>>(n, f);
      PyRef t(check(PyTuple_New(static_cast<Py_ssize_t>(list.size()))));
      for (size_t i = 0; i < list.size(); i++) PyTuple_SET_ITEM(t.get(), static_cast<Py_ssize_t>(i), wrap(list[i]));
      return t.release();
    }
    case SavedKind::Device:
      return device_object(saved_member<Device>(n, f));
    case SavedKind::String:
      return PyUnicode_FromString(saved_member<std::string>(n, f).c_str());
    case SavedKind::OptString:
      return optional(saved_member<std::optional<std::string>>(n, f),
                      [](const std::string& s) { return PyUnicode_FromString(s.c_str()); });
  }
  Py_RETURN_NONE;
}

// _saved_x and _raw_saved_x are looked up in the node's own table, so no type needs its own getset.
PyObject* get_attribute(PyObject* self, PyObject* key) {
  PyObject* r = PyObject_GenericGetAttr(self, key);
  if (r || !PyErr_ExceptionMatches(PyExc_AttributeError)) return r;
  // A name that is no text is no saved name either; the AttributeError stays.
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  const char* text = PyUnicode_AsUTF8(key);
  PyErr_Restore(type, value, traceback);
  if (!text) return nullptr;
  std::string_view wanted = text;
  bool raw = wanted.starts_with("_raw_saved_");
  if (!raw && !wanted.starts_with("_saved_")) return nullptr;
  wanted.remove_prefix(raw ? 11 : 7);
  Node* n = node_of(self);
  size_t count = 0;
  const SavedField* fields = n->saved_fields(&count);
  for (size_t i = 0; i < count; i++) {
    if (wanted != fields[i].name) continue;
    PyErr_Clear();
    return guarded([&] { return raw ? wrap_raw_saved(n, fields[i]) : saved_value(n, fields[i]); });
  }
  return nullptr;
}
PyObject* dir_method(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyRef base(check(PyObject_CallMethod(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__dir__", "O", self)));
    PyRef list(check(PySequence_List(base.get())));
    Node* n = node_of(self);
    size_t count = 0;
    const SavedField* fields = n->saved_fields(&count);
    for (size_t i = 0; i < count; i++) {
      PyRef a(PyUnicode_FromFormat("_saved_%s", fields[i].name));
      PyList_Append(list.get(), a.get());
      if (fields[i].kind == SavedKind::Tensor || fields[i].kind == SavedKind::TensorList) {
        PyRef b(PyUnicode_FromFormat("_raw_saved_%s", fields[i].name));
        PyList_Append(list.get(), b.get());
      }
    }
    return list.release();
  });
}
PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    UT_CHECK_TYPE(!kwargs || PyDict_GET_SIZE(kwargs) == 0, "keyword arguments are not supported");
    Ref<Node> n(node_of(self));
    std::vector<Tensor> in(n->num_inputs()), out(n->num_edges());
    UT_CHECK_TYPE(PyTuple_GET_SIZE(args) == static_cast<Py_ssize_t>(in.size()), "expected ", in.size(),
                  " arguments, got ", PyTuple_GET_SIZE(args), " instead: ", n->name(),
                  " takes one gradient for each of its outputs");
    for (size_t i = 0; i < in.size(); i++) {
      PyObject* grad = PyTuple_GET_ITEM(args, static_cast<Py_ssize_t>(i));
      UT_CHECK_TYPE(grad == Py_None || is_tensor(grad), "argument ", i,
                    " is not a Variable: expected a Tensor or None, got ", Py_TYPE(grad)->tp_name);
      in[i] = opt_tensor_arg(grad);
      // The engine checks gradients before they reach a leaf. Here the leaf's shape decides, as in a copy.
      if (n->is_accumulate() && in[i].defined() && !same(in[i].sizes(), n->input_meta(0).sizes())) {
        Tensor fit = empty(n->input_meta(0).sizes(), in[i].dtype(), in[i].device());
        in[i] = ops::copy_(fit, in[i], false);
      }
    }
    n->apply(in, out);
    if (out.size() == 1) return wrap(out[0]);
    return wrap(std::move(out));
  });
}

PyMethodDef methods[] = {
    {"name", name_method, METH_NOARGS, "The node's name."},
    {"register_hook", register_hook, METH_O, "Calls hook(grad_inputs, grad_outputs) after the node ran."},
    {"register_prehook", register_prehook, METH_O, "Calls hook(grad_outputs) before the node runs."},
    {"_register_hook_dict", register_hook_dict, METH_O, nullptr},
    {"_sequence_nr", sequence_nr, METH_NOARGS, nullptr},
    {"_set_sequence_nr", set_sequence_nr, METH_O, nullptr},
    {"__dir__", dir_method, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef getset[] = {{"next_functions", next_functions, nullptr, nullptr, nullptr},
                        {"metadata", metadata, nullptr, nullptr, nullptr},
                        {"line", line, nullptr, "The line of the program that recorded the node, if known.", nullptr},
                        {"_input_metadata", input_metadata, nullptr, nullptr, nullptr},
                        {"requires_grad", requires_grad, nullptr, nullptr, nullptr},
                        {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyGetSetDef accumulate_getset[] = {{"variable", variable, nullptr, nullptr, nullptr},
                                   {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(NodeObject, weakrefs), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

PyTypeObject* type_for(const std::string& name) {
  static auto* types = new std::map<std::string, PyTypeObject*>;  // leaked: types live as long as the interpreter
  auto& slot = (*types)[name];
  if (slot) return slot;
  auto* full = new std::string("builtins." + name);  // torch's __module__
  PyType_Slot plain[] = {{Py_tp_getset, name == "AccumulateGrad" ? accumulate_getset : accumulate_getset + 1},
                         {0, nullptr}};
  PyType_Spec spec = {full->c_str(), sizeof(NodeObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                      plain};
  slot = reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&spec, reinterpret_cast<PyObject*>(node_base_type)));
  if (!slot) throw PythonError();
  return slot;
}

PyObject* node_type(PyObject*, PyObject* name) {  // as_torch: `torch._C._functions.AccumulateGrad`
  return guarded([&]() -> PyObject* {
    UT_CHECK_TYPE(PyUnicode_Check(name), "_node_type: expected a string, got ", Py_TYPE(name)->tp_name);
    return new_ref(reinterpret_cast<PyObject*>(type_for(std::string(utf8(name)))));
  });
}
PyMethodDef functions[] = {{"_node_type", node_type, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* wrap_node(Node* node) {
  if (!node) Py_RETURN_NONE;
  if (UT_UNLIKELY(node->is_function())) return wrap_function(static_cast<FunctionNode*>(node));
  NodeExtra& extra = node->make_extra();
  if (extra.pyobj) return new_ref(static_cast<PyObject*>(extra.pyobj));
  PyTypeObject* type = type_for(node->name());
  auto* o = PyObject_GC_New(NodeObject, type);
  if (!o) throw PythonError();
  new (&o->node) Ref<Node>(node);
  o->weakrefs = nullptr;
  extra.pyobj = o;
  PyObject_GC_Track(reinterpret_cast<PyObject*>(o));
  return reinterpret_cast<PyObject*>(o);
}

PyObject* line_of_node(const Node* node) {
  return guarded([&]() -> PyObject* {
    std::string line = node ? error_details::line_of(*node) : "";
    if (line.empty()) Py_RETURN_NONE;
    return PyUnicode_FromString(line.c_str());
  });
}

bool is_node(PyObject* o) { return PyType_IsSubtype(Py_TYPE(o), node_base_type); }
Node* node_of(PyObject* o) {
  if (UT_UNLIKELY(!as_node(o)->node)) give_function_node(o);
  return as_node(o)->node.get();
}

Edge edge_arg(PyObject* o) {
  UT_CHECK_TYPE(PyTuple_Check(o) && PyTuple_GET_SIZE(o) >= 2 && is_node(PyTuple_GET_ITEM(o, 0)),
                "expected a GradientEdge, got ", Py_TYPE(o)->tp_name);
  return {Ref<Node>(node_of(PyTuple_GET_ITEM(o, 0))), static_cast<uint32_t>(int_arg(PyTuple_GET_ITEM(o, 1)))};
}

bool init_node_types(PyObject* module) {
  init_origins();
  init_hooks();
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                         {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                         {Py_tp_clear, reinterpret_cast<void*>(clear)},
                         {Py_tp_repr, reinterpret_cast<void*>(repr)},
                         {Py_tp_methods, methods},
                         {Py_tp_getset, getset},
                         {Py_tp_members, members},
                         {Py_tp_getattro, reinterpret_cast<void*>(get_attribute)},
                         {Py_tp_call, reinterpret_cast<void*>(call)},
                         {0, nullptr}};
  PyType_Spec spec = {"undertow._C._NodeBase", sizeof(NodeObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                      slots};
  node_base_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return node_base_type &&
         PyModule_AddObjectRef(module, "_NodeBase", reinterpret_cast<PyObject*>(node_base_type)) == 0 &&
         PyModule_AddFunctions(module, functions) == 0 && init_saved_types(module) && init_function_type(module);
}

}  // namespace undertow::core::python
