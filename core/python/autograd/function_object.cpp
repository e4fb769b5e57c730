// function_object.cpp: see function_object.h: creation, destruction and attributes of a ctx.
#include "core/python/autograd/function_object.h"

#include <structmember.h>

#include <algorithm>

#include "core/graph/autograd_meta.h"
#include "core/graph/engine/graph_task.h"
#include "core/graph/structural.h"
#include "core/python/arguments/convert.h"
#include "core/python/autograd/hooks_object.h"
#include "core/python/autograd/saved_object.h"

namespace undertow::core::python {

namespace {

FunctionObject* as_function(PyObject* o) { return reinterpret_cast<FunctionObject*>(o); }

PyTypeObject* function_base_type;

// ---- creation and destruction ----

void clear_fields(FunctionObject* o) {
  Py_CLEAR(o->dict);
  Py_CLEAR(o->to_save);
  Py_CLEAR(o->non_differentiable);
  Py_CLEAR(o->dirty_tensors);
  Py_CLEAR(o->saved_for_forward);
  Py_CLEAR(o->needs_input_grad);
}

void dealloc(PyObject* self) {
  FunctionObject* o = as_function(self);
  FunctionNode* node = o->function_node();
  if (node && node->use_count() > 1) {
    // The graph owns the node, so the node now owns the object. See Note [Who Owns Whom In Functions].
    Py_SET_REFCNT(self, 1);
    node->owns_object = true;
    if (node->drop_reference()) return;
    // Meanwhile the graph released the node on another thread: ours was the last reference.
    node->restore_reference();
    node->owns_object = false;
    Py_SET_REFCNT(self, 0);
  }
  PyObject_GC_UnTrack(self);
  if (o->weakrefs) PyObject_ClearWeakRefs(self);
  clear_fields(o);
  Py_CLEAR(o->forward_cls);
  PyTypeObject* type = Py_TYPE(self);
  o->node.~Ref<Node>();
  o->arguments.~SmallVector();
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

// While the graph also owns the node, everything the object refers to is in use, whatever Python's own counts say.
bool graph_holds(FunctionObject* o) {
  FunctionNode* node = o->function_node();
  return node && !node->owns_object && node->use_count() > 1;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  FunctionObject* o = as_function(self);
  if (graph_holds(o)) return 0;
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(o->dict);
  Py_VISIT(o->forward_cls);
  Py_VISIT(o->to_save);
  Py_VISIT(o->non_differentiable);
  Py_VISIT(o->dirty_tensors);
  Py_VISIT(o->saved_for_forward);
  Py_VISIT(o->needs_input_grad);
  FunctionNode* node = o->function_node();
  if (!node) return 0;
  if (NodeExtra* extra = node->extra()) {
    if (extra->metadata) Py_VISIT(static_cast<PyObject*>(extra->metadata));
    if (int r = visit_node_hooks(node, visit, arg)) return r;
  }
  for (const SavedTensor& s : node->saved)
    if (TensorImpl* t = s.peek())
      if (int r = visit_owned_tensor(t, visit, arg)) return r;
  for (const Edge& e : node->next_edges())
    if (e.node)
      if (int r = visit_owned_graph(e.node.get(), visit, arg)) return r;
  return 0;
}

int clear(PyObject* self) {
  FunctionObject* o = as_function(self);
  if (graph_holds(o)) return 0;
  clear_fields(o);
  FunctionNode* node = o->function_node();
  if (!node) return 0;
  Ref<Node> keep(node);
  node->release_variables();
  if (NodeExtra* extra = node->extra()) {
    clear_node_hooks(node);
    if (auto* metadata = static_cast<PyObject*>(std::exchange(extra->metadata, nullptr))) Py_DECREF(metadata);
  }
  return 0;
}

// ---- attributes ----

template <PyObject* FunctionObject::* field>
PyObject* get(PyObject* self, void*) {
  PyObject* value = as_function(self)->*field;
  return new_ref(value ? value : Py_None);
}
template <PyObject* FunctionObject::* field>
int set(PyObject* self, PyObject* value, void*) {
  Py_XINCREF(value);
  Py_XSETREF(as_function(self)->*field, value == Py_None ? nullptr : value);
  return 0;
}

int set_bool(bool& to, PyObject* value, const char* name) {
  if (!value || !PyBool_Check(value)) {
    PyErr_Format(PyExc_TypeError, "%s received an invalid combination of arguments - got (%s), but expected (bool)",
                 name, value ? Py_TYPE(value)->tp_name : "");
    return -1;
  }
  to = value == Py_True;
  return 0;
}
int set_materialize_grads(PyObject* self, PyObject* v, void*) {
  return set_bool(as_function(self)->materialize_grads, v, "set_materialize_grads");
}
int set_materialize_non_diff(PyObject* self, PyObject* v, void*) {
  return set_bool(as_function(self)->materialize_non_diff_grads, v, "set_materialize_non_diff_grads");
}
PyObject* get_materialize_non_diff(PyObject* self, void*) {
  return PyBool_FromLong(as_function(self)->materialize_non_diff_grads);
}

// In a pass for chosen inputs: the gradients that the pass needs. Otherwise: the arguments that require grad.
PyObject* needs_input_grad(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    FunctionObject* o = as_function(self);
    if (o->needs_input_grad) return new_ref(o->needs_input_grad);
    if (!o->forward_cls) Py_RETURN_NONE;  // created by hand
    Node* running = o->node && current_graph_task && current_node == o->node.get() ? o->node.get() : nullptr;
    PyRef t(check(PyTuple_New(static_cast<Py_ssize_t>(o->arguments.size()))));
    uint32_t edge = 0;
    for (size_t i = 0; i < o->arguments.size(); i++) {
      bool needs = o->arguments[i] & kNeedsGrad;
      if (running && (o->arguments[i] & kIsTensorArgument)) needs = running->needs(edge++);
      PyTuple_SET_ITEM(t.get(), static_cast<Py_ssize_t>(i), PyBool_FromLong(needs));
    }
    return t.release();
  });
}

void check_first_access(FunctionObject* o) {
  UT_CHECK(!o->accessed,
           "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the "
           "autograd.Function. Either access saved_tensors only once, or set "
           "clear_saved_tensors_on_access=False.");
}
void check_not_freed(FunctionObject* o) {
  if (o->node && o->node->released()) SavedTensor::fail_released(o->node.get());
}

PyObject* saved_tensors(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    FunctionObject* o = as_function(self);
    check_first_access(o);
    if (o->saved_for_forward) return new_ref(o->saved_for_forward);
    return unpack_saved_tensors(o);
  });
}
PyObject* saved_variables(PyObject* self, void*) {
  if (PyErr_WarnEx(PyExc_DeprecationWarning, "'saved_variables' is deprecated; use 'saved_tensors'", 1) < 0)
    return nullptr;
  return guarded([&]() -> PyObject* {
    check_first_access(as_function(self));
    return unpack_saved_tensors(as_function(self));
  });
}
PyObject* raw_saved_tensors(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    FunctionObject* o = as_function(self);
    check_not_freed(o);
    if (!o->node) return check(PyTuple_New(0));
    return wrap_raw_saved(o->node.get(), o->function_node()->saved);
  });
}

