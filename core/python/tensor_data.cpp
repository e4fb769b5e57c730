// tensor_data.cpp: see tensor_data.h.
#include "core/python/tensor_data.h"

#include <cstring>

#include "core/forward/copy.h"
#include "core/graph/accumulate_grad.h"
#include "core/graph/autograd_meta.h"
#include "core/python/convert.h"
#include "core/python/errors.h"
#include "core/python/tensor_attributes.h"
#include "core/tensor/layout.h"
#include "core/tensor/promotion.h"
#include "generated/ops.h"

namespace undertow::python {

namespace {

PyObject* element(const char* p, DType t) {
  return dispatch(t, [&](auto tag) -> PyObject* {
    using T = typename decltype(tag)::type;
    T v = *reinterpret_cast<const T*>(p);
    if constexpr (std::is_same_v<T, bool>) return PyBool_FromLong(v);
    else if constexpr (kIsComplex<T>) return PyComplex_FromDoubles(v.real(), v.imag());
    else if constexpr (std::is_integral_v<T>) return PyLong_FromLongLong(v);
    else return PyFloat_FromDouble(static_cast<double>(static_cast<OpMath<T>>(v)));
  });
}

PyObject* nested_list(const Tensor& t, int64_t dim, const char* p) {
  if (dim == t.dim()) return check(element(p, t.dtype()));
  PyRef list(check(PyList_New(t.size(dim))));
  for (int64_t i = 0; i < t.size(dim); i++) PyList_SET_ITEM(list.get(), i, nested_list(t, dim + 1, p + i * t.stride(dim) * t.itemsize()));
  return list.release();
}

// Shape of nested sequences by their first elements, as torch infers it.
void infer_shape(PyObject* data, Dims& shape) {
  while (PyList_Check(data) || PyTuple_Check(data) || (PySequence_Check(data) && !is_tensor(data) && !PyUnicode_Check(data))) {
    Py_ssize_t n = PySequence_Size(data);
    if (n < 0) throw PythonError();
    shape.push_back(n);
    UT_CHECK_VALUE(shape.size() <= 64, "too many dimensions '", Py_TYPE(data)->tp_name, "'");
    if (n == 0) return;
    PyRef first(check(PySequence_GetItem(data, 0)));
    if (first.get() == data) return;
    data = first.get();  // kept alive by its parent
  }
  if (is_tensor(data))
    for (int64_t s : tensor_of(data).sizes()) shape.push_back(s);
}

struct Kind {
  bool any = false;
  int rank = 0;  // bool < int < float < complex
  std::optional<DType> of_tensors;
};
void infer_kind(PyObject* o, Kind& k) {
  auto raise = [&](int r) {
    k.rank = k.any ? std::max(k.rank, r) : r;
    k.any = true;
  };
  if (PyBool_Check(o)) return raise(0);
  if (PyLong_Check(o)) return raise(1);
  if (PyFloat_Check(o)) return raise(2);
  if (PyComplex_Check(o)) return raise(3);
  if (is_tensor(o)) {
    DType t = tensor_of(o).dtype();
    k.of_tensors = k.of_tensors ? promote_types(*k.of_tensors, t) : t;
    return;
  }
  UT_CHECK_TYPE(!PyUnicode_Check(o), "new(): invalid data type 'str'");
  if (PySequence_Check(o)) {
    Py_ssize_t n = PySequence_Size(o);
    if (n < 0) throw PythonError();
    for (Py_ssize_t i = 0; i < n; i++) {
      PyRef x(check(PySequence_GetItem(o, i)));
      infer_kind(x.get(), k);
    }
    return;
  }
  // Anything with a dtype-like conversion: NumPy's scalars.
  PyNumberMethods* n = Py_TYPE(o)->tp_as_number;
  std::string_view name = Py_TYPE(o)->tp_name;
  if (name.starts_with("numpy.bool")) return raise(0);
  if (n && n->nb_index) return raise(1);
  if (name.starts_with("numpy.complex")) return raise(3);
  if (name == "numpy.float64") k.of_tensors = k.of_tensors ? promote_types(*k.of_tensors, DType::Float64) : DType::Float64;
  if (n && n->nb_float) return raise(2);
  UT_FAIL_AS(Runtime, "Could not infer dtype of ", Py_TYPE(o)->tp_name);
}
DType dtype_of_kind(const Kind& k) {
  DType numbers = !k.any ? default_dtype() : k.rank == 0 ? DType::Bool : k.rank == 1 ? DType::Int64 : k.rank == 2 ? default_dtype() : default_complex_dtype();
  if (!k.of_tensors) return numbers;
  return k.any ? promote_types(*k.of_tensors, numbers) : *k.of_tensors;
}

void store(char* p, DType t, PyObject* o) {
  Scalar s;
  if (PyLong_Check(o) && !PyBool_Check(o)) {
    int overflow = 0;
    long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow && is_differentiable(t)) {
      double d = PyLong_AsDouble(o);
      if (d == -1.0 && PyErr_Occurred()) throw PythonError();
      s = Scalar(d);
    } else {
      UT_CHECK(!overflow, "Overflow when unpacking long long");
      s = Scalar(v);
    }
    if (t == DType::UInt8 || t == DType::Int8 || t == DType::Int16 || t == DType::Int32) {
      dispatch(t, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_integral_v<T>) {
          bool fits = static_cast<long long>(static_cast<T>(v)) == v;
          UT_CHECK(fits, "value cannot be converted to type ", name(t), " without overflow");
        }
      });
    }
  } else {
    UT_CHECK_TYPE(!PyUnicode_Check(o), "new(): invalid data type 'str'");
    UT_CHECK_TYPE(!PySequence_Check(o) || is_tensor(o), "only one element tensors can be converted to Python scalars");
    s = scalar_arg(o);
    UT_CHECK_TYPE(!s.is_complex() || is_complex(t), "can't convert complex to ", is_integral(t) ? "int" : "float");
  }
  dispatch(t, [&](auto tag) {
    using T = typename decltype(tag)::type;
    *reinterpret_cast<T*>(p) = s.to<T>();
  });
}

