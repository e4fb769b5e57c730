// hooks_object.cpp: see hooks_object.h.
// build: small
// build: small
#include "core/python/autograd/hooks_object.h"

#include "core/graph/accumulate_grad.h"
#include "core/graph/autograd_meta.h"
#include "core/graph/diagnostics/trace.h"
#include "core/graph/engine/graph_task.h"
#include "core/graph/retains_grad.h"
#include "core/graph/saved_tensor.h"
#include "core/python/arguments/convert.h"
#include "core/python/arguments/safe_read.h"
#include "core/python/autograd/node_object.h"
#include "core/python/errors.h"
#include "core/python/printed_name.h"
#include "core/tensor/layout.h"

namespace undertow::core::python {

namespace {

// A dictionary of hooks, called in order of registration on a copy, so that a hook may remove itself or others.
class HookDict {
 public:
  explicit HookDict(PyObject* dict) : dict_(new_ref(dict)) {}
  ~HookDict() {
    if (!Py_IsInitialized()) return;
    WithGil gil;
    Py_DECREF(dict_);
  }
  PyRef hooks() const { return PyRef(check(PyDict_Values(dict_))); }
  PyObject* dict() const { return dict_; }

 private:
  PyObject* dict_;
};

// "hook 'name'", for error messages.
std::string called(PyObject* hook) {
  PyRef name(PyObject_GetAttrString(hook, "__name__"));
  if (!name) PyErr_Clear();
  return name && PyUnicode_Check(name.get()) ? str("hook '", shown(name.get()), "'") : "hook";
}
void check_replacement(const Tensor& old, const Tensor& now, PyObject* hook) {
  auto type = [](const Tensor& t) {
    return str(printed_package(), ".", kDTypeInfo[static_cast<size_t>(t.dtype())].long_name, "Tensor");
  };
  UT_CHECK(old.dtype() == now.dtype(), called(hook), " has changed the type of value (was ", type(old), " got ",
           type(now), ")");
  UT_CHECK(same(old.sizes(), now.sizes()), called(hook), " has changed the size of value: was ", ShapeText{old.sizes()},
           ", got ", ShapeText{now.sizes()});
}

class PyTensorHook final : public TensorHook {
 public:
  PyTensorHook(PyObject* dict, Node* node) : dict_(dict), node_(node) {}
  Tensor call(const Tensor& grad) override {
    WithGil gil;
    Tensor current = grad;
    PyRef list = dict_.hooks();
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); i++) {
      PyObject* hook = PyList_GET_ITEM(list.get(), i);
      PyRef arg(check(wrap(current)));
      PyRef r(check(PyObject_CallOneArg(hook, arg.get())));
      if (r.get() == Py_None) continue;
      UT_CHECK(current.defined(), "can't replace a None gradient with a non-None value: ", called(hook), " returned ",
               is_tensor(r.get()) ? "a Tensor" : Py_TYPE(r.get())->tp_name, ", but no gradient reached its tensor");
      UT_CHECK_TYPE(is_tensor(r.get()), "expected Variable, but hook returned '", Py_TYPE(r.get())->tp_name, "'");
      check_replacement(current, tensor_of(r.get()), hook);
      current = tensor_of(r.get());
    }
    return current;
  }
  PyObject* dict() const { return dict_.dict(); }
  Node* node() const { return node_; }

 private:
  HookDict dict_;
  Node* node_;  // the node it was registered on, to detect a rebased history; never dereferenced
};

