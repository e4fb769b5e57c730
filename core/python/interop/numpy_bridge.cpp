// numpy_bridge.cpp: see numpy_bridge.h.
// build: small
#include "core/python/interop/numpy_bridge.h"

#include <cstring>
#include <memory>
#include <string_view>

#include "core/python/arguments/convert.h"
#include "core/python/arguments/safe_read.h"
#include "core/python/errors.h"
#include "core/python/tensor/tensor_attributes.h"
#include "core/python/types/storage_object.h"
#include "core/tensor/layout.h"
#include "core/tensor/mode.h"
#include "core/tensor/storage/storage_size.h"

namespace undertow::core::python {

namespace {

bool has_base_named(PyTypeObject* type, std::string_view name) {
  if (type->tp_name == name) return true;
  PyObject* mro = type->tp_mro;
  if (!mro) return false;
  for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(mro); i++)
    if (reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i))->tp_name == name) return true;
  return false;
}

bool in_numpy(DType t) { return t != DType::BFloat16 && t != DType::Complex32 && !is_float8(t); }

std::optional<DType> dtype_by_numpy_name(std::string_view name) {
  if (name.starts_with("numpy.")) name.remove_prefix(6);
  if (name == "bool_") return DType::Bool;
  if (name == "longlong" || name == "intp") return DType::Int64;
  if (name == "ulonglong" || name == "uintp") return DType::UInt64;
  for (int i = 0; i < kNumDTypes; i++)
    if (name == kDTypeInfo[i].name && in_numpy(static_cast<DType>(i))) return static_cast<DType>(i);
  return std::nullopt;
}

// The format letters of PEP 3118, in native byte order.
std::optional<DType> dtype_of_format(const char* format, Py_ssize_t size) {
  std::string_view f = format ? format : "B";
  if (!f.empty() && (f[0] == '@' || f[0] == '=' || f[0] == '<')) f.remove_prefix(1);
  if (f == "?") return DType::Bool;
  if (f == "e") return DType::Float16;
  if (f == "f") return DType::Float32;
  if (f == "d") return DType::Float64;
  if (f == "Zf") return DType::Complex64;
  if (f == "Zd") return DType::Complex128;
  if (f == "B") return DType::UInt8;
  if (f == "b") return DType::Int8;
  if (f == "h" || f == "i" || f == "l" || f == "q")
    return size == 2 ? DType::Int16 : size == 4 ? DType::Int32 : DType::Int64;
  if (f == "H" || f == "I" || f == "L" || f == "Q")
    return size == 2 ? DType::UInt16 : size == 4 ? DType::UInt32 : DType::UInt64;
  return std::nullopt;
}

[[noreturn]] void fail_unsupported(PyObject* array) {
  PyErr_Clear();
  PyRef dtype(PyObject_GetAttrString(array, "dtype")),
      type(dtype ? PyObject_GetAttrString(dtype.get(), "type") : nullptr);
  PyErr_Clear();
  const char* name =
      type && PyType_Check(type.get()) ? reinterpret_cast<PyTypeObject*>(type.get())->tp_name : "unknown";
  UT_FAIL_AS(
      Type, "can't convert np.ndarray of type ", name,
      ". The only supported types are: float64, float32, float16, complex64, complex128, int64, int32, int16, int8, "
      "uint64, uint32, uint16, uint8, and bool.");
}

void warn_read_only() {
  warn(
      "The given NumPy array is not writable, and Undertow does not support non-writable tensors. This means writing "
      "to this tensor will result in undefined behavior. You may "
      "want to copy the array to protect its data or make it writable before converting it to a tensor.");
}

// Owns a buffer of the array until the tensor on its memory is destroyed.
struct ArrayView {
  Py_buffer buffer{};
  bool held = false;
  explicit ArrayView(PyObject* array) { held = PyObject_GetBuffer(array, &buffer, PyBUF_RECORDS_RO) == 0; }
  ~ArrayView() {
    if (held) PyBuffer_Release(&buffer);
  }
};
void drop_view(void* p) {
  if (!Py_IsInitialized()) return;
  WithGil gil;
  delete static_cast<ArrayView*>(p);
}

PyObject* ndarray_type() {
  static PyObject* type = [] {
    PyRef module(check(PyImport_ImportModule("numpy")));
    return check(PyObject_GetAttrString(module.get(), "ndarray"));
  }();
  return type;
}