void fill_nested(PyObject* data, const Tensor& out, int64_t dim, int64_t& at) {
  if (is_tensor(data) && dim < out.dim()) {
    Tensor part = fwd::contiguous(fwd::to_dtype(fwd::materialize_bits(tensor_of(data)), out.dtype()));
    UT_CHECK_VALUE(same(part.sizes(), out.sizes().subspan(static_cast<size_t>(dim))), "expected sequence of length ", out.size(dim), " at dim ", dim);
    std::memcpy(out.data() + at * out.itemsize(), part.data(), static_cast<size_t>(part.nbytes()));
    at += part.numel();
    return;
  }
  if (dim == out.dim()) {
    store(out.data() + at++ * out.itemsize(), out.dtype(), data);
    return;
  }
  PyRef fast(PySequence_Fast(data, "not a sequence"));
  if (!fast) {
    PyErr_Clear();
    UT_FAIL_AS(Type, "not a sequence: ", Py_TYPE(data)->tp_name);
  }
  Py_ssize_t n = PySequence_Fast_GET_SIZE(fast.get());
  UT_CHECK_VALUE(n == out.size(dim), "expected sequence of length ", out.size(dim), " at dim ", dim, " (got ", n, ")");
  for (Py_ssize_t i = 0; i < n; i++) fill_nested(PySequence_Fast_GET_ITEM(fast.get(), i), out, dim + 1, at);
}

// tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False)
PyObject* tensor_function(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject *data, *dtype = nullptr, *device = nullptr;
    int requires_grad = 0, pin = 0;
    static const char* names[] = {"data", "dtype", "device", "requires_grad", "pin_memory", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OOpp", const_cast<char**>(names), &data, &dtype, &device, &requires_grad, &pin)) throw PythonError();
    device_arg(device);
    if (is_tensor(data)) {
      warn("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or sourceTensor.detach().clone().requires_grad_(True), rather than "
           "undertow.tensor(sourceTensor).");
      if (PyErr_Occurred()) throw PythonError();
    }
    Tensor t = tensor_from_data(data, opt_dtype_arg(dtype, std::nullopt));
    UT_CHECK(!requires_grad || is_differentiable(t.dtype()), "Only Tensors of floating point and complex dtype can require gradients, but the dtype is ", t.dtype());
    if (requires_grad) t.impl()->set(kRequiresGrad);
    if (mode_is(kInferenceMode)) t.impl()->set(kInference);
    return wrap(std::move(t));
  });
}

