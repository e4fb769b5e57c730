// tensor_attributes.cpp: see tensor_attributes.h.
#include "core/python/tensor/tensor_attributes.h"

#include "core/autograd/formulas/shape/shape.h"
#include "core/autograd/tensor_state.h"
#include "core/forward/create/create.h"
#include "core/graph/accumulate_grad.h"
#include "core/graph/autograd_meta.h"
#include "core/graph/forward_level.h"
#include "core/graph/saved_tensor.h"
#include "core/python/arguments/convert.h"
#include "core/python/arguments/overridable.h"
#include "core/python/autograd/hooks_object.h"
#include "core/python/autograd/node_object.h"
#include "core/python/errors.h"
#include "core/python/tensor/tensor_data.h"
#include "core/tensor/dtype/promotion.h"
#include "core/tensor/layout.h"
#include "core/tensor/mode.h"
#include "core/tensor/sparse.h"
#include "generated/ops.h"

namespace undertow::core::python {

namespace {

const Tensor& self_of(PyObject* o) { return tensor_of(o); }
template <class F>
PyObject* attribute(F&& f) {
  return guarded([&]() -> PyObject* { return f(); });
}
int guarded_setter(auto&& f) {
  try {
    f();
    return 0;
  } catch (...) {
    set_python_error();
    return -1;
  }
}

PyObject* get_shape(PyObject* s, void*) {
  return attribute([&] { return wrap_sizes(self_of(s).sizes()); });
}
PyObject* get_dtype(PyObject* s, void*) { return new_ref(dtype_object(self_of(s).dtype())); }
PyObject* is_cpu(PyObject* s, void*) { return PyBool_FromLong(self_of(s).is_cpu()); }
PyObject* is_cuda(PyObject* s, void*) { return PyBool_FromLong(self_of(s).device().type == DeviceType::CUDA); }
PyObject* is_meta(PyObject* s, void*) { return PyBool_FromLong(self_of(s).is_meta()); }
PyObject* get_device(PyObject* s, void*) { return device_object(self_of(s).device()); }
PyObject* get_layout(PyObject* s, void*) { return new_ref(layout_object(layout_of(self_of(s)))); }
PyObject* is_sparse(PyObject* s, void*) { return PyBool_FromLong(layout_of(self_of(s)) == Layout::SparseCoo); }
PyObject* is_sparse_csr(PyObject* s, void*) { return PyBool_FromLong(layout_of(self_of(s)) == Layout::SparseCsr); }
PyObject* get_ndim(PyObject* s, void*) { return PyLong_FromLongLong(self_of(s).dim()); }
PyObject* get_itemsize(PyObject* s, void*) { return PyLong_FromLongLong(self_of(s).itemsize()); }
PyObject* get_nbytes(PyObject* s, void*) { return PyLong_FromLongLong(self_of(s).nbytes()); }
PyObject* get_requires_grad(PyObject* s, void*) {
  const Tensor& t = self_of(s);
  return PyBool_FromLong(UT_LIKELY(!t.impl()->has(kBatched)) ? t.requires_grad() : batched_requires_grad(t));
}
PyObject* get_is_leaf(PyObject* s, void*) {
  return attribute([&]() -> PyObject* { return PyBool_FromLong(grad_fn(self_of(s)) == nullptr); });
}
PyObject* get_output_nr(PyObject* s, void*) {
  grad_fn(self_of(s));
  return PyLong_FromUnsignedLong(self_of(s).impl()->output_nr);
}
PyObject* get_identity(PyObject* s, void*) { return PyLong_FromVoidPtr(self_of(s).impl()); }
PyObject* get_version(PyObject* s, void*) {
  return attribute([&]() -> PyObject* {
    UT_CHECK(!self_of(s).impl()->has(kInference), "Inference tensors do not track version counter.");
    return PyLong_FromUnsignedLong(self_of(s).version());
  });
}
PyObject* get_base(PyObject* s, void*) {
  TensorImpl* base = self_of(s).impl()->base;
  return attribute([&] { return wrap(base ? Tensor(Ref<TensorImpl>(base)) : Tensor()); });
}
PyObject* get_grad_fn(PyObject* s, void*) {
  return attribute([&] { return wrap_node(grad_fn(self_of(s))); });
}
PyObject* get_grad(PyObject* s, void*) {
  return attribute([&] { return wrap(visible_grad(self_of(s))); });
}
int set_grad_attribute(PyObject* s, PyObject* value, void*) {
  return guarded_setter([&] {
    const Tensor& t = self_of(s);
    if (!value || value == Py_None) return set_grad(t, {});
    UT_CHECK_TYPE(is_tensor(value), "assigned grad expected to be a Tensor or None but got grad of type ",
                  Py_TYPE(value)->tp_name);
    const Tensor& g = tensor_of(value);
    UT_CHECK(s != value, "can't assign Variable as its own grad");
    const GradDType wanted = t.impl()->meta ? t.impl()->meta->grad_dtype : GradDType{};
    const DType expected = wanted.choice == GradDType::Chosen ? wanted.dtype : t.dtype();
    UT_CHECK(g.dtype() == expected || wanted.choice == GradDType::Any, "attempting to assign a gradient with dtype '",
             fwd::meta_name(g.dtype()), "' to a tensor with grad_dtype '", long_name(expected),
             "'. The gradient must match the tensor's grad_dtype, which is the tensor's dtype unless it was set; None "
             "allows any.");
    UT_CHECK(same(g.sizes(), t.sizes()), "attempting to assign a gradient of size '", ShapeText{g.sizes()},
             "' to a tensor of size '", ShapeText{t.sizes()},
             "'. Please ensure that the gradient and the tensor are the same size");
    set_grad(t, g);
  });
}
PyObject* get_grad_dtype(PyObject* s, void*) {
  return attribute([&]() -> PyObject* {
    const Tensor& t = self_of(s);
    UT_CHECK(!grad_fn(t), "grad_dtype can only be accessed on leaf tensors.");
    const GradDType wanted = t.impl()->meta ? t.impl()->meta->grad_dtype : GradDType{};
    if (wanted.choice == GradDType::Any) Py_RETURN_NONE;
    return new_ref(dtype_object(wanted.choice == GradDType::Chosen ? wanted.dtype : t.dtype()));
  });
}
int set_grad_dtype(PyObject* s, PyObject* value, void*) {
  return guarded_setter([&] {
    const Tensor& t = self_of(s);
    UT_CHECK(value && (value == Py_None || is_dtype(value)), "grad_dtype must be a torch.dtype or None, but got ",
             value ? Py_TYPE(value)->tp_name : "nothing");
    UT_CHECK(!grad_fn(t), "grad_dtype can only be set on leaf tensors.");
    GradDType wanted{GradDType::Any};
    if (value != Py_None) wanted = {GradDType::Chosen, dtype_of(value)};
    const Tensor& grad = grad_of(t);
    UT_CHECK(!grad.defined() || wanted.choice == GradDType::Any || grad.dtype() == wanted.dtype,
             "Cannot set grad_dtype to '", long_name(wanted.dtype),
             "' because there is already a gradient with dtype '",
             fwd::meta_name(grad.defined() ? grad.dtype() : wanted.dtype),
             "'. Please clear the gradient (.grad = None) before changing grad_dtype, or choose the dtype it has.");
    AutogradMeta& meta = make_meta(t);
    meta.grad_dtype = wanted;
    if (meta.accumulator) meta.accumulator->refresh_meta();
  });
}
int set_requires_grad(PyObject* s, PyObject* value, void*) {
  return guarded_setter([&] {
    UT_CHECK(value && PyBool_Check(value), "requires_grad must be a bool");
    UT_CHECK(!grad_fn(self_of(s)) || value == Py_False, "you can only change requires_grad flags of leaf variables.");
    require_grad(self_of(s), value == Py_True);
  });
}
PyObject* get_retains_grad(PyObject* s, void*) { return PyBool_FromLong(self_of(s).impl()->has(kRetainsGrad)); }
PyObject* get_data(PyObject* s, void*) {
  return attribute([&]() -> PyObject* { return wrap(data_of(self_of(s))); });
}
int set_data(PyObject* s, PyObject* value, void*) {
  return guarded_setter([&] {
    UT_CHECK(value, "Deleting tensor data is not allowed. Delete tensor instead!");
    UT_CHECK_TYPE(is_tensor(value), "Variable data has to be a tensor, but got ", Py_TYPE(value)->tp_name);
    UT_CHECK(
        self_of(s).is_sparse() == tensor_of(value).is_sparse(),
        "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type.");
    if (!self_of(s).is_sparse()) {
      check_has_memory(self_of(s));
      check_has_memory(tensor_of(value));
    }
    replace_data(self_of(s), tensor_of(value));
  });
}
PyObject* get_hooks(PyObject* s, void*) {
  PyObject* h = reinterpret_cast<TensorObject*>(s)->backward_hooks;
  return new_ref(h ? h : Py_None);
}
int set_hooks(PyObject* s, PyObject* value, void*) {
  auto* o = reinterpret_cast<TensorObject*>(s);
  if (!value) {
    PyErr_SetString(PyExc_RuntimeError, "_backward_hooks cannot be deleted; set it to None");
    return -1;
  }
  if (value == Py_None)
    Py_CLEAR(o->backward_hooks);
  else
    Py_XSETREF(o->backward_hooks, new_ref(value));
  return 0;
}
int set_grad_fn(PyObject* s, PyObject* value, void*) {
  return guarded_setter([&] {
    UT_CHECK(value, "Deletion of _grad_fn not allowed. Detach tensor instead!");
    UT_CHECK(value == Py_None, "_grad_fn can be only set to None");
    PyRef(check(PyObject_CallMethod(s, "detach_", nullptr)));
  });
}
PyObject* get_name(PyObject* s, void*) {
  AutogradMeta* m = self_of(s).impl()->meta;
  if (!m || m->name.empty()) Py_RETURN_NONE;
  return PyUnicode_FromString(m->name.c_str());
}
using View = Tensor (*)(const Tensor&);
template <View view>
PyObject* get_view(PyObject* s, void*) {
  return attribute([&] { return wrap(view(self_of(s))); });
}
Tensor real_part(const Tensor& t) { return ops::real(t); }
Tensor imag_part(const Tensor& t) { return ops::imag(t); }
template <View part>
int set_part(PyObject* s, PyObject* value, void*) {
  return guarded_setter([&] {
    UT_CHECK(value, "real and imag cannot be deleted");
    Tensor to = part(self_of(s));
    if (is_tensor(value))
      ops::copy_(to, tensor_of(value), false);
    else
      ops::fill_(to, scalar_arg(value));
  });
}
template <bool value>
PyObject* constant(PyObject*, void*) {
  return PyBool_FromLong(value);
}

PyGetSetDef getset[] = {
    attribute_row<"shape", get_shape>("The sizes."),
    attribute_row<"dtype", get_dtype>("The element type."),
    attribute_row<"device", get_device>("The device of the tensor."),
    attribute_row<"layout", get_layout>("The layout: undertow.strided or one of the sparse ones."),
    attribute_row<"ndim", get_ndim>("The number of dimensions."),
    attribute_row<"itemsize", get_itemsize>("The size of one element in bytes."),
    attribute_row<"nbytes", get_nbytes>("The size of all elements in bytes."),
    attribute_row<"requires_grad", get_requires_grad, set_requires_grad>(
        "Whether gradients are computed for this tensor."),
    attribute_row<"is_leaf", get_is_leaf>("Whether the tensor was created by the user, not by a recorded operation."),
    attribute_row<"output_nr", get_output_nr>("The index of this tensor among the outputs of its grad_fn."),
    attribute_row<"_cdata", get_identity>("The tensor's identity: equal numbers are one tensor."),
    attribute_row<"_version", get_version>("The number of in-place writes to the memory."),
    attribute_row<"_base", get_base>("The tensor that this is a view of, or None."),
    attribute_row<"grad_fn", get_grad_fn>("The node that created this tensor."),
    attribute_row<"_grad_fn", get_grad_fn, set_grad_fn>("grad_fn; None detaches the tensor."),
    attribute_row<"grad", get_grad, set_grad_attribute>("The accumulated gradient."),
    attribute_row<"grad_dtype", get_grad_dtype, set_grad_dtype>(
        "The dtype to which gradients are cast before they are accumulated; None for any."),
    attribute_row<"_grad", get_grad, set_grad_attribute>(),
    attribute_row<"retains_grad", get_retains_grad>("Whether retain_grad() was called on this non-leaf."),
    attribute_row<"data", get_data, set_data>("The same memory without history and with its own version counter."),
    attribute_row<"T", get_view<ops::reversed_dims>>("The dimensions reversed."),
    attribute_row<"mT", get_view<ops::matrix_transpose>>("The last two dimensions swapped."),
    attribute_row<"H", get_view<ops::hermitian>>("A matrix transposed and conjugated."),
    attribute_row<"mH", get_view<ops::matrix_hermitian>>("The last two dimensions swapped, and conjugated."),
    attribute_row<"real", get_view<real_part>, set_part<real_part>>("The real part, a view."),
    attribute_row<"imag", get_view<imag_part>, set_part<imag_part>>("The imaginary part, a view."),
    attribute_row<"_backward_hooks", get_hooks, set_hooks>(),
    attribute_row<"name", get_name>("The name of the tensor, or None."),
    attribute_row<"is_cuda", is_cuda>("Whether the tensor is on a GPU."),
    attribute_row<"is_cpu", is_cpu>("Whether the tensor is on the CPU."),
    attribute_row<"is_sparse", is_sparse>("Whether the layout is undertow.sparse_coo."),
    attribute_row<"is_sparse_csr", is_sparse_csr>("Whether the layout is undertow.sparse_csr."),
    attribute_row<"is_quantized", constant<false>>("False: there are no quantized tensors."),
    attribute_row<"is_meta", is_meta>("Whether the tensor is on the meta device."),
    attribute_row<"is_nested", constant<false>>("False: there are no nested tensors."),
    attribute_row<"is_mps", constant<false>>("False: there are no MPS tensors."),
    {"__dict__", get_tensor_dict, set_tensor_dict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

// ---- methods ----

int64_t dim_arg(PyObject* o, const Tensor& t) { return wrap_dim(int_arg(o), t.dim()); }

PyObject* size(PyObject* s, PyObject* const* args, Py_ssize_t n) {
  return attribute([&]() -> PyObject* {
    const Tensor& t = self_of(s);
    UT_CHECK_TYPE(n <= 1, "size() takes at most 1 argument (", n, " given)");
    if (n == 0 || args[0] == Py_None) return wrap_sizes(t.sizes());
    UT_CHECK_INDEX(t.dim() > 0, "Dimension specified as ", int_arg(args[0]), " but tensor has no dimensions");
    return wrap(t.size(dim_arg(args[0], t)));
  });
}
PyObject* stride(PyObject* s, PyObject* const* args, Py_ssize_t n) {
  return attribute([&]() -> PyObject* {
    const Tensor& t = self_of(s);
    UT_CHECK(!t.is_sparse() || layout_of(t) == Layout::SparseCoo, "Sparse CSR tensors do not have strides");
    auto stride_of = [&](int64_t d) { return t.is_sparse() ? 0 : t.stride(d); };
    if (n == 1 && args[0] != Py_None) return wrap(stride_of(dim_arg(args[0], t)));
    PyRef tuple(check(PyTuple_New(t.dim())));
    for (int64_t i = 0; i < t.dim(); i++) PyTuple_SET_ITEM(tuple.get(), i, PyLong_FromLongLong(stride_of(i)));
    return tuple.release();
  });
}
bool is_dim_keyword(PyObject* name) {
  return PyUnicode_CompareWithASCIIString(name, "dim") == 0 || PyUnicode_CompareWithASCIIString(name, "axis") == 0;
}
// size(dim=0): the one argument may be given by keyword.
template <Text name, Fast f>
PyObject* with_dim(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  if (kwnames && (n || PyTuple_GET_SIZE(kwnames) != 1 || !is_dim_keyword(PyTuple_GET_ITEM(kwnames, 0)))) {
    PyErr_Format(PyExc_TypeError, "%s() takes one argument, dim", name.text);
    return nullptr;
  }
  Py_ssize_t given = kwnames ? 1 : n;
  if (may_be_overridden(self) && is_overridden(self)) return override_method(name.text, self, args, given);
  return f(self, args, given);
}
template <Text name, Fast f>
PyMethodDef dim_method(const char* doc) {
  return {name.text, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(with_dim<name, f>)),
          METH_FASTCALL | METH_KEYWORDS, doc};
}
PyObject* dim(PyObject* s, PyObject*) { return PyLong_FromLongLong(self_of(s).dim()); }
PyObject* numel(PyObject* s, PyObject*) { return PyLong_FromLongLong(self_of(s).numel()); }
PyObject* element_size(PyObject* s, PyObject*) { return PyLong_FromLongLong(self_of(s).itemsize()); }
PyObject* storage_offset(PyObject* s, PyObject*) { return PyLong_FromLongLong(self_of(s).storage_offset()); }
PyObject* data_ptr(PyObject* s, PyObject*) {
  return attribute([&]() -> PyObject* {
    const Tensor& t = self_of(s);
    if (UT_UNLIKELY(t.impl()->has(kDispatched) && !t.storage().nbytes())) return PyLong_FromLong(0);  // as in torch
    check_has_memory(t);
    return PyLong_FromVoidPtr(t.numel() && t.storage().data() ? t.data() : nullptr);
  });
}
PyObject* is_contiguous(PyObject* s, PyObject* args, PyObject* kwargs) {
  return attribute([&]() -> PyObject* {
    PyObject* format = nullptr;
    static const char* names[] = {"memory_format", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", const_cast<char**>(names), &format)) throw PythonError();
    auto m = memory_format_arg(format).value_or(MemoryFormat::Contiguous);
    return PyBool_FromLong(is_contiguous_in(self_of(s), m));
  });
}
PyObject* is_complex_(PyObject* s, PyObject*) { return PyBool_FromLong(self_of(s).is_complex()); }
PyObject* is_floating_point(PyObject* s, PyObject*) { return PyBool_FromLong(self_of(s).is_floating()); }
PyObject* is_signed(PyObject* s, PyObject*) {
  return PyBool_FromLong(self_of(s).dtype() != DType::Bool && self_of(s).dtype() != DType::UInt8);
}
PyObject* is_conj(PyObject* s, PyObject*) { return PyBool_FromLong(self_of(s).is_conj()); }
PyObject* is_neg(PyObject* s, PyObject*) { return PyBool_FromLong(self_of(s).is_neg()); }
PyObject* is_inference(PyObject* s, PyObject*) { return PyBool_FromLong(self_of(s).impl()->has(kInference)); }
PyObject* is_view(PyObject* s, PyObject*) { return PyBool_FromLong(self_of(s).impl()->has(kIsView)); }
PyObject* retain_grad_(PyObject* s, PyObject*) {
  return attribute([&]() -> PyObject* {
    if (self_of(s).requires_grad()) check_not_in_transform("Tensor.retain_grad()");
    retain_grad(s);
    Py_RETURN_NONE;
  });
}
PyObject* requires_grad_(PyObject* s, PyObject* args, PyObject* kwargs) {
  return attribute([&]() -> PyObject* {
    PyObject* value = Py_True;
    static const char* names[] = {"requires_grad", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:requires_grad_", const_cast<char**>(names), &value))
      throw PythonError();
    if (!PyBool_Check(value))
      UT_FAIL_AS(Type, "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not ",
                 Py_TYPE(value)->tp_name);
    const bool on = value == Py_True;
    if (on) check_not_in_transform("Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs)");
    require_grad(self_of(s), on);
    return new_ref(s);
  });
}
PyObject* register_hook(PyObject* s, PyObject* hook) {
  return attribute([&] { return add_tensor_hook(s, hook); });
}
PyObject* register_post_accumulate(PyObject* s, PyObject* hook) {
  return attribute([&] { return add_post_accumulate_hook(s, hook); });
}
PyObject* tolist(PyObject* s, PyObject*) {
  return attribute([&] {
    if (UT_UNLIKELY(mode_is(kProvenance))) provenance::note_exit("tolist", self_of(s));
    return to_list(self_of(s));
  });
}
PyObject* detach_(PyObject* s, PyObject*) {
  return attribute([&]() -> PyObject* {
    detach_in_place(self_of(s));
    return new_ref(s);
  });
}

}  // namespace

PyGetSetDef* tensor_getset() { return getset; }

void add_tensor_methods(std::vector<PyMethodDef>& m) {
  m.insert(
      m.end(),
      {dim_method<"size", size>("Return the shape, or the size of one dimension."),
       dim_method<"stride", stride>("Return the strides, or the stride of one dimension."),
       method<"dim", dim>(METH_NOARGS, "Return the number of dimensions."),
       method<"ndimension", dim>(METH_NOARGS, "Return the number of dimensions."),
       method<"numel", numel>(METH_NOARGS, "Return the number of elements."),
       method<"nelement", numel>(METH_NOARGS, "Return the number of elements."),
       method<"element_size", element_size>(METH_NOARGS, "Return the size of one element in bytes."),
       method<"storage_offset", storage_offset>(METH_NOARGS,
                                                "Return the offset of the first element in the storage, in elements."),
       method<"data_ptr", data_ptr>(METH_NOARGS, "Return the address of the first element."),
       method<"is_contiguous", is_contiguous>(
           METH_VARARGS | METH_KEYWORDS,
           "Return True if the elements are contiguous in memory, in the given memory format."),
       method<"is_complex", is_complex_>(METH_NOARGS, "Return True if the dtype is complex."),
       method<"is_floating_point", is_floating_point>(METH_NOARGS, "Return True if the dtype is floating point."),
       method<"is_signed", is_signed>(METH_NOARGS, "Return True if the dtype is signed."),
       method<"is_conj", is_conj>(METH_NOARGS, "Return True if the tensor is a conjugate view."),
       method<"is_neg", is_neg>(METH_NOARGS, "Return True if the tensor is a negative view."),
       method<"is_inference", is_inference>(METH_NOARGS, "Return True if the tensor was created in inference mode."),
       method<"_is_view", is_view>(METH_NOARGS),
       method<"retain_grad", retain_grad_>(METH_NOARGS, "Keep this non-leaf's gradient in .grad."),
       method<"requires_grad_", requires_grad_>(METH_VARARGS | METH_KEYWORDS, "Set requires_grad in place."),
       method<"register_hook", register_hook>(METH_O, "Call hook(grad) when the gradient is computed."),
       method<"register_post_accumulate_grad_hook", register_post_accumulate>(
           METH_O, "Call hook(tensor) after .grad has been updated."),
       method<"tolist", tolist>(METH_NOARGS, "Return the elements as nested lists."),
       method<"detach_", detach_>(METH_NOARGS, "Detach the tensor from its graph, in place.")});
  add_more_tensor_methods(m);
  add_dlpack_methods(m);
}

}  // namespace undertow::core::python
