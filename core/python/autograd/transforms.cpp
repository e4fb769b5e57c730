// transforms.cpp: what vmap and undertow.func need from the core: batched tensors and their handler, operators by key,
// and whether a graph reaches leaves other than the given ones. The rules themselves are in Python, in undertow/_vmap.
// build: small
#include <algorithm>
#include <string>
#include <unordered_set>

#include "core/autograd/delegated/batched.h"
#include "core/autograd/delegated/delegated.h"
#include "core/autograd/tangents.h"
#include "core/autograd/views/captured.h"
#include "core/graph/accumulate_grad.h"
#include "core/graph/autograd_meta.h"
#include "core/graph/engine/evaluate.h"
#include "core/python/arguments/args.h"
#include "core/python/arguments/convert.h"
#include "core/python/arguments/safe_read.h"
#include "core/python/autograd/node_object.h"
#include "core/python/errors.h"
#include "core/python/tensor/tensor_attributes.h"
#include "core/python/types/dtype_object.h"
#include "core/python/types/generator_object.h"
#include "core/tensor/mode.h"

namespace undertow::core::python {

namespace {

using delegated::Boxed;

PyObject* dispatch_function = nullptr;  // of undertow._vmap, called with (key, [arguments])

PyObject* unboxed(const Boxed& b) {
  using Kind = Boxed::Kind;
  switch (b.kind) {
    case Kind::Tensor:
      return wrap(*static_cast<const Tensor*>(b.pointer));
    case Kind::Tensors: {
      auto* first = static_cast<const Tensor*>(b.pointer);
      return wrap(std::vector<Tensor>(first, first + b.size));
    }
    case Kind::Scalar:
      return wrap(*static_cast<const Scalar*>(b.pointer));
    case Kind::Int:
      return wrap(b.integer);
    case Kind::Float:
      return wrap(b.real);
    case Kind::Bool:
      return wrap(b.integer != 0);
    case Kind::Ints:
      return wrap_sizes({static_cast<const int64_t*>(b.pointer), b.size});
    case Kind::DType:
      return wrap(static_cast<DType>(b.integer));
    case Kind::Str:
      return PyUnicode_FromStringAndSize(static_cast<const char*>(b.pointer), b.size);
    case Kind::Generator:
      return generator_object(static_cast<Generator*>(const_cast<void*>(b.pointer)));
    case Kind::MemoryFormat:
      return new_ref(memory_format_object(static_cast<MemoryFormat>(b.integer)));
    case Kind::Layout:
      return new_ref(layout_object(static_cast<Layout>(b.integer)));
    case Kind::Device:
      return device_object({static_cast<DeviceType>(b.integer >> 8), static_cast<int8_t>(b.integer & 0xff)});
    default:
      Py_RETURN_NONE;
  }
}

bool any_has(std::span<const Boxed> args, TensorFlag flag) {
  auto has = [&](const Tensor& t) { return t.defined() && t.impl()->has(flag); };
  for (const Boxed& b : args) {
    auto* t = static_cast<const Tensor*>(b.pointer);
    if (b.kind == Boxed::Kind::Tensor && has(*t)) return true;
    if (b.kind == Boxed::Kind::Tensors && std::any_of(t, t + b.size, has)) return true;
  }
  return false;
}

// Calls dispatch(key, [arguments]).
PyRef call_python(PyObject* dispatch, const char* key, std::span<const Boxed> args) {
  PyRef name(check(PyUnicode_InternFromString(key))), list(check(PyList_New(static_cast<Py_ssize_t>(args.size()))));
  for (size_t i = 0; i < args.size(); i++)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), check(unboxed(args[i])));
  PyObject* call[] = {name.get(), list.get()};
  return PyRef(check(PyObject_Vectorcall(dispatch, call, 2, nullptr)));
}

