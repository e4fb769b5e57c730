// tensor_data.cpp: see tensor_data.h.
// build: small
#include "core/python/tensor/tensor_data.h"

#include <cstring>
#include <limits>

#include "core/autograd/delegated/delegated.h"
#include "core/autograd/tensor_state.h"
#include "core/autograd/views/inplace.h"
#include "core/forward/copy/copy.h"
#include "core/forward/index/index_common.h"
#include "core/graph/accumulate_grad.h"
#include "core/graph/autograd_meta.h"
#include "core/python/arguments/convert.h"
#include "core/python/arguments/overridable.h"
#include "core/python/arguments/safe_read.h"
#include "core/python/errors.h"
#include "core/python/interop/cuda_functions.h"
#include "core/python/interop/numpy_bridge.h"
#include "core/python/tensor/tensor_attributes.h"
#include "core/python/types/storage_object.h"
#include "core/tensor/dtype/promotion.h"
#include "core/tensor/dtype/storage_dtypes.h"
#include "core/tensor/layout.h"
#include "generated/ops.h"

namespace undertow::core::python {

namespace {

PyObject* element(const char* p, DType t) {
  if (UT_UNLIKELY(is_storage(t))) return wrap(read_element(t, p));
  return dispatch(t, [&](auto tag) -> PyObject* {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, bool>) return PyBool_FromLong(*p != 0);  // memory of empty() may hold any byte
    T v = *reinterpret_cast<const T*>(p);
    if constexpr (kIsComplex<T>)
      return PyComplex_FromDoubles(v.real(), v.imag());
    else if constexpr (std::is_integral_v<T>)
      return PyLong_FromLongLong(v);
    else
      return PyFloat_FromDouble(static_cast<double>(static_cast<OpMath<T>>(v)));
  });
}

PyObject* nested_list(const Tensor& t, int64_t dim, const char* p) {
  if (dim == t.dim()) return check(element(p, t.dtype()));
  const int64_t n = t.size(dim), step = t.stride(dim) * t.itemsize();
  const DType dtype = t.dtype();
  PyRef list(check(PyList_New(n)));
  if (dim + 1 == t.dim())  // without a call for every element
    for (int64_t i = 0; i < n; i++) PyList_SET_ITEM(list.get(), i, check(element(p + i * step, dtype)));
  else
    for (int64_t i = 0; i < n; i++) PyList_SET_ITEM(list.get(), i, nested_list(t, dim + 1, p + i * step));
  return list.release();
}

// A sequence to descend into: not a string, and not a tensor, which counts as its one element, as in torch.
bool is_nested(PyObject* o) {
  if (PyList_Check(o) || PyTuple_Check(o)) return true;
  if (is_tensor(o) || is_numpy_scalar(o) || PyUnicode_Check(o) || PyBytes_Check(o)) return false;
  if (!PySequence_Check(o)) return false;
  if (PyObject_Size(o) >= 0) return true;
  PyErr_Clear();  // a sequence without a length, such as a zero-dimensional array
  return false;
}

// The shape of nested sequences, from their first elements, as in torch.
void infer_shape(PyObject* data, Dims& shape) {
  PyRef at = PyRef::borrow(data);
  while (is_nested(at.get())) {
    Py_ssize_t n = PySequence_Size(at.get());
    if (n < 0) throw PythonError();
    shape.push_back(n);
    UT_CHECK_VALUE(shape.size() <= 64, "too many dimensions '", Py_TYPE(at.get())->tp_name, "'");
    if (n == 0) return;
    PyRef first(PySequence_GetItem(at.get(), 0));
    if (!first) PyErr_Clear();
    UT_CHECK_VALUE(first, "could not determine the shape of object type '", Py_TYPE(at.get())->tp_name, "'");
    at = std::move(first);
  }
  UT_CHECK_VALUE(shape.empty() || (!PyUnicode_Check(at.get()) && !PyBytes_Check(at.get())), "too many dimensions '",
                 Py_TYPE(at.get())->tp_name, "'");
}

// A list that contains itself has no end. Longer cycles are found by their depth.
void check_item(PyObject* item, PyObject* sequence) {
  UT_CHECK_TYPE(item != sequence, "new(): self-referential lists are incompatible");
}

// The dtype that can hold every element.
void infer_dtype(PyObject* o, std::optional<DType>& found) {
  auto join = [&](DType t) { found = found ? promote_types(*found, t) : t; };
  if (PyList_CheckExact(o) || PyTuple_CheckExact(o)) {
    RecursionLevel level(" while looking for the dtype of nested sequences");
    // The size is asked again for each item, and the item is held: what it runs may change the list.
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++) {
      PyRef item = PyRef::borrow(PySequence_Fast_GET_ITEM(o, i));
      check_item(item.get(), o);
      infer_dtype(item.get(), found);
    }
    return;
  }
  if (PyFloat_CheckExact(o)) return join(default_dtype());
  if (PyBool_Check(o)) return join(DType::Bool);
  if (PyLong_Check(o)) return join(DType::Int64);
  if (PyComplex_CheckExact(o)) return join(default_complex_dtype());
  if (is_tensor(o)) return join(tensor_of(o).dtype());
  if (auto t = numpy_scalar_dtype(o)) return join(*t);
  if (PyFloat_Check(o)) return join(default_dtype());
  if (PyComplex_Check(o)) return join(default_complex_dtype());
  UT_CHECK_TYPE(!PyUnicode_Check(o) && !PyBytes_Check(o), "new(): invalid data type '", Py_TYPE(o)->tp_name, "'");
  if (is_ndarray(o)) return join(from_ndarray(o, true).dtype());
  if (PySequence_Check(o) && PyObject_Size(o) >= 0) {
    PyRef items = snapshot(o, "not a sequence");
    RecursionLevel level(" while looking for the dtype of nested sequences");
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); i++) {
      check_item(PyTuple_GET_ITEM(items.get(), i), o);
      infer_dtype(PyTuple_GET_ITEM(items.get(), i), found);
    }
    return;
  }
  PyErr_Clear();
  PyNumberMethods* n = Py_TYPE(o)->tp_as_number;
  if (n && n->nb_index) return join(DType::Int64);
  if (n && n->nb_float) return join(default_dtype());
  UT_FAIL_AS(Runtime, "Could not infer dtype of ", Py_TYPE(o)->tp_name);
}

