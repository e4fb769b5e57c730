// tensor_methods.cpp: hand-written methods of Tensor about its dtype, memory and class: type, numpy, storage,
// as_subclass.
#include "core/autograd/formulas/shape/shape.h"
#include "core/autograd/views/inplace.h"
#include "core/graph/diagnostics/provenance.h"
#include "core/python/arguments/convert.h"
#include "core/python/arguments/overridable.h"
#include "core/python/arguments/safe_read.h"
#include "core/python/errors.h"
#include "core/python/interop/cuda_functions.h"
#include "core/python/interop/numpy_bridge.h"
#include "core/python/printed_name.h"
#include "core/python/tensor/tensor_attributes.h"
#include "core/python/tensor/tensor_data.h"
#include "core/python/types/shared_memory.h"
#include "core/python/types/storage_object.h"
#include "core/tensor/dtype/promotion.h"
#include "core/tensor/layout.h"
#include "generated/ops.h"

namespace undertow::core::python {

namespace {

// ---- type ----

PyObject* cast(PyObject* self, DType dtype) { return wrap(ops::to_dtype(tensor_of(self), dtype)); }
std::string type_name(const Tensor& t) {
  std::string place = t.is_cpu() ? "" : str(name(t.device().type), ".");
  if (t.is_sparse()) place += "sparse.";
  return str(printed_package(), ".", place, long_name(t.dtype()), "Tensor");
}
// type() returns a name such as 'undertow.FloatTensor'; type(dtype) converts, and moves to the GPU if the name of a
// type says so.
PyObject* type_method(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* wanted = Py_None;
    int non_blocking = 0;
    static const char* names[] = {"dtype", "non_blocking", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|Op", const_cast<char**>(names), &wanted, &non_blocking))
      throw PythonError();
    if (wanted == Py_None) return PyUnicode_FromString(type_name(tensor_of(self)).c_str());
    if (accepts_as_dtype(wanted)) return cast(self, dtype_of(wanted));
    if (wanted == reinterpret_cast<PyObject*>(tensor_type)) return cast(self, default_dtype());
    UT_CHECK_VALUE(!PyType_Check(wanted) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(wanted), tensor_type),
                   "invalid type: '", reinterpret_cast<PyTypeObject*>(wanted)->tp_name, "'");
    PyRef text(PyUnicode_Check(wanted) ? new_ref(wanted) : nullptr);
    if (!text) {  // a legacy class such as undertow.FloatTensor has a dtype
      UT_CHECK_TYPE(PyObject_HasAttrString(wanted, "dtype"), "dtype must be a type, str, or dtype object, not ",
                    Py_TYPE(wanted)->tp_name);
      PyRef dtype(check(PyObject_GetAttrString(wanted, "dtype")));
      return cast(self, dtype_arg(dtype.get()));
    }
    std::string_view name = utf8(text.get());
    Device place = tensor_of(self).device();
    std::string dense(name);  // a name such as torch.sparse.FloatTensor changes the dtype only, as in torch
    if (size_t at = dense.find(".sparse."); at != std::string::npos) dense.erase(at, 7);
    if (size_t at = dense.find(".cuda."); at != std::string::npos) {
      dense.erase(at, 5);
      if (place.type != DeviceType::CUDA) place = cuda_device({.type = DeviceType::CUDA});
    } else {
      place = kCpu;
    }
    for (int i = 0; i < kNumDTypes; i++)
      if (dense == str("undertow.", kDTypeInfo[i].long_name, "Tensor") ||
          dense == str("torch.", kDTypeInfo[i].long_name, "Tensor"))
        return wrap(ops::to_place(tensor_of(self), static_cast<DType>(i), place));
    UT_FAIL_AS(Value, "invalid type: '", name, "'");
  });
}

// ---- NumPy ----

PyObject* numpy(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    int force = 0;
    static const char* names[] = {"force", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$p", const_cast<char**>(names), &force)) throw PythonError();
    Tensor t = tensor_of(self);
    if (force && !t.is_cpu()) {
      NoGradGuard no_grad;
      t = ops::cpu(t, std::nullopt);
    }
    UT_CHECK_TYPE(t.is_cpu(), "can't convert ", t.device(),
                  " device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.");
    UT_CHECK(force || !t.requires_grad() || !grad_enabled(),
             "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
    if (UT_UNLIKELY(mode_is(kProvenance))) provenance::note_exit("numpy", t);
    // An array cannot share memory with these views, and a copy would not see later writes.
    UT_CHECK(force || !t.is_conj(),
             "Can't call numpy() on Tensor that has conjugate bit set. Use tensor.resolve_conj().numpy() instead.");
    UT_CHECK(force || !t.is_neg(),
             "Can't call numpy() on Tensor that has negative bit set. Use tensor.resolve_neg().numpy() instead.");
    NoGradGuard no_grad;
    return to_ndarray(ops::resolve_neg(ops::resolve_conj(t)));
  });
}