PyRef tuple_of(std::span<const Tensor> grads) {
  PyRef t(check(PyTuple_New(static_cast<Py_ssize_t>(grads.size()))));
  for (size_t i = 0; i < grads.size(); i++)
    PyTuple_SET_ITEM(t.get(), static_cast<Py_ssize_t>(i), check(wrap(grads[i])));
  return t;
}
// Takes what a node hook returned: one value per gradient.
void replace(std::span<Tensor> grads, PyObject* tuple, PyObject* hook) {
  UT_CHECK_TYPE(PyTuple_Check(tuple), "expected tuple, but hook returned '",
                is_tensor(tuple) ? "Tensor" : Py_TYPE(tuple)->tp_name, "'");
  UT_CHECK(PyTuple_GET_SIZE(tuple) == static_cast<Py_ssize_t>(grads.size()), called(hook),
           " has returned an incorrect number of values (got ", PyTuple_GET_SIZE(tuple), ", but expected ",
           grads.size(), ")");
  for (size_t i = 0; i < grads.size(); i++) {
    PyObject* x = PyTuple_GET_ITEM(tuple, static_cast<Py_ssize_t>(i));
    UT_CHECK_TYPE(x == Py_None || is_tensor(x), "expected Variable or None (got ", Py_TYPE(x)->tp_name, ")");
    grads[i] = opt_tensor_arg(x);
  }
}

class PyNodePreHook final : public NodePreHook {
 public:
  explicit PyNodePreHook(PyObject* dict) : dict_(dict) {}
  void call(std::span<Tensor> grad_outputs) override {
    WithGil gil;
    PyRef list = dict_.hooks();
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); i++) {
      PyRef args = tuple_of(grad_outputs);
      PyRef r(check(PyObject_CallOneArg(PyList_GET_ITEM(list.get(), i), args.get())));
      if (r.get() != Py_None) replace(grad_outputs, r.get(), PyList_GET_ITEM(list.get(), i));
    }
  }
  PyObject* dict() const { return dict_.dict(); }

 private:
  HookDict dict_;
};
class PyNodePostHook final : public NodePostHook {
 public:
  explicit PyNodePostHook(PyObject* dict) : dict_(dict) {}
  void call(std::span<Tensor> grad_inputs, std::span<const Tensor> grad_outputs) override {
    WithGil gil;
    PyRef list = dict_.hooks();
    PyRef outs = tuple_of(grad_outputs);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); i++) {
      PyRef ins = tuple_of(grad_inputs);
      PyRef r(check(PyObject_CallFunctionObjArgs(PyList_GET_ITEM(list.get(), i), ins.get(), outs.get(), nullptr)));
      if (r.get() != Py_None) replace(grad_inputs, r.get(), PyList_GET_ITEM(list.get(), i));
    }
  }
  PyObject* dict() const { return dict_.dict(); }

 private:
  HookDict dict_;
};
class PyPostAccumulateHook final : public PostAccumulateHook {
 public:
  explicit PyPostAccumulateHook(PyObject* dict) : dict_(dict) {}
  void call(const Tensor& leaf) override {
    WithGil gil;
    PyRef list = dict_.hooks();
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); i++) {
      PyRef arg(check(wrap(leaf)));
      PyRef r(check(PyObject_CallOneArg(PyList_GET_ITEM(list.get(), i), arg.get())));
      UT_CHECK(r.get() == Py_None || r.get() == arg.get(), "Tensor post accumulate grad hooks should return None.");
    }
  }
  PyObject* dict() const { return dict_.dict(); }

 private:
  HookDict dict_;
};

PyRef hooks_module_attribute(const char* name) {
  PyRef module(check(PyImport_ImportModule("undertow.utils.hooks")));
  return PyRef(check(PyObject_GetAttrString(module.get(), name)));
}
PyRef new_dict() {
  PyRef cls = hooks_module_attribute("HookDict");
  return PyRef(check(PyObject_CallNoArgs(cls.get())));
}
// Adds the hook to dict with a new handle, and returns the handle.
PyObject* add_to(PyObject* dict, PyObject* hook) {
  PyRef cls = hooks_module_attribute("RemovableHandle");
  PyRef handle(check(PyObject_CallOneArg(cls.get(), dict)));
  PyRef id(check(PyObject_GetAttrString(handle.get(), "id")));
  if (PyObject_SetItem(dict, id.get(), hook) < 0) throw PythonError();
  return handle.release();
}

}  // namespace