void check_fits(double v, DType t) {
  UT_CHECK(v == v, "value cannot be converted to type ", name(t), " without overflow");
  if (is_storage(t)) {
    UT_CHECK(v > -1 && v < std::ldexp(1.0, static_cast<int>(8 * itemsize(t))), "value cannot be converted to type ",
             name(t), " without overflow");
    return;
  }
  dispatch(t, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>)
      UT_CHECK(v > static_cast<double>(std::numeric_limits<T>::lowest()) - 1 &&
                   v < static_cast<double>(std::numeric_limits<T>::max()) + 1,
               "value cannot be converted to type ", name(t), " without overflow");
  });
}

void store(char* p, DType t, PyObject* o) {
  if (is_ndarray(o)) {
    PyRef element(check(PyObject_CallMethod(o, "item", nullptr)));
    return store(p, t, element.get());
  }
  if (t == DType::Bool && !is_tensor(o) && !PyUnicode_Check(o) && !is_nested(o)) {
    int truth = PyObject_IsTrue(o);  // of any number, also of those that no dtype holds
    if (truth < 0) throw PythonError();
    *p = static_cast<char>(truth);
    return;
  }
  Scalar s(std::complex<double>(0));
  UT_CHECK_TYPE(t != DType::UInt64 || !(PyFloat_Check(o) || PyComplex_Check(o)), "an integer is required");
  if (t == DType::UInt64 && PyLong_Check(o)) {
    unsigned long v = PyLong_AsUnsignedLong(o);
    if (PyErr_Occurred()) throw PythonError();
    s = Scalar(v);
  } else if (PyLong_Check(o) && !PyBool_Check(o)) {
    int overflow = 0;
    long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow && is_differentiable(t)) {
      double d = PyLong_AsDouble(o);
      if (d == -1.0 && PyErr_Occurred()) throw PythonError();
      s = Scalar(d);
    } else {
      UT_CHECK_VALUE(!overflow, "Overflow when unpacking long long");
      s = Scalar(v);
    }
    if (t == DType::UInt8 || t == DType::Int8 || t == DType::Int16 || t == DType::Int32) {
      dispatch(t, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_integral_v<T>) {
          bool fits = static_cast<long long>(static_cast<T>(v)) == v || (t == DType::UInt8 && v < 0 && v > -256);
          UT_CHECK(fits, "value cannot be converted to type ", name(t), " without overflow");
        }
      });
    }
    if (is_wide_unsigned(t))  // negative numbers wrap
      UT_CHECK(v < 1LL << 8 * itemsize(t) && v > -(1LL << 8 * itemsize(t)), "value cannot be converted to type ",
               name(t), " without overflow");
  } else {
    UT_CHECK_TYPE(!PyUnicode_Check(o), "new(): invalid data type 'str'");
    UT_CHECK_TYPE(!is_tensor(o) || tensor_of(o).numel() == 1 || !is_integral(t),
                  "only integer tensors of a single element can be converted to an index, but this one has shape ",
                  ShapeText{tensor_of(o).sizes()});
    UT_CHECK_VALUE(!is_tensor(o) || tensor_of(o).numel() == 1,
                   "only one element tensors can be converted to Python scalars, but this one has shape ",
                   ShapeText{tensor_of(o).sizes()});
    UT_CHECK_TYPE(is_tensor(o) || !is_nested(o), "'", Py_TYPE(o)->tp_name, "' object cannot be interpreted as ",
                  is_integral(t) ? "an integer" : "a number");
    s = scalar_arg(o);
    if (s.is_floating() && is_integral(t) && t != DType::Bool) check_fits(s.to_double(), t);
    UT_CHECK_TYPE(!s.is_complex() || is_complex(t), "can't convert complex to ", is_integral(t) ? "int" : "float");
  }
  write_element(t, s, p);
}