void take_results(PyObject* r, delegated::Results& out) {
  if (is_tensor(r)) {
    out.tensors.push_back(tensor_of(r));
  } else if (PyTuple_Check(r) || PyList_Check(r)) {
    out.tensors = tensor_list_arg(r);
  } else if (r != Py_None) {
    PyRef text(check(PyObject_Str(r)));
    UT_CHECK(PyNumber_Check(r), "Unable to cast ", shown(text.get()), " to Tensor: a __torch_dispatch__ returned it");
    out.number = scalar_arg(r);
  }
}

// A __torch_dispatch__ computes the result. See Note [Dispatched Tensors].
void handle_dispatched(const char* key, std::span<const Boxed> args, delegated::Results& out) {
  static PyObject* dispatch = [] {
    PyRef module(check(PyImport_ImportModule("undertow._aten")));
    return check(PyObject_GetAttrString(module.get(), "dispatch"));
  }();
  {
    ModeGuard no_grad(kNoGrad, true), no_tangents(kNoTangents, true);
    take_results(call_python(dispatch, key, args).get(), out);
  }
  if (std::string_view(key).ends_with('_') || std::string_view(key) == "conj")
    return;  // conj of a real tensor is itself
  // A result that is an argument must be a tensor of its own, because it gets a history.
  for (Tensor& t : out.tensors)
    for (const Boxed& b : args) {
      if (b.kind != Boxed::Kind::Tensor || !t.defined() || !t.is_same(*static_cast<const Tensor*>(b.pointer))) continue;
      Tensor other = alias(t);
      PyRef had(wrap(t));
      if (!is_plain_tensor(had.get())) {
        PyRef copy(check(wrap_as(Py_TYPE(had.get()), other)));
        PyRef attributes(check(PyObject_GenericGetDict(had.get(), nullptr)));
        PyRef own(check(PyObject_GenericGetDict(copy.get(), nullptr)));
        if (PyDict_Update(own.get(), attributes.get()) < 0) throw PythonError();
      }
      t = std::move(other);
      break;
    }
}

// See Note [Formulas Under A Mode]. A formula takes the node and its gradients, and returns a list with a gradient or
// None for each edge, or NotImplemented.
bool apply_formula(Node* node, std::span<Tensor> grad_outputs, std::span<Tensor> grad_inputs) {
  if (node->is_function()) return false;
  uint32_t flags = 0;
  bool any = false;
  for (const Tensor& g : grad_outputs) {
    any |= g.defined();
    if (g.defined()) flags |= g.impl()->flags;
  }
  if (!any || (flags & (kBatched | kSparse))) return false;
  WithGil gil;
  static PyObject* formulas = [] {
    PyRef module(check(PyImport_ImportModule("undertow._aten._formulas")));
    return check(PyObject_GetAttrString(module.get(), "FORMULAS"));
  }();
  PyObject* formula = PyDict_GetItemString(formulas, node->name().c_str());
  if (!formula) return false;
  PyRef args(check(PyTuple_New(static_cast<Py_ssize_t>(grad_outputs.size()) + 1)));
  PyTuple_SET_ITEM(args.get(), 0, check(wrap_node(node)));
  for (size_t i = 0; i < grad_outputs.size(); i++)
    PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i) + 1, check(wrap(grad_outputs[i])));
  PyRef found(check(PyObject_CallObject(formula, args.get())));
  if (found.get() == Py_NotImplemented) return false;
  UT_ASSERT(PyList_Check(found.get()) && PyList_GET_SIZE(found.get()) <= static_cast<Py_ssize_t>(grad_inputs.size()));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(found.get()); i++)
    grad_inputs[static_cast<size_t>(i)] = opt_tensor_arg(PyList_GET_ITEM(found.get(), i));
  return true;
}