PyObject* from_numpy(PyObject*, PyObject* array) {
  return guarded([&]() -> PyObject* {
    UT_CHECK_TYPE(is_ndarray(array), "expected np.ndarray (got ", Py_TYPE(array)->tp_name, ")");
    Tensor t = from_ndarray(array, false);
    if (mode_is(kInferenceMode)) t.impl()->set(kInference);
    return wrap(std::move(t));
  });
}
PyObject* numpy_dtype_of(PyObject*, PyObject* dtype) {
  return guarded([&] { return new_ref(numpy_dtype(dtype_arg(dtype))); });
}
PyObject* dtype_of_numpy(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    auto t = dtype_from_numpy(o);
    UT_CHECK_TYPE(t, "there is no dtype like ", Py_TYPE(o)->tp_name);
    return wrap(*t);
  });
}

// frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False)
PyObject* frombuffer(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject *buffer, *dtype_object = nullptr;
    long long count = -1, offset = 0;
    int requires_grad = 0;
    static const char* names[] = {"buffer", "dtype", "count", "offset", "requires_grad", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OLLp", const_cast<char**>(names), &buffer, &dtype_object, &count,
                                     &offset, &requires_grad))
      throw PythonError();
    UT_CHECK_TYPE(dtype_object, "frombuffer() missing 1 required keyword-only arguments: \"dtype\"");
    DType dtype = dtype_arg(dtype_object);
    int64_t size = itemsize(dtype);
    UT_CHECK_VALUE(PyObject_CheckBuffer(buffer), "object does not implement Python buffer protocol.");
    auto view = std::make_unique<ArrayView>(buffer);
    if (!view->held) throw PythonError();
    int64_t length = view->buffer.len;
    UT_CHECK_VALUE(length > 0 && count != 0, "both buffer length (", length, ") and count (", count, ") must not be 0");
    UT_CHECK_VALUE(offset >= 0 && offset < length, "offset (", offset,
                   " bytes) must be non-negative and no greater than buffer length (", length, " bytes) minus 1");
    UT_CHECK_VALUE(count > 0 || (length - offset) % size == 0, "buffer length (", length - offset,
                   " bytes) after offset (", offset, " bytes) must be a multiple of element size (", size, ")");
    int64_t n = count < 0 ? (length - offset) / size : count;
    UT_CHECK_VALUE(n <= (length - offset) / size, "requested buffer length (", n, " * ", size, " bytes) after offset (",
                   offset, " bytes) must not be greater than actual buffer length (", length, " bytes)");
    UT_CHECK_VALUE(PyBuffer_IsContiguous(&view->buffer, 'C'), "ndarray is not C-contiguous");
    if (view->buffer.readonly) {
      warn(
          "The given buffer is not writable, and Undertow does not support non-writable tensors. This means you can "
          "write to the underlying (supposedly non-writable) buffer using "
          "the tensor. You may want to copy the buffer to protect its data or make it writable before converting it to "
          "a tensor.");
    }
    ArrayView* kept = view.release();
    Ref<Storage> storage =
        Storage::borrow(static_cast<char*>(kept->buffer.buf) + offset, static_cast<size_t>(n * size), drop_view, kept);
    Tensor t = over_storage(std::move(storage), Dims{n}, Dims{1}, 0, dtype);
    UT_CHECK(!requires_grad || is_differentiable(dtype),
             "Only Tensors of floating point and complex dtype can require gradients, but the dtype is ", dtype);
    if (requires_grad) t.impl()->set(kRequiresGrad);
    return wrap(std::move(t));
  });
}