void fill_nested(PyObject* data, const Tensor& out, int64_t dim, int64_t& at) {
  if (dim == out.dim()) {
    store(out.data() + at++ * out.itemsize(), out.dtype(), data);
    return;
  }
  UT_CHECK_TYPE(is_nested(data), "not a sequence: expected a sequence of length ", out.size(dim), " at dim ", dim,
                " (got ", Py_TYPE(data)->tp_name, ")");
  PyRef fast(check(PySequence_Fast(data, "not a sequence")));
  Py_ssize_t n = PySequence_Fast_GET_SIZE(fast.get());
  UT_CHECK_VALUE(n == out.size(dim), "expected sequence of length ", out.size(dim), " at dim ", dim, " (got ", n, ")");
  // As in infer_dtype: an item may change the list.
  for (Py_ssize_t i = 0; i < n; i++) {
    UT_CHECK_VALUE(i < PySequence_Fast_GET_SIZE(fast.get()), "expected sequence of length ", n, " at dim ", dim,
                   ", but it changed while it was read");
    fill_nested(PyRef::borrow(PySequence_Fast_GET_ITEM(fast.get(), i)).get(), out, dim + 1, at);
  }
}

// tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False)
PyObject* tensor_function(PyObject*, PyObject* args, PyObject* kwargs) {
  if (UT_UNLIKELY(mode_is(kOverrides))) return override_creation("tensor", args, kwargs);
  return guarded([&]() -> PyObject* {
    PyObject *data, *dtype = nullptr, *device = nullptr;
    int requires_grad = 0, pin = 0;
    static const char* names[] = {"data", "dtype", "device", "requires_grad", "pin_memory", nullptr};
    UT_CHECK_TYPE(PyTuple_GET_SIZE(args) || (kwargs && PyDict_GetItemString(kwargs, "data")),
                  "tensor() missing 1 required positional arguments: \"data\"");
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OOpp", const_cast<char**>(names), &data, &dtype, &device,
                                     &requires_grad, &pin))
      throw PythonError();
    Device place = device_or_default(device);
    if (is_tensor(data)) {
      warn(
          "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
          "sourceTensor.detach().clone().requires_grad_(True), rather than "
          "undertow.tensor(sourceTensor).");
    }
    Tensor t = tensor_from_data(data, opt_dtype_arg(dtype, std::nullopt));
    if (place != t.device() && (!is_tensor(data) || (device && device != Py_None))) {
      NoGradGuard no_grad;
      t = ops::_to_copy(t, t.dtype(), std::nullopt, place);
    }
    if (pin) {
      UT_CHECK(t.is_cpu(), "Only dense CPU tensors can be pinned, but this one is on ", t.device());
      python::pin(t.storage());
    }
    if (UT_UNLIKELY(mode_is(kDispatchMode))) t = delegated::call<Tensor>("aten::lift_fresh", {t});
    UT_CHECK(!requires_grad || is_differentiable(t.dtype()),
             "Only Tensors of floating point and complex dtype can require gradients, but the dtype is ", t.dtype());
    if (requires_grad) t.impl()->set(kRequiresGrad);
    if (mode_is(kInferenceMode)) t.impl()->set(kInference);
    if (UT_UNLIKELY(mode_is(kProvenance)) && is_tensor(data)) provenance::note_cut("tensor", t, tensor_of(data));
    return wrap(std::move(t));
  });
}