// May run on any thread, with or without the GIL: long operators and the engine release it.
void handle(const char* key, std::span<const Boxed> args, delegated::Results& out) {
  WithGil gil;
  if (key[0] != '@' && !any_has(args, kBatched) && !any_has(args, kSparse) &&
      (mode_is(kDispatchMode) || any_has(args, kDispatched)))
    return handle_dispatched(key, args, out);
  ModeGuard below(kOverrides, false);  // rules run below __torch_function__ modes
  PyObject* dispatch = dispatch_function;
  PyRef sparse_dispatch;
  if (key[0] == '@' || (!any_has(args, kBatched) && any_has(args, kSparse))) {
    PyRef module(check(PyImport_ImportModule("undertow.sparse._dispatch")));
    sparse_dispatch = PyRef(check(PyObject_GetAttrString(module.get(), "dispatch")));
    dispatch = sparse_dispatch.get();
  }
  UT_CHECK(dispatch, "vmap: no rules are installed");
  take_results(call_python(dispatch, key, args).get(), out);
}

std::vector<TableOperator>& operators() {
  static auto* table = [] {
    auto* t = new std::vector<TableOperator>;  // leaked: lives as long as the interpreter
    collect_operators(*t);
    return t;
  }();
  return *table;
}

// _operators(): {key: (rule, names of the arguments, index for _call_operator)}
PyObject* list_operators(PyObject*, PyObject*) {
  return guarded([]() -> PyObject* {
    PyRef out(check(PyDict_New()));
    for (size_t i = 0; i < operators().size(); i++) {
      const std::string text = operators()[i].text;
      const size_t rule = text.find(' ') + 1, arguments = text.find(' ', rule) + 1;
      PyRef row(check(Py_BuildValue("(s#sn)", &text[rule], static_cast<Py_ssize_t>(arguments - 1 - rule),
                                    &text[arguments], static_cast<Py_ssize_t>(i))));
      if (PyDict_SetItemString(out.get(), text.substr(0, rule - 1).c_str(), row.get()) < 0) throw PythonError();
    }
    return out.release();
  });
}
// _call_operator(index, arguments): every argument by position, None if it is missing.
PyObject* call_operator(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    UT_CHECK_TYPE(n == 2 && (PyList_CheckExact(args[1]) || PyTuple_CheckExact(args[1])),
                  "_call_operator() takes a number and the arguments");
    size_t i = static_cast<size_t>(int_arg(args[0]));
    PyRef given = snapshot(args[1], "_call_operator(): expected a sequence");
    Py_ssize_t count = PyTuple_GET_SIZE(given.get());
    UT_CHECK(i < operators().size() && count <= kMaxArgs - 8, "_call_operator(): no such operator");
    PyObject* slots[kMaxArgs] = {};
    for (Py_ssize_t k = 0; k < count; k++) slots[k] = PyTuple_GET_ITEM(given.get(), k);
    return operators()[i].call(slots);
  });
}

const Tensor& batched_arg(PyObject* o) {
  UT_CHECK_TYPE(is_tensor(o) && batched::level_of(tensor_of(o)) >= 0, "expected a batched tensor");
  return tensor_of(o);
}
PyObject* make_batched(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    UT_CHECK_TYPE(n == 2 && is_tensor(args[0]), "_make_batched() takes a tensor and a level");
    return wrap(batched::wrap(tensor_of(args[0]), int_arg(args[1])));
  });
}
PyObject* batched_value(PyObject*, PyObject* o) {
  return guarded([&] { return wrap(batched::value_of(batched_arg(o))); });
}
PyObject* batched_level(PyObject*, PyObject* o) {
  return PyLong_FromLongLong(is_tensor(o) ? batched::level_of(tensor_of(o)) : -1);
}
PyObject* refresh_batched(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    batched::refresh(batched_arg(o));
    Py_RETURN_NONE;
  });
}

PyObject* set_dispatch(PyObject*, PyObject* f) {
  Py_XSETREF(dispatch_function, new_ref(f));
  Py_RETURN_NONE;
}
// Set by the transforms that run on this thread; undertow/_vmap/_levels.py updates it.
thread_local bool in_transform = false;
thread_local int64_t newest_grad_level = -1;