PyMethodDef functions[] = {{"from_numpy", from_numpy, METH_O, "A tensor over a NumPy array's memory."},
                           {"frombuffer", reinterpret_cast<PyCFunction>(frombuffer), METH_VARARGS | METH_KEYWORDS,
                            "A one-dimensional tensor over an object's bytes."},
                           {"_numpy_dtype", numpy_dtype_of, METH_O, nullptr},
                           {"_dtype_from_numpy", dtype_of_numpy, METH_O, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool is_ndarray(PyObject* o) { return has_base_named(Py_TYPE(o), "numpy.ndarray"); }
bool is_numpy_scalar(PyObject* o) { return has_base_named(Py_TYPE(o), "numpy.generic"); }
std::optional<DType> numpy_scalar_dtype(PyObject* o) {
  return is_numpy_scalar(o) ? dtype_by_numpy_name(Py_TYPE(o)->tp_name) : std::nullopt;
}

Tensor from_ndarray(PyObject* array, bool for_reading) {
  auto view = std::make_unique<ArrayView>(array);
  if (!view->held) fail_unsupported(array);
  const Py_buffer& b = view->buffer;
  UT_CHECK_VALUE(!b.format || (b.format[0] != '>' && b.format[0] != '!'),
                 "given numpy array has byte order different from the native byte order. Conversion between byte "
                 "orders is currently not supported.");
  std::optional<DType> dtype = dtype_of_format(b.format, b.itemsize);
  if (!dtype) fail_unsupported(array);
  Dims sizes, strides;
  for (int i = 0; i < b.ndim; i++) {
    sizes.push_back(b.shape[i]);
    UT_CHECK_VALUE(
        b.strides[i] >= 0 || b.shape[i] <= 1,
        "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
        "supported. (You can probably work around this by making a copy of your array  with array.copy().) The strides "
        "in bytes are ",
        ShapeText{IntSpan(reinterpret_cast<const int64_t*>(b.strides), static_cast<size_t>(b.ndim))});
    UT_CHECK_VALUE(b.strides[i] % b.itemsize == 0,
                   "given numpy array strides not a multiple of the element byte size. Copy the numpy array to "
                   "reallocate the memory.");
    strides.push_back(std::max<int64_t>(b.strides[i] / b.itemsize, 0));
  }
  if (b.readonly && !for_reading) warn_read_only();
  size_t nbytes = storage_bytes(sizes, strides, 0, b.itemsize);
  void* data = b.buf;
  Ref<Storage> storage = Storage::borrow(data, nbytes, drop_view, view.release());
  return over_storage(std::move(storage), sizes, strides, 0, *dtype);
}

PyObject* numpy_dtype(DType t) {
  static PyObject* dtypes[kNumDTypes];
  UT_CHECK_TYPE(in_numpy(t), "Got unsupported ScalarType ", long_name(t));
  PyObject*& slot = dtypes[static_cast<int>(t)];
  if (!slot) {
    PyRef module(check(PyImport_ImportModule("numpy")));
    slot = check(PyObject_CallMethod(module.get(), "dtype", "s", name(t)));
  }
  return slot;
}

std::optional<DType> dtype_from_numpy(PyObject* o) {
  if (PyUnicode_Check(o)) return dtype_by_numpy_name(utf8(o));
  if (PyType_Check(o)) return dtype_by_numpy_name(reinterpret_cast<PyTypeObject*>(o)->tp_name);
  PyRef text(PyObject_GetAttrString(o, "name"));
  if (!text || !PyUnicode_Check(text.get())) {
    PyErr_Clear();
    return std::nullopt;
  }
  return dtype_by_numpy_name(utf8(text.get()));
}

PyObject* to_ndarray(const Tensor& t) {
  UT_CHECK_TYPE(!t.is_sparse(), "can't convert Sparse layout tensor to numpy array. Use Tensor.to_dense() first.");
  check_has_memory(t);
  PyObject* dtype = numpy_dtype(t.dtype());
  PyObject* type = ndarray_type();
  PyRef shape(check(PyTuple_New(t.dim()))), strides(check(PyTuple_New(t.dim())));
  for (int64_t i = 0; i < t.dim(); i++) {
    PyTuple_SET_ITEM(shape.get(), i, check(PyLong_FromLongLong(t.size(i))));
    PyTuple_SET_ITEM(strides.get(), i, check(PyLong_FromLongLong(t.stride(i) * t.itemsize())));
  }
  PyRef storage(storage_object(Ref<Storage>(t.impl()->storage)));
  t.storage().lock_address_forever();
  PyRef offset(check(PyLong_FromLongLong(t.numel() ? t.storage_offset() * t.itemsize() : 0)));
  PyObject* args[] = {shape.get(), dtype, storage.get(), offset.get(), strides.get()};
  return check(PyObject_Vectorcall(type, args, 5, nullptr));
}

bool init_numpy_functions(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace undertow::core::python