// ---- storage ----

PyObject* untyped_storage(PyObject* self, PyObject*) {
  return guarded([&] {
    check_has_memory(tensor_of(self));
    return storage_object(Ref<Storage>(tensor_of(self).impl()->storage));
  });
}
// set_(), set_(tensor), set_(storage), set_(storage, offset, size, stride=())
PyObject* set_(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject *source = nullptr, *offset = nullptr, *size = nullptr, *stride = nullptr;
    static const char* names[] = {"source", "storage_offset", "size", "stride", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOOO", const_cast<char**>(names), &source, &offset, &size,
                                     &stride))
      throw PythonError();
    const Tensor& t = tensor_of(self);
    check_has_memory(t);
    if (source && is_tensor(source)) check_has_memory(tensor_of(source));
    ops::check_inplace(t, "set_", grad_enabled() && t.requires_grad());
    UT_CHECK(!grad_enabled() || !t.requires_grad(), "derivative for set_ is not implemented");
    if (!source) {
      set_storage(t, Storage::allocate(0), Dims{0}, Dims{1}, 0);
    } else if (is_tensor(source) && !size) {
      const Tensor& from = tensor_of(source);
      UT_CHECK(from.dtype() == t.dtype(), "Could not set tensor of type ", from.dtype(), " to a tensor of type ",
               t.dtype());
      set_storage(t, Ref<Storage>(from.impl()->storage), from.sizes(), from.strides(), from.storage_offset());
    } else {
      PyRef untyped;
      if (!is_storage(source) && !is_tensor(source) && PyObject_HasAttrString(source, "untyped")) {
        PyRef typed(check(PyObject_GetAttrString(source, "dtype")));  // a TypedStorage
        UT_CHECK(dtype_of(typed.get()) == t.dtype(), "Expected a Storage of type ", long_name(t.dtype()),
                 " or an UntypedStorage, but got type ", long_name(dtype_of(typed.get())), " for argument 1 'storage'");
        untyped = PyRef(check(PyObject_CallMethod(source, "untyped", nullptr)));
        source = untyped.get();
      }
      UT_CHECK_TYPE(is_storage(source) || is_tensor(source),
                    "set_() received an invalid combination of arguments: expected a storage or a tensor, got ",
                    Py_TYPE(source)->tp_name);
      Ref<Storage> s = is_tensor(source) ? Ref<Storage>(tensor_of(source).impl()->storage) : storage_of(source);
      int64_t at = offset ? int_arg(offset) : 0;
      Dims sizes = size ? ints_arg(size) : Dims{static_cast<int64_t>(s->nbytes()) / t.itemsize()};
      Dims strides = stride ? ints_arg(stride) : Dims();
      if (strides.empty()) strides = contiguous_strides(sizes);
      set_storage(t, std::move(s), sizes, strides, at);
    }
    return new_ref(self);
  });
}
PyObject* is_set_to(PyObject* self, PyObject* other) {
  return guarded([&]() -> PyObject* {
    UT_CHECK_TYPE(is_tensor(other), "is_set_to(): argument 'tensor' (position 1) must be Tensor, not ",
                  Py_TYPE(other)->tp_name);
    const Tensor &a = tensor_of(self), &b = tensor_of(other);
    return PyBool_FromLong(a.impl()->storage == b.impl()->storage && a.storage_offset() == b.storage_offset() &&
                           same(a.sizes(), b.sizes()) && same(a.strides(), b.strides()));
  });
}
PyObject* is_same_size(PyObject* self, PyObject* other) {
  return guarded([&]() -> PyObject* {
    UT_CHECK_TYPE(is_tensor(other), "is_same_size(): argument 'other' (position 1) must be Tensor, not ",
                  Py_TYPE(other)->tp_name);
    return PyBool_FromLong(same(tensor_of(self).sizes(), tensor_of(other).sizes()));
  });
}
PyObject* get_device(PyObject* self, PyObject*) { return PyLong_FromLong(tensor_of(self).device().index); }
PyObject* is_shared_method(PyObject* self, PyObject*) {
  const Storage& s = tensor_of(self).storage();
  return PyBool_FromLong(is_shared(s) || s.device().type == DeviceType::CUDA);
}
// The device that the memory is pinned for need not be named: there is one kind.
PyObject* is_pinned_method(PyObject* self, PyObject*, PyObject*) {
  return guarded([&] { return PyBool_FromLong(is_pinned(tensor_of(self).storage())); });
}
PyObject* pin_memory(PyObject* self, PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_of(self);
    check_has_memory(t);
    UT_CHECK(t.is_cpu(), "cannot pin '", type_name(t), "' only dense CPU tensors can be pinned");
    if (is_pinned(t.storage())) return new_ref(self);
    NoGradGuard no_grad;
    Tensor copy = ops::clone(ops::detach(t), MemoryFormat::Preserve);
    pin(copy.storage());
    return wrap(std::move(copy));
  });
}