// The storages of the tensors among the arguments of a transformed function, and of their tangents.
std::vector<const Storage*> storages_of(PyObject* arguments) {
  std::vector<const Storage*> found;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); i++) {
    PyObject* o = PyTuple_GET_ITEM(arguments, i);
    if (!is_tensor(o)) continue;
    const Tensor& t = batched::physical(tensor_of(o));
    found.push_back(t.impl()->storage);
    if (Tensor tangent = ops::tangent_of(t); tangent.defined())
      found.push_back(batched::physical(tangent).impl()->storage);
  }
  return found;
}

// _set_transforms(inside, random, grads): whether the thread is inside a transformed function, whether random
// operators must ask a vmap, and for each transform that differentiates, its level and a tuple of the arguments.
PyObject* set_transforms(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    UT_CHECK_TYPE(n == 3, "_set_transforms() takes three arguments");
    in_transform = bool_arg(args[0]);
    if (bool_arg(args[1]))
      thread_mode.bits |= kTransform;
    else
      thread_mode.bits &= ~static_cast<uint32_t>(kTransform);
    UT_CHECK_TYPE(PyTuple_Check(args[2]), "_set_transforms() takes a tuple of transforms");
    std::vector<captured::Transform> grads;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[2]); i++) {
      PyObject *number = nullptr, *arguments = nullptr;
      if (!PyArg_ParseTuple(PyTuple_GET_ITEM(args[2], i), "OO!", &number, &PyTuple_Type, &arguments))
        throw PythonError();
      grads.push_back({static_cast<uint32_t>(int_arg(number)), storages_of(arguments)});
    }
    newest_grad_level = grads.empty() ? -1 : static_cast<int64_t>(grads.back().number);
    captured::set_running(std::move(grads));
    Py_RETURN_NONE;
  });
}
PyObject* is_in_transform(PyObject*, PyObject*) { return PyBool_FromLong(in_transform); }

// _reaches_other_leaves(tensor, leaves): does the tensor's graph reach a leaf that requires grad and is not one of
// these?
PyObject* reaches_other_leaves(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    UT_CHECK_TYPE(n == 2 && is_tensor(args[0]) && PyTuple_Check(args[1]),
                  "_reaches_other_leaves() takes a tensor and a tuple of leaves");
    std::unordered_set<const Node*> seen;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[1]); i++)
      if (Edge e = gradient_edge(tensor_of(PyTuple_GET_ITEM(args[1], i))); e && e.node->is_accumulate())
        seen.insert(e.node.get());
    std::vector<const Node*> stack;
    if (Edge e = gradient_edge(tensor_of(args[0])); e && seen.insert(e.node.get()).second)
      stack.push_back(e.node.get());
    while (!stack.empty()) {
      const Node* node = stack.back();
      stack.pop_back();
      if (node->is_accumulate()) {
        if (!static_cast<const AccumulateGrad*>(node)->leaf()->has(kRequiresGrad)) continue;
        Py_RETURN_TRUE;
      }
      for (const Edge& e : node->next_edges())
        if (e && seen.insert(e.node.get()).second) stack.push_back(e.node.get());
    }
    Py_RETURN_FALSE;
  });
}

