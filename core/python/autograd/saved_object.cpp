// saved_object.cpp: see saved_object.h.
// build: small
#include "core/python/autograd/saved_object.h"

#include "core/graph/engine/graph_task.h"
#include "core/graph/saved_tensor.h"
#include "core/python/arguments/convert.h"
#include "core/python/arguments/safe_read.h"
#include "core/python/errors.h"

namespace undertow::core::python {

namespace {

class PySavedHooks final : public SavedTensorHooks {
 public:
  PySavedHooks(PyObject* pack, PyObject* unpack) : pack_(new_ref(pack)), unpack_(new_ref(unpack)) {}
  ~PySavedHooks() override {
    if (!Py_IsInitialized()) return;
    WithGil gil;
    Py_XDECREF(pack_);
    Py_DECREF(unpack_);
    Py_XDECREF(packed_);
  }
  void pack(const Tensor& t) override {
    WithGil gil;
    PyRef arg(check(wrap(t)));
    uint32_t before = t.version();
    packed_ = check(PyObject_CallOneArg(pack_, arg.get()));
    UT_CHECK(t.version() == before,
             "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot "
             "be modified by "
             "in-place operations as this can lead to unexpected side-effects. Please open an issue if you need to "
             "perform in-place operations on the input to a pack hook.");
    Py_CLEAR(pack_);
  }
  Tensor unpack() override {
    WithGil gil;
    PyRef r(check(PyObject_CallOneArg(unpack_, packed_)));
    UT_CHECK_TYPE(is_tensor(r.get()),
                  "Output of saved tensor unpack_hook expected to be a Tensor but got result of type ",
                  Py_TYPE(r.get())->tp_name);
    return tensor_of(r.get());
  }

  void visit_packed(PackedVisitor visit, void* context) const override {
    if (visit == find) {
      *static_cast<const PySavedHooks**>(context) = this;
      return;
    }
    WithGil gil;
    auto look = [&](PyObject* o, bool only_there) {
      if (is_tensor(o)) visit(context, tensor_of(o).impl(), only_there && Py_REFCNT(o) == 1);
    };
    look(packed_, true);
    if (!PyTuple_CheckExact(packed_) && !PyList_CheckExact(packed_)) return;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(packed_); i++)
      look(PySequence_Fast_GET_ITEM(packed_, i), Py_REFCNT(packed_) == 1);
  }

  // The Python hooks of a saved tensor, or null. `find` is a visitor that is only compared: these are the only hooks.
  static const PySavedHooks* of(const SavedTensor& saved) {
    const PySavedHooks* hooks = nullptr;
    saved.visit_packed(find, &hooks);
    return hooks;
  }
  PyObject* packed() const { return packed_; }
  PyObject* unpack_hook() const { return unpack_; }

 private:
  static void find(void*, TensorImpl*, bool) {}
  PyObject *pack_, *unpack_, *packed_ = nullptr;
};

using HookStack = std::vector<std::pair<PyObject*, PyObject*>>;  // owned
void drop(HookStack& stack) {
  for (auto [pack, unpack] : stack) {
    Py_DECREF(pack);
    Py_DECREF(unpack);
  }
  stack.clear();
}

// The stack as it was before a node of a running pass changed it (a hook or a custom backward entered or left
// saved_tensors_hooks). As in torch, the change is valid while that node runs. So that other nodes pay nothing, the
// stack is restored where it is used next, and at the end of the pass.
struct BeforeNode {
  HookStack stack;
  uint64_t task;
  int depth;
  Node* node;  // never dereferenced

