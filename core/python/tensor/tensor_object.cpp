// tensor_object.cpp: creating, finding, resurrecting and collecting Tensor objects.
#include "core/python/tensor/tensor_object.h"

#include <structmember.h>

#include <cstring>

#include <vector>

#include "core/graph/autograd_meta.h"
#include "core/python/arguments/args.h"
#include "core/python/autograd/function_object.h"
#include "core/python/autograd/hooks_object.h"
#include "core/python/cpython_versions.h"
#include "core/python/errors.h"
#include "core/python/tensor/tensor_attributes.h"
#include "core/python/tensor/tensor_protocols.h"

namespace undertow::core::python {

PyTypeObject* tensor_type = nullptr;
PyTypeObject* parameter_type = nullptr;

namespace {

TensorObject* as_object(PyObject* o) { return reinterpret_cast<TensorObject*>(o); }

// Plain tensors are created and freed by the million, so their objects come from a short free list instead of the
// allocator. An object on the list keeps its reference to the type.
constexpr int kFreeListMax = 256;
TensorObject* free_list[kFreeListMax];
int free_count = 0;

TensorObject* allocate_fresh(PyTypeObject* type) {
  // Not tp_alloc: the garbage collector would track the object, which is needed only once it can be part of a cycle.
  auto* o = reinterpret_cast<TensorObject*>(PyObject_GC_New(TensorObject, type));
  if (!o) throw PythonError();
  size_t size = static_cast<size_t>(type->tp_basicsize);  // larger if the class has __slots__
  if (size > sizeof(TensorObject))
    std::memset(reinterpret_cast<char*>(o) + sizeof(TensorObject), 0, size - sizeof(TensorObject));
  return o;
}

UT_HOT_INLINE TensorObject* allocate(PyTypeObject* type) {
  if (UT_UNLIKELY(type != tensor_type || free_count == 0)) return allocate_fresh(type);
  TensorObject* o = free_list[--free_count];
  Py_SET_REFCNT(reinterpret_cast<PyObject*>(o), 1);
  return o;
}

void dealloc(PyObject* self);

UT_HOT_INLINE PyObject* attach(PyTypeObject* type, Tensor t) {
  TensorObject* o = allocate(type);
  o->dict = o->weakrefs = o->backward_hooks = nullptr;
  o->tracked = false;
  TensorImpl* impl = t.impl();
  impl->pyobj = o;
  new (&o->tensor) Tensor(std::move(t));
  if (UT_UNLIKELY(type != tensor_type)) {
    // Classes defined in Python get a dealloc that finalises the object before ours could reverse ownership.
    if (type->tp_dealloc != dealloc) type->tp_dealloc = dealloc;
    impl->set(type == parameter_type ? kIsParameter : kPySubclass);
    if (type != parameter_type && has_dispatch(type)) impl->set(kDispatched);
    track(reinterpret_cast<PyObject*>(o));
  }
  return reinterpret_cast<PyObject*>(o);
}

// The last C++ owner releases an impl that owns its Python object.
void release_from_cpp(TensorImpl* impl) {
  if (!Py_IsInitialized()) return;  // at exit: the object can only be leaked
  WithGil gil;
  auto* o = static_cast<TensorObject*>(impl->pyobj);
  impl->set(kPyOwned, false);
  impl->refs.store(1, std::memory_order_relaxed);
  new (&o->tensor) Tensor(Ref<TensorImpl>::adopt(impl));
  Py_DECREF(o);  // the object owns the impl again: an ordinary release
}

bool is_recognisable(TensorObject* o) {
  PyObject* self = reinterpret_cast<PyObject*>(o);
  return Py_TYPE(self) != tensor_type || o->dict || o->weakrefs || o->backward_hooks;
}

// Clears the members that a subclass declares in __slots__.
void clear_slots(PyObject* self) {
  for (PyTypeObject* type = Py_TYPE(self); type && type != tensor_type; type = type->tp_base) {
    if (type->tp_basicsize == type->tp_base->tp_basicsize) continue;
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(type->tp_dict, &at, &key, &value);) {
      if (Py_TYPE(value) != &PyMemberDescr_Type) continue;
      PyMemberDef* m = reinterpret_cast<PyMemberDescrObject*>(value)->d_member;
      if (m->type == T_OBJECT_EX && !(m->flags & READONLY))
        Py_CLEAR(*reinterpret_cast<PyObject**>(reinterpret_cast<char*>(self) + m->offset));
    }
  }
}

void dealloc(PyObject* self) {
  TensorObject* o = as_object(self);
  TensorImpl* impl = o->tensor.impl();
  if (impl && impl->use_count() > 1 && is_recognisable(o)) {
    // The impl has another owner and the object is recognisable, so the impl keeps the object.
    Py_SET_REFCNT(self, 1);
    impl->set(kPyOwned);
    // o->tensor still points to the impl, without a reference: a weak reference may still bring the object back.
    if (impl->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    // Meanwhile the other owner released the impl on another thread: ours was the last reference.
    impl->refs.store(1, std::memory_order_relaxed);
    impl->set(kPyOwned, false);
    Py_SET_REFCNT(self, 0);
  }
  if (UT_UNLIKELY(!is_plain_tensor(self))) {
    if (Py_TYPE(self)->tp_finalize && PyObject_CallFinalizerFromDealloc(self) < 0) return;  // __del__ resurrected it
    clear_slots(self);
  }
  if (UT_UNLIKELY(o->tracked)) PyObject_GC_UnTrack(self);
  if (UT_UNLIKELY(o->weakrefs || o->dict || o->backward_hooks)) {
    if (o->weakrefs) PyObject_ClearWeakRefs(self);
    Py_CLEAR(o->dict);
    Py_CLEAR(o->backward_hooks);
  }
  if (impl) impl->pyobj = nullptr;
  PyTypeObject* type = Py_TYPE(self);
  o->tensor.~Tensor();
  if (type == tensor_type && free_count < kFreeListMax) {
    free_list[free_count++] = o;
    return;
  }
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

bool owns_alone(TensorImpl* impl) { return impl && !impl->has(kPyOwned) && impl->use_count() == 1; }

// What the collector visits: the attributes and, if this object is the impl's only owner, the hooks and gradient that
// are destroyed with it.
int traverse(PyObject* self, visitproc visit, void* arg) {
  TensorObject* o = as_object(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(o->dict);
  Py_VISIT(o->backward_hooks);
  TensorImpl* impl = o->tensor.impl();
  if (!owns_alone(impl)) return 0;
  if (impl->grad_fn)
    if (int r = visit_owned_graph(impl->grad_fn, visit, arg)) return r;
  if (impl->meta) {
    if (int r = visit_leaf_hooks(*impl->meta, visit, arg)) return r;
    if (impl->meta->py_hooks) Py_VISIT(static_cast<PyObject*>(impl->meta->py_hooks));
    if (impl->meta->grad.defined())
      if (int r = visit_owned_tensor(impl->meta->grad.impl(), visit, arg)) return r;
  }
  return 0;
}

int clear(PyObject* self) {
  TensorObject* o = as_object(self);
  Py_CLEAR(o->dict);
  Py_CLEAR(o->backward_hooks);
  TensorImpl* impl = o->tensor.impl();
  if (!owns_alone(impl)) return 0;
  if (Node* fn = impl->grad_fn; fn && fn->use_count() == 1 && fn->extra()) clear_node_hooks(fn);
  if (impl->meta) {
    // Moved out first: dropping a hook may run Python code that uses this tensor.
    auto hooks = std::move(impl->meta->hooks);
    auto post = std::move(impl->meta->post_accumulate_hooks);
    Tensor grad = std::move(impl->meta->grad);
  }
  return 0;
}

// Tensor(...), as in torch: a float32 tensor from sizes or data; subclasses use it too.
PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    Tensor t = legacy_constructor(args, kwargs);
    if (t.impl()->pyobj) t = alias(t);
    return attach(type, std::move(t));
  });
}
int tensor_init(PyObject*, PyObject*, PyObject*) { return 0; }

// Parameter.__new__(cls, ...). Python's own wrapper of a C constructor raises if the class attribute was replaced, as a
// mock does.
PyObject* parameter_new_named(PyObject*, PyObject* args, PyObject* kwargs) {
  PyObject* type = PyTuple_GET_SIZE(args) ? PyTuple_GET_ITEM(args, 0) : nullptr;
  if (!type || !PyType_Check(type) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), parameter_type)) {
    PyErr_SetString(PyExc_TypeError, "Parameter.__new__(): first argument must be Parameter or a subclass of it");
    return nullptr;
  }
  PyRef rest(PyTuple_GetSlice(args, 1, PyTuple_GET_SIZE(args)));
  return rest ? parameter_new(reinterpret_cast<PyTypeObject*>(type), rest.get(), kwargs) : nullptr;
}
PyMethodDef parameter_new_def = {"__new__",
                                 reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(parameter_new_named)),
                                 METH_VARARGS | METH_KEYWORDS, "Creates and returns a new object."};

PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(TensorObject, dict), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weakrefs), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

// Attributes make cycles possible, so after the first one the collector tracks the object.
int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  int r = PyObject_GenericSetAttr(self, name, value);
  if (as_object(self)->dict) track(self);
  return r;
}

}  // namespace

void track(PyObject* self) {
  if (as_object(self)->tracked) return;
  as_object(self)->tracked = true;
  PyObject_GC_Track(self);
}

// x.__dict__ lets the caller create a cycle.
PyObject* get_tensor_dict(PyObject* self, void*) {
  PyObject* d = PyObject_GenericGetDict(self, nullptr);
  if (d) track(self);
  return d;
}
int set_tensor_dict(PyObject* self, PyObject* value, void*) {
  int r = PyObject_GenericSetDict(self, value, nullptr);
  if (as_object(self)->dict) track(self);
  return r;
}

PyObject* wrap(Tensor t) {
  if (UT_UNLIKELY(!t.defined())) Py_RETURN_NONE;
  TensorImpl* impl = t.impl();
  if (UT_UNLIKELY(impl->pyobj != nullptr)) {
    auto* o = static_cast<TensorObject*>(impl->pyobj);
    if (impl->has(kPyOwned)) {
      impl->set(kPyOwned, false);
      new (&o->tensor) Tensor(std::move(t));
      return reinterpret_cast<PyObject*>(o);  // the impl's reference goes to the caller
    }
    return new_ref(reinterpret_cast<PyObject*>(o));
  }
  return attach(tensor_type, std::move(t));
}