PyObject* add_tensor_hook(PyObject* tensor, PyObject* hook) {
  const Tensor& t = tensor_of(tensor);
  UT_CHECK(t.requires_grad(), "cannot register a hook on a tensor that doesn't require gradient");
  auto* o = reinterpret_cast<TensorObject*>(tensor);
  Node* fn = grad_fn(t);
  PyTensorHook* existing = nullptr;
  if (fn) {
    // Only the dictionary that is registered on the current node: after an in-place write, older hooks stay with the
    // older value.
    for (auto& [nr, h] : fn->make_extra().tensor_hooks)
      if (auto* p = dynamic_cast<PyTensorHook*>(h.get());
          p && nr == t.impl()->output_nr && p->dict() == o->backward_hooks)
        existing = p;
  } else {
    for (auto& h : make_meta(t).hooks)
      if (auto* p = dynamic_cast<PyTensorHook*>(h.get())) existing = p;
  }
  if (!existing) {
    PyRef dict = new_dict();
    existing = new PyTensorHook(dict.get(), fn);
    Ref<TensorHook> ref(existing);
    if (fn)
      fn->make_extra().tensor_hooks.emplace_back(t.impl()->output_nr, ref);
    else
      make_meta(t).hooks.push_back(ref);
    Py_XSETREF(o->backward_hooks, dict.release());
    track(tensor);
  }
  return add_to(existing->dict(), hook);
}

PyObject* add_post_accumulate_hook(PyObject* tensor, PyObject* hook) {
  const Tensor& t = tensor_of(tensor);
  UT_CHECK(t.requires_grad(), "cannot register a hook on a tensor that doesn't require gradient");
  UT_CHECK(!grad_fn(t), "post accumulate grad hooks cannot be registered on non-leaf tensors");
  auto& hooks = make_meta(t).post_accumulate_hooks;
  if (hooks.empty()) {
    PyRef dict = new_dict();
    hooks.emplace_back(new PyPostAccumulateHook(dict.get()));
  }
  return add_to(static_cast<PyPostAccumulateHook*>(hooks[0].get())->dict(), hook);
}

PyObject* add_node_pre_hook(Node* node, PyObject* hook) {
  auto& hooks = node->make_extra().pre_hooks;
  for (auto& h : hooks)
    if (auto* p = dynamic_cast<PyNodePreHook*>(h.get())) return add_to(p->dict(), hook);
  PyRef dict = new_dict();
  hooks.emplace_back(new PyNodePreHook(dict.get()));
  return add_to(dict.get(), hook);
}
PyObject* add_node_post_hook(Node* node, PyObject* hook) {
  auto& hooks = node->make_extra().post_hooks;
  for (auto& h : hooks)
    if (auto* p = dynamic_cast<PyNodePostHook*>(h.get())) return add_to(p->dict(), hook);
  PyRef dict = new_dict();
  hooks.emplace_back(new PyNodePostHook(dict.get()));
  return add_to(dict.get(), hook);
}
PyObject* add_hook_dict(Node* node, PyObject* tensor) {
  UT_CHECK_TYPE(is_tensor(tensor), "_register_hook_dict expected a tensor, got ", Py_TYPE(tensor)->tp_name);
  auto* o = reinterpret_cast<TensorObject*>(tensor);
  UT_CHECK(o->backward_hooks, "_register_hook_dict: the tensor has no _backward_hooks");
  node->make_extra().tensor_hooks.emplace_back(tensor_of(tensor).impl()->output_nr,
                                               Ref<TensorHook>(new PyTensorHook(o->backward_hooks, node)));
  Py_RETURN_NONE;
}

void retain_grad(PyObject* tensor) { core::retain_grad(tensor_of(tensor)); }