// The positional arguments of a legacy constructor: those given, or what its keyword `size` or `data` stands for.
PyRef legacy_arguments(PyObject* args, PyObject* kwargs) {
  PyRef merged(new_ref(args));
  PyObject *key, *value;
  for (Py_ssize_t at = 0; kwargs && PyDict_Next(kwargs, &at, &key, &value);) {
    std::string_view name = utf8(key);
    if (name == "device") {
      std::optional<Device> device = device_arg(value);
      UT_CHECK(!device || device->type == DeviceType::CPU,
               "legacy constructor expects device type: cpu but device type: ", core::name(device->type),
               " was passed");
      continue;
    }
    const bool is_size = name == "size", is_data = name == "data" || name == "other" || name == "storage";
    UT_CHECK_TYPE((is_size || is_data) && PyTuple_GET_SIZE(merged.get()) == 0,
                  "new() received an invalid combination of arguments - got ", PyTuple_GET_SIZE(args),
                  " positional arguments and the keyword argument '", name, "'");
    if (is_data)
      merged = PyRef(check(PyTuple_Pack(1, value)));
    else
      merged = PyRef(check(PySequence_Tuple(value)));
  }
  return merged;
}

// The untyped storage of `o` if it is a storage: untyped, or a TypedStorage (a Python class) with elements of `dtype`.
PyRef untyped_storage(PyObject* o, DType dtype) {
  if (is_storage(o)) return PyRef(new_ref(o));
  if (PyLong_Check(o) || PyList_Check(o) || PyTuple_Check(o) || is_tensor(o) ||
      !PyObject_HasAttrString(o, "_untyped_storage"))
    return {};
  PyRef own(check(PyObject_GetAttrString(o, "dtype")));
  UT_CHECK(dtype_arg(own.get()) == dtype, "Expected a Storage of type ", long_name(dtype),
           " or an UntypedStorage, but got type ", long_name(dtype_arg(own.get())), " for argument 1 'storage'");
  return PyRef(check(PyObject_GetAttrString(o, "_untyped_storage")));
}

// _legacy_tensor(dtype, args, kwargs)
PyObject* legacy_function(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *dtype, *rest, *kwargs;
    if (!PyArg_ParseTuple(args, "OO!O!", &dtype, &PyTuple_Type, &rest, &PyDict_Type, &kwargs)) throw PythonError();
    return wrap(legacy_tensor(legacy_arguments(rest, kwargs).get(), dtype_arg(dtype)));
  });
}