  bool ended() const {
    GraphTask* now = current_graph_task;
    if (!now || now->reentrant_depth < depth) return true;
    return now->reentrant_depth == depth && (now->id != task || current_node != node);
  }
};

// The thread's stack of default hooks, and whether hooks are disabled.
struct DefaultHooks {
  HookStack stack;
  std::vector<BeforeNode> before;  // innermost pass last
  bool disabled = false;
  std::string message;
};
thread_local DefaultHooks default_hooks;

void update_mode() {
  if (default_hooks.stack.empty())
    thread_mode.bits &= ~static_cast<uint32_t>(kSavedHooks);
  else
    thread_mode.bits |= kSavedHooks;
}
// Before a change: keeps the stack, if this is the first change by the running node.
void keep_for_node() {
  GraphTask* task = current_graph_task;
  if (!task) return;
  auto& before = default_hooks.before;
  if (!before.empty() && before.back().task == task->id) return;
  before.push_back({default_hooks.stack, task->id, task->reentrant_depth, current_node});
  for (auto [pack, unpack] : before.back().stack) {
    Py_INCREF(pack);
    Py_INCREF(unpack);
  }
}

SavedTensorHooks* default_saved_hooks() {
  if (UT_UNLIKELY(!default_hooks.before.empty())) {
    WithGil gil;
    restore_default_hooks();
  }
  if (default_hooks.stack.empty() || default_hooks.disabled) return nullptr;
  WithGil gil;
  auto [pack, unpack] = default_hooks.stack.back();
  return new PySavedHooks(pack, unpack);
}

PyObject* push_default(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *pack, *unpack;
    if (!PyArg_ParseTuple(args, "OO", &pack, &unpack)) throw PythonError();
    restore_default_hooks();
    UT_CHECK(!default_hooks.disabled, default_hooks.message);
    keep_for_node();
    default_hooks.stack.emplace_back(new_ref(pack), new_ref(unpack));
    update_mode();
    Py_RETURN_NONE;
  });
}
PyObject* pop_default(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    restore_default_hooks();
    UT_CHECK(!default_hooks.stack.empty(), "_pop_saved_tensors_default_hooks: nothing was pushed");
    keep_for_node();
    auto [pack, unpack] = default_hooks.stack.back();
    default_hooks.stack.pop_back();
    update_mode();
    Py_DECREF(pack);
    Py_DECREF(unpack);
    Py_RETURN_NONE;
  });
}
PyObject* disable_defaults(PyObject*, PyObject* message) {
  return guarded([&]() -> PyObject* {
    std::string text = str_arg(message);
    restore_default_hooks();
    UT_CHECK(default_hooks.stack.empty(), text);
    default_hooks.disabled = true;
    default_hooks.message = text;
    Py_RETURN_NONE;
  });
}
PyObject* enable_defaults(PyObject*, PyObject*) {
  default_hooks.disabled = false;
  Py_RETURN_NONE;
}
PyObject* disabled_message(PyObject*, PyObject*) {
  if (!default_hooks.disabled) Py_RETURN_NONE;
  return PyUnicode_FromString(default_hooks.message.c_str());
}