// _set_dispatch_mode(on): whether a __torch_dispatch__ mode is active on this thread; returns the state before.
PyObject* set_dispatch_mode(PyObject*, PyObject* on) {
  bool before = mode_is(kDispatchMode);
  if (PyObject_IsTrue(on) == 1)
    thread_mode.bits |= kDispatchMode;
  else
    thread_mode.bits &= ~static_cast<uint32_t>(kDispatchMode);
  return PyBool_FromLong(before);
}
// _below_dispatch(tensor): the same memory as a plain tensor, which no __torch_dispatch__ sees.
PyObject* below_dispatch(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    UT_CHECK_TYPE(is_tensor(o), "_below_dispatch() takes a tensor");
    Tensor t = alias(tensor_of(o));
    check_has_memory(t);
    t.impl()->set(kDispatched, false);
    return wrap(std::move(t));
  });
}
// _set_parameter_metaclass(meta): makes the class Parameter an instance of a metaclass that only adds methods to
// `type`.
PyObject* set_metaclass(PyObject*, PyObject* meta) {
  return guarded([&]() -> PyObject* {
    UT_CHECK_TYPE(PyType_Check(meta) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(meta), &PyType_Type) &&
                      reinterpret_cast<PyTypeObject*>(meta)->tp_basicsize == PyType_Type.tp_basicsize,
                  "_set_parameter_metaclass() takes a subclass of type without members of its own");
    Py_INCREF(meta);
    Py_SET_TYPE(reinterpret_cast<PyObject*>(parameter_type), reinterpret_cast<PyTypeObject*>(meta));
    PyType_Modified(parameter_type);
    Py_RETURN_NONE;
  });
}
PyObject* has_no_memory(PyObject*, PyObject* o) {
  return PyBool_FromLong(is_tensor(o) && tensor_of(o).numel() && !tensor_of(o).storage().nbytes());
}
// _is_dispatched(tensor): whether its class has a __torch_dispatch__. _is_dispatched(None): whether a mode is active.
PyObject* is_dispatched(PyObject*, PyObject* o) {
  if (o == Py_None) return PyBool_FromLong(mode_is(kDispatchMode));
  return PyBool_FromLong(is_tensor(o) && tensor_of(o).impl()->has(kDispatched));
}

PyMethodDef functions[] = {
    {"_set_dispatch_mode", set_dispatch_mode, METH_O, nullptr},
    {"_below_dispatch", below_dispatch, METH_O, nullptr},
    {"_is_dispatched", is_dispatched, METH_O, nullptr},
    {"_has_no_memory", has_no_memory, METH_O, nullptr},
    {"_set_parameter_metaclass", set_metaclass, METH_O, nullptr},
    {"_operators", list_operators, METH_NOARGS, nullptr},
    {"_call_operator", reinterpret_cast<PyCFunction>(call_operator), METH_FASTCALL, nullptr},
    {"_make_batched", reinterpret_cast<PyCFunction>(make_batched), METH_FASTCALL, nullptr},
    {"_batched_value", batched_value, METH_O, nullptr},
    {"_batched_level", batched_level, METH_O, nullptr},
    {"_refresh_batched", refresh_batched, METH_O, nullptr},
    {"_set_batched_dispatch", set_dispatch, METH_O, nullptr},
    {"_set_transforms", reinterpret_cast<PyCFunction>(set_transforms), METH_FASTCALL, nullptr},
    {"_is_in_transform", is_in_transform, METH_NOARGS, nullptr},
    {"_reaches_other_leaves", reinterpret_cast<PyCFunction>(reaches_other_leaves), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void check_has_memory(const Tensor& t) {
  UT_CHECK(
      !t.is_sparse(),
      "Cannot access data pointer of Tensor that doesn't have storage: this one is sparse; use to_dense() or values()");
  UT_CHECK(!t.impl()->has(kBatched),
           "Cannot access data pointer of Tensor that doesn't have storage: a tensor under vmap represents one of "
           "many samples");
  UT_CHECK(!t.impl()->has(kDispatched) || t.storage().nbytes() > 0 || !t.numel(),
           "Cannot access data pointer of Tensor that doesn't have storage: a wrapper of other tensors has no memory");
}

bool batched_requires_grad(const Tensor& t) {
  // Inside the function, its tensors require grad only for a transform that started after the vmap.
  if (newest_grad_level < batched::level_of(t)) return false;
  return batched::physical(t).requires_grad();
}

void check_not_in_transform(const char* what) {
  UT_CHECK(
      !in_transform, "You are attempting to call ", what,
      " inside of a function being transformed by a functorch transform: "
      "use the transforms of undertow.func (grad, vjp, jacrev, jacfwd, hessian), or call it outside of the function");
}

bool init_transform_functions(PyObject* module) {
  delegated::handler = handle;
  apply_under_mode = apply_formula;
  return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace undertow::core::python