PyMethodDef functions[] = {{"tensor", reinterpret_cast<PyCFunction>(tensor_function), METH_VARARGS | METH_KEYWORDS, "A tensor from numbers, sequences or arrays; always a copy."},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* to_list(const Tensor& t) {
  Tensor plain = fwd::materialize_bits(t);
  return nested_list(plain, 0, plain.data());
}

Tensor tensor_from_data(PyObject* data, std::optional<DType> dtype) {
  if (is_tensor(data)) {
    Tensor t = fwd::materialize_bits(tensor_of(data));
    if (dtype && *dtype != t.dtype()) return fwd::to_dtype(t, *dtype);
    return t.is_same(tensor_of(data)) ? fwd::clone_preserve(t) : t;
  }
  if (PyObject_HasAttrString(data, "__array_interface__") || PyObject_HasAttrString(data, "__array__")) {
    PyRef module(check(PyImport_ImportModule("undertow._numpy")));
    PyRef t(check(PyObject_CallMethod(module.get(), "from_array_copy", "O", data)));
    return dtype && *dtype != tensor_of(t.get()).dtype() ? fwd::to_dtype(tensor_of(t.get()), *dtype) : tensor_of(t.get());
  }
  Dims shape;
  infer_shape(data, shape);
  if (!dtype) {
    Kind k;
    infer_kind(data, k);
    dtype = dtype_of_kind(k);
  }
  Tensor out = empty(shape, *dtype);
  int64_t at = 0;
  fill_nested(data, out, 0, at);
  return out;
}

bool is_contiguous_in(const Tensor& t, MemoryFormat format) {
  if (format == MemoryFormat::Contiguous || format == MemoryFormat::Preserve) return t.is_contiguous();
  int64_t want = format == MemoryFormat::ChannelsLast ? 4 : 5;
  if (t.dim() != want) return false;
  int64_t expected = 1;
  auto check_dim = [&](int64_t d) {
    bool ok = t.size(d) == 1 || t.stride(d) == expected;
    expected *= t.size(d);
    return ok;
  };
  if (!check_dim(1)) return false;
  for (int64_t d = want - 1; d >= 2; d--)
    if (!check_dim(d)) return false;
  return check_dim(0);
}

void replace_data(const Tensor& t, const Tensor& source) {
  TensorImpl *to = t.impl(), *from = source.impl();
  UT_CHECK(!to->grad_fn || same(t.sizes(), source.sizes()), "cannot change the shape of a non-leaf through .data");
  // The counter stays with the tensor, not with the memory it leaves.
  if (!to->has(kOwnVersion)) {
    make_meta(to).version_holder = Ref<Storage>(to->storage);
    to->set(kOwnVersion);
  }
  from->storage->retain();
  to->storage->release();
  to->storage = from->storage;
  to->offset = from->offset;
  to->dtype = from->dtype;
  to->set_layout(source.sizes(), source.strides());
  to->set(kConj, from->has(kConj));
  to->set(kNeg, from->has(kNeg));
  if (to->meta && to->meta->accumulator) to->meta->accumulator->refresh_meta();
}

void add_data_methods(std::vector<PyMethodDef>&) {}

bool init_data_functions(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

Tensor legacy_constructor(PyObject* args, PyObject*) {
  Py_ssize_t n = PyTuple_GET_SIZE(args);
  if (n == 0) return empty(Dims{0}, default_dtype());
  PyObject* first = PyTuple_GET_ITEM(args, 0);
  if (PyLong_Check(first) || (Py_TYPE(first) == size_type && n == 1)) {
    Dims sizes = ints_arg(Py_TYPE(first) == size_type ? first : args);
    return empty(sizes, default_dtype());
  }
  if (is_tensor(first)) return alias(tensor_of(first));
  return tensor_from_data(first, default_dtype());
}

PyObject* parameter_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* data = nullptr;
    int requires_grad = 1;
    static const char* names[] = {"data", "requires_grad", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|Op", const_cast<char**>(names), &data, &requires_grad)) throw PythonError();
    Tensor t = data && data != Py_None ? alias(tensor_of(data)) : empty(Dims{0}, default_dtype());
    if (requires_grad) t.impl()->set(kRequiresGrad);
    return wrap_as(type, std::move(t));
  });
}

}  // namespace undertow::python