int visit_leaf_hooks(AutogradMeta& meta, visitproc visit, void* arg) {
  for (auto& h : meta.hooks)
    if (auto* p = dynamic_cast<PyTensorHook*>(h.get())) Py_VISIT(p->dict());
  for (auto& h : meta.post_accumulate_hooks)
    if (auto* p = dynamic_cast<PyPostAccumulateHook*>(h.get())) Py_VISIT(p->dict());
  return 0;
}
int visit_node_hooks(Node* node, visitproc visit, void* arg) {
  NodeExtra* extra = node->extra();
  for (auto& h : extra->pre_hooks)
    if (auto* p = dynamic_cast<PyNodePreHook*>(h.get())) Py_VISIT(p->dict());
  for (auto& h : extra->post_hooks)
    if (auto* p = dynamic_cast<PyNodePostHook*>(h.get())) Py_VISIT(p->dict());
  for (auto& [nr, h] : extra->tensor_hooks)
    if (auto* p = dynamic_cast<PyTensorHook*>(h.get())) Py_VISIT(p->dict());
  return 0;
}
void clear_node_hooks(Node* node) {
  NodeExtra* extra = node->extra();
  extra->pre_hooks.clear();
  extra->post_hooks.clear();
  extra->tensor_hooks.clear();
}

namespace {

// Adds what is known about a function: its name, and where its code is. Looks through functools.partial, methods and
// objects.
void add_function(PyObject* hook, TraceEvent kind, std::vector<trace::HookFunction>& to) {
  auto attribute = [](PyObject* o, const char* name) {
    PyRef found(PyObject_GetAttrString(o, name));
    if (!found) PyErr_Clear();
    return found;
  };
  PyRef fn = PyRef::borrow(hook);
  for (int i = 0; i < 8; i++)  // an object may answer to any name, again and again
    if (PyRef inner = attribute(fn.get(), "func")) fn = std::move(inner);
  PyRef name = attribute(fn.get(), "__qualname__"), code = attribute(fn.get(), "__code__");
  if (!code || !PyCode_Check(code.get()))  // an object: its class has the function
    if (PyRef call = attribute(reinterpret_cast<PyObject*>(Py_TYPE(fn.get())), "__call__"))
      code = attribute(call.get(), "__code__");
  trace::HookFunction found{kind, Py_TYPE(fn.get())->tp_name, ""};
  if (name && PyUnicode_Check(name.get())) found.name = shown(name.get());
  if (code && PyCode_Check(code.get())) {
    auto* c = reinterpret_cast<PyCodeObject*>(code.get());
    found.line = str(shown(c->co_filename), ":", c->co_firstlineno);
  }
  to.push_back(std::move(found));
}

template <class PyHook, class Hook>
void add_functions(const Hook& hook, TraceEvent kind, std::vector<trace::HookFunction>& to) {
  const auto* p = dynamic_cast<const PyHook*>(&hook);
  if (!p) return to.push_back({kind, "a function in C++", ""});
  WithGil gil;
  PyRef list(check(PyDict_Values(p->dict())));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); i++) add_function(PyList_GET_ITEM(list.get(), i), kind, to);
}

void list_hooks(const Node* node, std::vector<trace::HookFunction>& to) {
  auto* meta = node->is_accumulate() ? static_cast<const AccumulateGrad*>(node)->leaf()->meta : nullptr;
  if (meta)
    for (auto& h : meta->hooks) add_functions<PyTensorHook>(*h, TraceEvent::TensorHook, to);
  if (NodeExtra* extra = node->extra()) {
    for (auto& [nr, h] : extra->tensor_hooks) add_functions<PyTensorHook>(*h, TraceEvent::TensorHook, to);
    for (size_t i = 0; i < extra->retains_grad_hooks.size(); i++)
      to.push_back({TraceEvent::RetainsGradHook, "retain_grad", ""});
    for (auto& h : extra->pre_hooks) add_functions<PyNodePreHook>(*h, TraceEvent::PreHook, to);
    for (auto& h : extra->post_hooks) add_functions<PyNodePostHook>(*h, TraceEvent::PostHook, to);
  }
  if (meta)
    for (auto& h : meta->post_accumulate_hooks) add_functions<PyPostAccumulateHook>(*h, TraceEvent::PostHook, to);
}

}  // namespace

void init_hooks() {
  trace::list_hooks = list_hooks;
  release_node_metadata = [](void* p) {
    if (!Py_IsInitialized()) return;
    WithGil gil;
    Py_DECREF(static_cast<PyObject*>(p));
  };
}

}  // namespace undertow::core::python