// ---- Python functions over elements ----

void check_plain(const Tensor& t, const char* name) {
  UT_CHECK(!t.requires_grad() || !grad_enabled(), "Can't call ", name,
           "() on Variable that requires grad. Use var.detach().", name, "() instead.");
}
PyObject* apply_(PyObject* self, PyObject* f) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_of(self);
    check_plain(t, "apply_");
    for_each_element(t, [&](char* p) {
      PyRef x(element_object(p, t.dtype())), r(check(PyObject_CallOneArg(f, x.get())));
      store_element(p, t.dtype(), r.get());
    });
    t.bump_version("apply_");
    return new_ref(self);
  });
}
PyObject* map_(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject *other, *f;
    static const char* names[] = {"tensor", "callable", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO", const_cast<char**>(names), &other, &f)) throw PythonError();
    const Tensor& t = tensor_of(self);
    check_plain(t, "map_");
    UT_CHECK_TYPE(is_tensor(other), "map_(): argument 'tensor' (position 1) must be Tensor, not ",
                  Py_TYPE(other)->tp_name);
    UT_CHECK_TYPE(tensor_of(other).dtype() == t.dtype(), "map_: expected ", t.dtype(), " for argument 'other' (got ",
                  tensor_of(other).dtype(), ")");
    Tensor o = ops::expand(tensor_of(other), t.sizes(), false);
    std::vector<char*> places;
    for_each_element(o, [&](char* p) { places.push_back(p); });
    size_t i = 0;
    for_each_element(t, [&](char* p) {
      PyRef x(element_object(p, t.dtype())), y(element_object(places[i++], t.dtype()));
      PyRef r(check(PyObject_CallFunctionObjArgs(f, x.get(), y.get(), nullptr)));
      store_element(p, t.dtype(), r.get());
    });
    t.bump_version("map_");
    return new_ref(self);
  });
}

// ---- classes ----