PyMethodDef functions[] = {{"_legacy_tensor", legacy_function, METH_VARARGS, nullptr},
                           {"tensor", reinterpret_cast<PyCFunction>(tensor_function), METH_VARARGS | METH_KEYWORDS,
                            "A tensor from numbers, sequences or arrays; always a copy."},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void check_has_elements(const Tensor& t) {
  UT_CHECK_AS(NotImplemented, !t.is_meta(), "Cannot copy out of meta tensor; no data!");
}

PyObject* to_list(const Tensor& t) {
  check_has_memory(t);
  check_has_elements(t);
  Tensor plain = fwd::on_device(fwd::materialize_bits(t), kCpu);
  return nested_list(plain, 0, plain.data());
}

namespace {
// The tensor over another library's array, or nothing: an object with __dlpack__, __array__ or __array_interface__.
PyRef foreign_array(PyObject* o) {
  if (PyLong_Check(o) || PyFloat_Check(o) || PyComplex_Check(o) || PyUnicode_Check(o) || PyBytes_Check(o) ||
      numpy_scalar_dtype(o))
    return {};
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(o));
  if (!PyObject_HasAttrString(type, "__dlpack__") && !PyObject_HasAttrString(type, "__array__") &&
      !PyObject_HasAttrString(type, "__array_interface__"))
    return {};
  PyRef module(check(PyImport_ImportModule("undertow._functions.creation")));
  return PyRef(check(PyObject_CallMethod(module.get(), "_from_foreign", "O", o)));
}
}  // namespace

Tensor tensor_from_data(PyObject* data, std::optional<DType> dtype) {
  if (is_tensor(data)) {
    if (UT_UNLIKELY(tensor_of(data).impl()->has(kDelegated | kDispatched))) {
      Tensor copy = ops::clone(ops::detach(tensor_of(data)), std::nullopt);
      return dtype ? ops::to_dtype(copy, *dtype) : copy;
    }
    Tensor t = fwd::materialize_bits(tensor_of(data));
    if (dtype && *dtype != t.dtype()) return fwd::to_dtype(t, *dtype);
    return t.is_same(tensor_of(data)) ? fwd::clone_preserve(t) : t;
  }
  if (!PyList_CheckExact(data) && !PyTuple_CheckExact(data) && is_ndarray(data)) {
    Tensor view = from_ndarray(data, true);
    return dtype && *dtype != view.dtype() ? fwd::to_dtype(view, *dtype) : fwd::clone_preserve(view);
  }
  if (is_storage(data)) {  // the tensor shares its bytes; torch counts without a dtype as int64
    Ref<Storage> bytes = storage_of(data);
    DType as = dtype.value_or(DType::Int64);
    int64_t count = static_cast<int64_t>(bytes->nbytes()) / itemsize(as);
    return over_storage(std::move(bytes), Dims{count}, Dims{1}, 0, as);
  }
  if (!PyList_CheckExact(data) && !PyTuple_CheckExact(data))
    if (PyRef array = foreign_array(data); array && is_tensor(array.get())) return tensor_from_data(array.get(), dtype);
  if (PyList_Check(data) && PyList_GET_SIZE(data) > 0 && is_ndarray(PyList_GET_ITEM(data, 0)))
    warn_once(
        "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a "
        "single numpy.ndarray with numpy.array() before converting to a tensor.");
  Dims shape;
  infer_shape(data, shape);
  if (!dtype) {
    infer_dtype(data, dtype);
    if (!dtype) dtype = default_dtype();
  }
  Tensor out = empty(shape, *dtype);
  int64_t at = 0;
  fill_nested(data, out, 0, at);
  return out;
}

void for_each_element(const Tensor& t, const std::function<void(char*)>& f) {
  check_has_memory(t);
  check_has_elements(t);
  UT_CHECK_TYPE(t.is_cpu(), "apply_ and map_ are only implemented on CPU tensors, but this one is on ", t.device());
  std::function<void(int64_t, char*)> walk = [&](int64_t dim, char* p) {
    if (dim == t.dim()) return f(p);
    for (int64_t i = 0; i < t.size(dim); i++) walk(dim + 1, p + i * t.stride(dim) * t.itemsize());
  };
  if (t.numel()) walk(0, t.data());
}
PyObject* element_object(const char* p, DType t) { return check(element(p, t)); }
void store_element(char* p, DType t, PyObject* value) { store(p, t, value); }

bool is_contiguous_in(const Tensor& t, MemoryFormat format) { return fwd::is_in_format(t, format); }