bool has_dispatch(PyTypeObject* type) {
  static PyObject* name = PyUnicode_InternFromString("__torch_dispatch__");
  PyObject *f = lookup_in_type(type, name), *off = lookup_in_type(tensor_type, name);
  return f && f != off && f != Py_None;
}

PyObject* wrap_as(PyTypeObject* type, Tensor t) {
  UT_ASSERT(!t.impl()->pyobj);
  return attach(type, std::move(t));
}

bool init_tensor_type(PyObject* module) {
  release_python_object = release_from_cpp;
  std::vector<PyMethodDef> methods;
  std::vector<ModuleFunction> functions;
  collect_bindings(methods, functions);
  add_tensor_methods(methods);
  methods.push_back({nullptr, nullptr, 0, nullptr});
  auto* kept = new std::vector<PyMethodDef>(std::move(methods));  // leaked: the type points into it

  std::vector<PyType_Slot> slots = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                                    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                                    {Py_tp_clear, reinterpret_cast<void*>(clear)},
                                    {Py_tp_new, reinterpret_cast<void*>(tensor_new)},
                                    {Py_tp_init, reinterpret_cast<void*>(tensor_init)},
                                    {Py_tp_methods, kept->data()},
                                    {Py_tp_members, members},
                                    {Py_tp_getset, tensor_getset()},
                                    {Py_tp_setattro, reinterpret_cast<void*>(set_attribute)},
                                    {Py_tp_doc, const_cast<char*>("A strided array that remembers how it was made.")}};
  add_tensor_protocols(slots);
  slots.push_back({0, nullptr});
  PyType_Spec spec = {"undertow.Tensor", sizeof(TensorObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots.data()};
  tensor_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!tensor_type || PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(tensor_type)) < 0)
    return false;

  PyType_Slot parameter_slots[] = {{Py_tp_new, reinterpret_cast<void*>(parameter_new)}, {0, nullptr}};
  PyType_Spec parameter_spec = {"undertow.nn.Parameter", sizeof(TensorObject), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, parameter_slots};
  parameter_type = reinterpret_cast<PyTypeObject*>(
      PyType_FromSpecWithBases(&parameter_spec, reinterpret_cast<PyObject*>(tensor_type)));
  if (!parameter_type || PyModule_AddObjectRef(module, "Parameter", reinterpret_cast<PyObject*>(parameter_type)) < 0)
    return false;
  PyRef constructor(PyCFunction_New(&parameter_new_def, nullptr));
  if (!constructor || PyDict_SetItemString(parameter_type->tp_dict, "__new__", constructor.get()) < 0) return false;
  PyType_Modified(parameter_type);

  for (ModuleFunction& f : functions) {
    auto* def =
        new PyMethodDef{f.function->name, reinterpret_cast<PyCFunction>(f.call), METH_FASTCALL | METH_KEYWORDS, f.doc};
    PyObject* fn = PyCFunction_NewEx(def, nullptr, nullptr);
    if (!fn) return false;
    f.function->public_function = fn;
    std::string attribute = f.module[0] ? str(f.module, ".", def->ml_name) : def->ml_name;
    // Operators are in one flat table `_ops`, by dotted name; the Python package puts them where torch has them.
    PyRef table(PyObject_GetAttrString(module, "_ops"));
    if (!table) {
      PyErr_Clear();
      table = PyRef(PyDict_New());
      if (PyModule_AddObjectRef(module, "_ops", table.get()) < 0) return false;
    }
    if (PyDict_SetItemString(table.get(), attribute.c_str(), fn) < 0) return false;
  }
  return true;
}

}  // namespace undertow::core::python