PyTypeObject* class_arg(PyObject* o, const char* name) {
  UT_CHECK_TYPE(PyType_Check(o), "cls must be a type (got ", Py_TYPE(o)->tp_name, ")");
  auto* type = reinterpret_cast<PyTypeObject*>(o);
  UT_CHECK_TYPE(PyType_IsSubtype(type, tensor_type),
                "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. ", name,
                " got ", type->tp_name);
  return type;
}
// The same values and history, as an instance of cls.
PyObject* as_subclass(PyObject* self, PyObject* cls) {
  return guarded([&]() -> PyObject* {
    PyTypeObject* type = class_arg(cls, "as_subclass");
    const Tensor& t = tensor_of(self);
    Tensor made = ops::_alias(t);
    if (made.impl()->pyobj) made = alias(made);  // a __torch_dispatch__ returned it
    return wrap_as(type, std::move(made));
  });
}
// _make_subclass(cls, data, require_grad=False): a leaf on data's memory.
PyObject* make_subclass(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject *cls, *data;
    int requires_grad = 0;
    static const char* names[] = {"cls", "data", "require_grad", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|p", const_cast<char**>(names), &cls, &data, &requires_grad))
      throw PythonError();
    PyTypeObject* type = class_arg(cls, "_make_subclass");
    UT_CHECK_TYPE(is_tensor(data), "_make_subclass(): argument 'data' (position 2) must be Tensor, not ",
                  Py_TYPE(data)->tp_name);
    Tensor t = alias(tensor_of(data));
    if (t.storage().nbytes() > 0) t.impl()->set(kDispatched, false);  // attach() sets it for the class
    UT_CHECK(!requires_grad || is_differentiable(t.dtype()),
             "Only Tensors of floating point and complex dtype can require gradients, but the dtype is ", t.dtype());
    if (requires_grad) t.impl()->set(kRequiresGrad);
    return wrap_as(type, std::move(t));
  });
}
// _become(cls): makes this object a plain Tensor or Parameter. Assigning __class__ does not work for types defined in
// C.
PyObject* become(PyObject* self, PyObject* cls) {
  return guarded([&]() -> PyObject* {
    PyTypeObject *type = class_arg(cls, "_become"), *old = Py_TYPE(self);
    UT_CHECK_TYPE(type == tensor_type || type == parameter_type, "_become: expected Tensor or Parameter, got ",
                  type->tp_name);
    UT_CHECK_TYPE(old->tp_basicsize == type->tp_basicsize, "_become: a ", old->tp_name, " has more state than a ",
                  type->tp_name);
    TensorImpl* impl = tensor_of(self).impl();
    impl->set(kIsParameter, type == parameter_type);
    impl->set(kPySubclass, false);
    Py_INCREF(type);
    Py_SET_TYPE(self, type);
    Py_DECREF(old);
    Py_RETURN_NONE;
  });
}
// _make_wrapper_subclass(cls, size, ...): a tensor with sizes, strides, dtype and device, but without memory. See
// Note [Dispatched Tensors].
PyObject* make_wrapper_subclass(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject *cls, *size, *strides = nullptr, *offset = nullptr, *format = nullptr, *dtype = nullptr, *layout = nullptr,
                          *device = nullptr, *ignored = nullptr;
    int pinned = 0, requires_grad = 0, device_by_class = 0, layout_by_class = 0;
    static const char* names[] = {"cls",
                                  "size",
                                  "strides",
                                  "storage_offset",
                                  "memory_format",
                                  "dtype",
                                  "layout",
                                  "device",
                                  "pin_memory",
                                  "requires_grad",
                                  "dispatch_sizes_strides_policy",
                                  "dispatch_device",
                                  "dispatch_layout",
                                  "_extra_dispatch_keys",
                                  "storage_size",
                                  nullptr};
    PyObject* policy = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OOOOOOppOppOO", const_cast<char**>(names), &cls, &size, &strides,
                                     &offset, &format, &dtype, &layout, &device, &pinned, &requires_grad, &policy,
                                     &device_by_class, &layout_by_class, &ignored, &ignored))
      throw PythonError();
    PyTypeObject* type = class_arg(cls, "_make_wrapper_subclass");
    UT_CHECK_TYPE(has_dispatch(type), type->tp_name,
                  " must define __torch_dispatch__: a tensor without memory can only be used through it");
    DType t = dtype && dtype != Py_None ? dtype_arg(dtype) : default_dtype();
    UT_CHECK(!requires_grad || is_differentiable(t),
             "Only Tensors of floating point and complex dtype can require gradients, but the dtype is ", t);
    Dims sizes = ints_arg(size);
    for (int64_t s : sizes)
      UT_CHECK(s >= 0, "Trying to create tensor with negative dimension ", s, ": ", ShapeText{sizes});
    auto* impl = new TensorImpl;
    Tensor made = Tensor::adopt(impl);
    impl->dtype = t;
    impl->set_device(device_or_default(device));
    if (strides && strides != Py_None) {
      Dims given = ints_arg(strides);
      UT_CHECK(given.size() == sizes.size(), "_make_wrapper_subclass: ", sizes.size(), " sizes and ", given.size(),
               " strides");
      impl->set_layout(sizes, given);
    } else {
      impl->set_sizes(sizes);
    }
    impl->offset = offset && offset != Py_None ? int_arg(offset) : 0;
    impl->storage = Storage::borrow(nullptr, 0, [](void*) {}, nullptr).leak();
    impl->set(kRequiresGrad, requires_grad);
    return wrap_as(type, std::move(made));
  });
}

}  // namespace

void add_more_tensor_methods(std::vector<PyMethodDef>& m) {
  constexpr int kw = METH_VARARGS | METH_KEYWORDS;
  m.insert(
      m.end(),
      {method<"type", type_method>(kw, "The name of the tensor's type, or a conversion."),
       method<"numpy", numpy>(kw, "A NumPy array over the same memory."),
       method<"untyped_storage", untyped_storage>(METH_NOARGS, "The storage of the tensor, as bytes."),
       method<"set_", set_>(kw, "Makes the tensor use another storage."),
       method<"is_set_to", is_set_to>(METH_O, "Return True if both tensors have the same memory, shape and strides."),
       method<"is_same_size", is_same_size>(METH_O, "Return True if both tensors have the same shape."),
       method<"get_device", get_device>(METH_NOARGS, "Return the device index; -1 for the CPU."),
       method<"is_shared", is_shared_method>(METH_NOARGS, "Return True if the memory is shared with forked processes."),
       method<"is_pinned", is_pinned_method>(kw, "Return True if a GPU can copy the memory directly."),
       method<"pin_memory", pin_memory>(kw, "A copy in memory of the host that a GPU can copy directly."),
       method<"apply_", apply_>(METH_O, "Replaces each element x by callable(x); slow."),
       method<"map_", map_>(kw, "Replaces each element x by callable(x, y), y of another tensor; slow."),
       // Without an override, as in torch: a subclass gets its plain tensor with it, inside its own __torch_function__
       // too.
       {"as_subclass", as_subclass, METH_O, "The same values and history as an instance of a subclass."},
       {"_become", become, METH_O, nullptr},
       {"_make_subclass", reinterpret_cast<PyCFunction>(make_subclass), kw | METH_STATIC, nullptr},
       {"_make_wrapper_subclass", reinterpret_cast<PyCFunction>(make_wrapper_subclass), kw | METH_STATIC, nullptr}});
}

}  // namespace undertow::core::python