// `line` is the node's, unless the user has stored something of that name in ctx.
PyObject* get_line(PyObject* self, void*) {
  PyObject* dict = as_function(self)->dict;
  if (PyObject* mine = dict ? PyDict_GetItemString(dict, "line") : nullptr) return new_ref(mine);
  return line_of_node(as_function(self)->node.get());
}
int set_line(PyObject* self, PyObject* value, void*) {
  PyRef dict(PyObject_GenericGetDict(self, nullptr));
  if (!dict) return -1;
  if (value) return PyDict_SetItemString(dict.get(), "line", value);
  if (PyDict_DelItemString(dict.get(), "line") == 0) return 0;
  PyErr_SetString(PyExc_AttributeError, "line");
  return -1;
}
PyObject* get_dict(PyObject* self, void*) { return PyObject_GenericGetDict(self, nullptr); }
int set_dict(PyObject* self, PyObject* value, void*) { return PyObject_GenericSetDict(self, value, nullptr); }

// A tensor stored in a ctx can close a cycle through the graph, so the collector must see it.
int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  if (value && is_tensor(value)) track(value);
  return PyObject_GenericSetAttr(self, name, value);
}

PyObject* save_for_backward(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  PyObject* t = PyTuple_New(n);
  if (!t) return nullptr;
  for (Py_ssize_t i = 0; i < n; i++) PyTuple_SET_ITEM(t, i, new_ref(args[i]));
  Py_XSETREF(as_function(self)->to_save, t);
  Py_RETURN_NONE;
}
PyObject* maybe_clear_saved_tensors(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    UT_CHECK(current_graph_task, "maybe_clear_saved_tensors should only be called during the backward pass");
    if (!current_graph_task->options.keep_graph) node_of(self)->release_variables();
    Py_RETURN_NONE;
  });
}
PyObject* raise_not_callable(PyObject* self, PyObject*, PyObject*) {
  PyErr_Format(PyExc_TypeError, "'%s' object is not callable", Py_TYPE(self)->tp_name);
  return nullptr;
}
PyObject* repr(PyObject* self) { return PyBaseObject_Type.tp_repr(self); }
PyObject* function_new(PyTypeObject* type, PyObject*, PyObject*) {
  return guarded([&] { return reinterpret_cast<PyObject*>(new_function_object(type)); });
}