// _raw_saved_x.
struct RawSavedObject {
  PyObject_HEAD Ref<Node> node;
  SavedTensor* saved;
};
PyTypeObject* raw_saved_type;
void raw_dealloc(PyObject* self) {
  auto* o = reinterpret_cast<RawSavedObject*>(self);
  o->node.~Ref<Node>();
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}
PyObject* raw_register_hooks(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    UT_CHECK_TYPE(
        PyTuple_GET_SIZE(args) == 2 && PyCallable_Check(PyTuple_GET_ITEM(args, 0)) &&
            PyCallable_Check(PyTuple_GET_ITEM(args, 1)),
        "register_hooks(): incompatible function arguments: expected two functions, pack_hook and unpack_hook");
    PyObject *pack = PyTuple_GET_ITEM(args, 0), *unpack = PyTuple_GET_ITEM(args, 1);
    auto* o = reinterpret_cast<RawSavedObject*>(self);
    o->saved->register_hooks(new PySavedHooks(pack, unpack));
    Py_RETURN_NONE;
  });
}
// The packed value if there are hooks, else the tensor as it is stored: an output without its grad_fn.
PyObject* raw_data(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    SavedTensor& saved = *reinterpret_cast<RawSavedObject*>(self)->saved;
    if (const PySavedHooks* hooks = PySavedHooks::of(saved)) return new_ref(hooks->packed());
    UT_CHECK(!saved.is_released(), "Trying to access data of a saved tensor after it has been freed.");
    TensorImpl* t = saved.peek();
    if (!t) Py_RETURN_NONE;
    return wrap(Tensor(Ref<TensorImpl>(t)));
  });
}
PyObject* raw_unpack_hook(PyObject* self, void*) {
  const PySavedHooks* hooks = PySavedHooks::of(*reinterpret_cast<RawSavedObject*>(self)->saved);
  return new_ref(hooks ? hooks->unpack_hook() : Py_None);
}
PyObject* raw_unpack(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    auto* o = reinterpret_cast<RawSavedObject*>(self);
    return wrap(o->saved->unpack(o->node.get()));
  });
}
PyObject* raw_new(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_RuntimeError, "Trying to create a SavedTensor object from Python is forbidden.");
  return nullptr;
}
PyMethodDef raw_methods[] = {
    {"register_hooks", raw_register_hooks, METH_VARARGS,
     "Packs the saved tensor with pack_hook; unpack_hook must return it."},
    {"unpack", raw_unpack, METH_NOARGS, "The saved tensor, checked and unpacked as for the node that saved it."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef raw_getset[] = {{"data", raw_data, nullptr, "What is stored: the packed value, or the tensor.", nullptr},
                            {"unpack_hook", raw_unpack_hook, nullptr, "The unpack hook, or None.", nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

// A tensor saved outside a graph, by _make_saved_tensor.
class SavedByHand final : public NodeWithEdgeList {
 public:
  UT_NODE_MEMORY(SavedByHand)
  void apply(std::span<Tensor>, std::span<Tensor>) override { UT_CHECK(false, "SavedByHand is in no graph"); }
  std::string name() const override { return "SavedByHand"; }
  SavedTensor saved;
};
PyObject* wrap_raw(Node* node, SavedTensor& saved) {
  auto* o = reinterpret_cast<RawSavedObject*>(check(raw_saved_type->tp_alloc(raw_saved_type, 0)));
  new (&o->node) Ref<Node>(node);
  o->saved = &saved;
  return reinterpret_cast<PyObject*>(o);
}
// _make_saved_tensor(tensor, is_output)
PyObject* make_saved(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* tensor;
    int is_output;
    if (!PyArg_ParseTuple(args, "Op", &tensor, &is_output)) throw PythonError();
    UT_CHECK_TYPE(is_tensor(tensor), "_make_saved_tensor: expected a tensor, got ", Py_TYPE(tensor)->tp_name);
    auto* held = new SavedByHand;
    Ref<Node> node = Ref<Node>::adopt(held);
    if (is_output)
      held->saved.save_output(tensor_of(tensor), held);
    else
      held->saved.save(tensor_of(tensor), held);
    return wrap_raw(held, held->saved);
  });
}
PyMethodDef module_methods[] = {
    {"_make_saved_tensor", make_saved, METH_VARARGS, nullptr},
    {"_push_saved_tensors_default_hooks", push_default, METH_VARARGS, nullptr},
    {"_pop_saved_tensors_default_hooks", pop_default, METH_NOARGS, nullptr},
    {"_saved_tensors_hooks_disable", disable_defaults, METH_O, nullptr},
    {"_saved_tensors_hooks_enable", enable_defaults, METH_NOARGS, nullptr},
    {"_saved_tensors_hooks_get_disabled_error_message", disabled_message, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void restore_default_hooks() {
  while (!default_hooks.before.empty() && default_hooks.before.back().ended()) {
    HookStack changed = std::exchange(default_hooks.stack, std::move(default_hooks.before.back().stack));
    default_hooks.before.pop_back();
    update_mode();
    drop(changed);
  }
}

PyObject* wrap_raw_saved(Node* node, std::span<SavedTensor> list) {
  PyRef t(check(PyTuple_New(static_cast<Py_ssize_t>(list.size()))));
  for (size_t i = 0; i < list.size(); i++)
    PyTuple_SET_ITEM(t.get(), static_cast<Py_ssize_t>(i), wrap_raw(node, list[i]));
  return t.release();
}
PyObject* wrap_raw_saved(Node* node, const SavedField& field) {
  if (field.kind == SavedKind::Tensor) return wrap_raw(node, saved_member<SavedTensor>(node, field));
  UT_CHECK_AS(Attribute, field.kind == SavedKind::TensorList, "_raw_saved_", field.name, " is not a tensor");
  return wrap_raw_saved(node, saved_member<std::vector<SavedTensor>>(node, field));
}

bool init_saved_types(PyObject* module) {
  make_default_saved_hooks = default_saved_hooks;
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(raw_dealloc)},
                         {Py_tp_methods, raw_methods},
                         {Py_tp_getset, raw_getset},
                         {Py_tp_new, reinterpret_cast<void*>(raw_new)},
                         {0, nullptr}};
  PyType_Spec spec = {"undertow._C._autograd.SavedTensor", sizeof(RawSavedObject), 0, Py_TPFLAGS_DEFAULT, slots};
  raw_saved_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return raw_saved_type &&
         PyModule_AddObjectRef(module, "SavedTensor", reinterpret_cast<PyObject*>(raw_saved_type)) == 0 &&
         PyModule_AddFunctions(module, module_methods) == 0;
}

}  // namespace undertow::core::python