void set_storage(const Tensor& t, Ref<Storage> storage, IntSpan sizes, IntSpan strides, int64_t offset) {
  Tensor checked = over_storage(storage, sizes, strides, offset, t.dtype());
  if (t.impl()->has(kRequiresGrad) && !t.impl()->grad_fn) retire_accumulator(t.impl());  // a new leaf, as in torch
  replace_data(t, checked);
  t.bump_version("set_");
}

bool init_data_functions(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

Tensor legacy_tensor(PyObject* args, DType dtype) {
  Py_ssize_t n = PyTuple_GET_SIZE(args);
  if (n == 0) return empty(Dims{0}, dtype);
  PyObject* first = PyTuple_GET_ITEM(args, 0);
  if (PyRef untyped = untyped_storage(first, dtype)) {
    Ref<Storage> s = storage_of(untyped.get());
    int64_t count = static_cast<int64_t>(s->nbytes()) / itemsize(dtype);
    return over_storage(std::move(s), Dims{count}, Dims{1}, 0, dtype);
  }
  if (n == 1 && is_tensor(first)) {
    UT_CHECK_TYPE(tensor_of(first).dtype() == dtype, "expected ", long_name(dtype), "Tensor (got ",
                  long_name(tensor_of(first).dtype()), "Tensor)");
    return ops::_alias(tensor_of(first));
  }
  if (n == 1 && is_ndarray(first)) {
    Tensor view = from_ndarray(first, true);
    return view.dtype() == dtype ? fwd::clone_preserve(view) : fwd::to_dtype(view, dtype);
  }
  if (n == 1 && !PyLong_Check(first) && Py_TYPE(first) != size_type && !PyIndex_Check(first)) {
    UT_CHECK_TYPE(is_nested(first), "new(): data must be a sequence (got ", Py_TYPE(first)->tp_name, ")");
    return tensor_from_data(first, dtype);
  }
  return ops::empty(ints_arg(n == 1 && Py_TYPE(first) == size_type ? first : args), dtype);
}

Tensor legacy_constructor(PyObject* positional, PyObject* kwargs) {
  PyRef args = legacy_arguments(positional, kwargs);
  // Tensor(t) is a view of t, with its history, for any dtype, unlike FloatTensor(t).
  if (PyTuple_GET_SIZE(args.get()) == 1 && is_tensor(PyTuple_GET_ITEM(args.get(), 0)))
    return ops::_alias(tensor_of(PyTuple_GET_ITEM(args.get(), 0)));
  return legacy_tensor(args.get(), default_dtype());
}

PyObject* parameter_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* data = nullptr;
    int requires_grad = 1;
    static const char* names[] = {"data", "requires_grad", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|Op", const_cast<char**>(names), &data, &requires_grad))
      throw PythonError();
    UT_CHECK_TYPE(!data || data == Py_None || is_tensor(data), "Parameter data has to be a tensor, but got ",
                  data ? Py_TYPE(data)->tp_name : "");
    // A subclass keeps its class, as in torch, unless it is one of Parameter itself.
    if (data && is_tensor(data) && UT_UNLIKELY(Py_TYPE(data) != tensor_type) && type == parameter_type &&
        !PyType_IsSubtype(Py_TYPE(data), parameter_type)) {
      PyRef module(check(PyImport_ImportModule("undertow.nn.parameter")));
      return check(
          PyObject_CallMethod(module.get(), "_parameter_of_class", "OO", data, requires_grad ? Py_True : Py_False));
    }
    Tensor t = data && data != Py_None ? alias(tensor_of(data)) : empty(Dims{0}, default_dtype());
    UT_CHECK(!requires_grad || is_differentiable(t.dtype()),
             "Only Tensors of floating point and complex dtype can require gradients, but the dtype is ", t.dtype());
    if (requires_grad) t.impl()->set(kRequiresGrad);
    if (UT_UNLIKELY(mode_is(kProvenance)) && data && is_tensor(data))
      provenance::note_cut("Parameter", t, tensor_of(data));
    return wrap_as(type, std::move(t));
  });
}

}  // namespace undertow::core::python