PyMethodDef methods[] = {
    {"apply", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function_apply)),
     METH_CLASS | METH_FASTCALL | METH_KEYWORDS,
     "Runs forward, and records the function if an argument requires grad."},
    {"save_for_backward", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(save_for_backward)), METH_FASTCALL,
     "Keeps tensors for backward, where they are ctx.saved_tensors."},
    {"maybe_clear_saved_tensors", maybe_clear_saved_tensors, METH_NOARGS,
     "Frees the saved tensors, unless the running pass keeps the graph."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef getset[] = {
    {"saved_tensors", saved_tensors, nullptr, "The tensors given to save_for_backward; raises if one was changed.",
     nullptr},
    {"saved_variables", saved_variables, nullptr, "The old name of saved_tensors.", nullptr},
    {"_raw_saved_tensors", raw_saved_tensors, nullptr, nullptr, nullptr},
    {"needs_input_grad", needs_input_grad, set<&FunctionObject::needs_input_grad>,
     "For each argument of forward, whether its gradient is needed.", nullptr},
    {"to_save", get<&FunctionObject::to_save>, set<&FunctionObject::to_save>, nullptr, nullptr},
    {"non_differentiable", get<&FunctionObject::non_differentiable>, set<&FunctionObject::non_differentiable>, nullptr,
     nullptr},
    {"dirty_tensors", get<&FunctionObject::dirty_tensors>, set<&FunctionObject::dirty_tensors>, nullptr, nullptr},
    {"saved_for_forward", get<&FunctionObject::saved_for_forward>, set<&FunctionObject::saved_for_forward>, nullptr,
     nullptr},
    {"materialize_grads", nullptr, set_materialize_grads, nullptr, nullptr},
    {"_materialize_non_diff_grads", get_materialize_non_diff, set_materialize_non_diff, nullptr, nullptr},
    {"line", get_line, set_line, "The line of the program that called apply, if known.", nullptr},
    {"__dict__", get_dict, set_dict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(FunctionObject, dict), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(FunctionObject, weakrefs), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

}  // namespace

FunctionObject* new_function_object(PyTypeObject* type) {
  auto* o = as_function(check(type->tp_alloc(type, 0)));
  new (&o->node) Ref<Node>();
  new (&o->arguments) SmallVector<uint8_t, 8>();
  o->materialize_grads = o->materialize_non_diff_grads = true;
  return o;
}

void prepare_backward_class(PyTypeObject* type) {
  // Classes defined in Python get their own slots. These would clear an object before ours could reverse ownership, and
  // show the collector its attributes while the graph owns it. Classes created by FunctionMeta add no members, so our
  // slots are sufficient.
  if (type->tp_dealloc == dealloc || type->tp_basicsize != function_base_type->tp_basicsize) return;
  type->tp_dealloc = dealloc;
  type->tp_traverse = traverse;
  type->tp_clear = clear;
}

PyObject* wrap_function(FunctionNode* node) { return new_ref(reinterpret_cast<PyObject*>(node->object)); }

void give_function_node(PyObject* ctx) {
  FunctionObject* o = as_function(ctx);
  o->node = Ref<Node>::adopt(new FunctionNode(0, o));
  o->node->finish_recording();
}

// A saved intermediate depends on arguments, but its history was not recorded. See "Saved intermediates" in
// docs/why.md: a second derivative that flows into it raises, because a term would be lost; other second derivatives
// are not affected.
static Tensor without_its_history(FunctionNode& node, size_t i, const Tensor& t) {
  auto* error = new ErrorNode(
      str(node.name(), " is being differentiated again with respect to the tensor that it saved as number ", i,
          ", which is neither an argument nor a result of forward but depends on an argument: its part of the second "
          "derivative would be lost. Return it from "
          "forward too, recompute it in backward, or mark backward with once_differentiable."));
  Ref<Node> owner = Ref<Node>::adopt(error);
  error->set_num_edges(node.num_edges());  // edges to the arguments, so that a pass for chosen inputs reaches this node
  for (uint32_t k = 0; k < node.num_edges(); k++) error->edges()[k] = node.edges()[k];
  error->finish_recording();
  Tensor out = alias(t);
  set_history(out, owner);
  return out;
}

PyObject* unpack_saved_tensors(FunctionObject* o) {
  check_not_freed(o);
  if (!o->node) return check(PyTuple_New(0));
  FunctionNode* node = o->function_node();
  PyRef t(check(PyTuple_New(static_cast<Py_ssize_t>(node->saved.size()))));
  bool again = UT_UNLIKELY(!node->intermediates.empty()) && grad_enabled() && current_node == node;
  for (size_t i = 0; i < node->saved.size(); i++) {
    Tensor saved = node->saved[i].unpack(node);
    if (again && saved.defined() && std::ranges::count(node->intermediates, i))
      saved = without_its_history(*node, i, saved);
    PyTuple_SET_ITEM(t.get(), static_cast<Py_ssize_t>(i), check(wrap(std::move(saved))));
  }
  if (o->clear_on_access) {
    for (SavedTensor& s : node->saved) s.release();
    o->accessed = true;
  }
  return t.release();
}

int visit_owned_tensor(TensorImpl* t, visitproc visit, void* arg) {
  if (t->use_count() == 1 && t->pyobj && t->has(kPyOwned)) Py_VISIT(static_cast<PyObject*>(t->pyobj));
  return 0;
}

// Follows only nodes with a single owner, so each is visited once, and the counts that the collector compares are
// correct. While another thread works without the GIL, counts may change: then nothing is visited, which keeps
// everything alive. Such a thread cannot start or end its work during a collection, so both passes of the collector see
// the same.
int visit_owned_graph(Node* node, visitproc visit, void* arg) {
  constexpr int kMaxNodes = 256;  // a collection must not walk whole graphs
  if (LongOp::unlocked > 0 || GraphTask::running() > 0) return 0;
  SmallVector<Node*, 16> work{node};
  for (int seen = 0; !work.empty() && seen < kMaxNodes; seen++) {
    Node* n = work.back();
    work.pop_back();
    if (n->use_count() != 1 || n->is_accumulate()) continue;
    if (n->is_function()) {
      auto* f = static_cast<FunctionNode*>(n);
      if (f->owns_object) Py_VISIT(reinterpret_cast<PyObject*>(f->object));
      continue;  // its object visits the rest
    }
    if (NodeExtra* extra = n->extra(); extra && !extra->pyobj) {
      if (extra->metadata) Py_VISIT(static_cast<PyObject*>(extra->metadata));
      if (int r = visit_node_hooks(n, visit, arg)) return r;
    }
    if (Node* inner = n->inner_node()) work.push_back(inner);
    for (const Edge& e : n->next_edges())
      if (e.node) work.push_back(e.node.get());
  }
  return 0;
}

bool init_function_type(PyObject* module) {
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                         {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                         {Py_tp_clear, reinterpret_cast<void*>(clear)},
                         {Py_tp_new, reinterpret_cast<void*>(function_new)},
                         {Py_tp_getattro, reinterpret_cast<void*>(PyObject_GenericGetAttr)},
                         {Py_tp_setattro, reinterpret_cast<void*>(set_attribute)},
                         {Py_tp_call, reinterpret_cast<void*>(raise_not_callable)},
                         {Py_tp_repr, reinterpret_cast<void*>(repr)},
                         {Py_tp_methods, methods},
                         {Py_tp_getset, getset},
                         {Py_tp_members, members},
                         {0, nullptr}};
  PyType_Spec spec = {"undertow._C._FunctionBase", sizeof(FunctionObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  function_base_type =
      reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&spec, reinterpret_cast<PyObject*>(node_base_type)));
  return function_base_type &&
         PyModule_AddObjectRef(module, "_FunctionBase", reinterpret_cast<PyObject*>(function_base_type)) == 0 &&
         init_function_plans(module) && init_function_nodes(module);
}

}  // namespace undertow::core::python
