// convert.cpp: see convert.h.
#include "core/python/arguments/convert.h"

#include <map>
#include "core/python/arguments/safe_read.h"

#include "core/python/interop/cuda_functions.h"
#include "core/python/printed_name.h"
#include "core/python/types/generator_object.h"
#include "generated/ops.h"

namespace undertow::core::python {

namespace {
const Tensor kNone;
}

const Tensor& opt_tensor_arg(PyObject* o) { return !o || o == Py_None ? kNone : tensor_of(o); }

std::vector<Tensor> tensor_list_arg(PyObject* o) {
  std::vector<Tensor> out;
  Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  out.reserve(static_cast<size_t>(n));
  // Nothing here runs Python, but another argument may have changed the list since it was checked.
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* x = PySequence_Fast_GET_ITEM(o, i);
    UT_CHECK_TYPE(x == Py_None || is_tensor(x), "expected Tensor as element ", i, ", but got ", Py_TYPE(x)->tp_name);
    out.push_back(opt_tensor_arg(x));
  }
  return out;
}
std::vector<Tensor> out_list_arg(PyObject* o, size_t n) {
  std::vector<Tensor> out = tensor_list_arg(o);
  UT_CHECK_TYPE(out.size() == n, "expected tuple of ", n, " elements but got ", out.size());
  return out;
}

Scalar scalar_arg(PyObject* o) {
  if (PyFloat_Check(o)) return Scalar(PyFloat_AS_DOUBLE(o));
  if (PyBool_Check(o)) return Scalar(o == Py_True);
  if (PyLong_Check(o)) {
    int overflow = 0;
    long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (v == -1 && PyErr_Occurred()) throw PythonError();
    if (UT_LIKELY(!overflow)) return Scalar(v);
    unsigned long wide = PyLong_AsUnsignedLong(o);
    if (PyErr_Occurred()) throw PythonError();
    return Scalar(wide);
  }
  if (PyComplex_Check(o)) return Scalar(std::complex<double>(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o)));
  if (is_tensor(o)) return ops::item(tensor_of(o));
  if (PyIndex_Check(o)) return scalar_arg(PyRef(check(PyNumber_Index(o))).get());
  Py_complex z = PyComplex_AsCComplex(o);
  if (z.real == -1.0 && PyErr_Occurred()) throw PythonError();
  return z.imag != 0 ? Scalar(std::complex<double>(z.real, z.imag)) : Scalar(z.real);
}
std::optional<Scalar> opt_scalar_arg(PyObject* o, std::optional<Scalar> fallback) {
  return !o ? fallback : o == Py_None ? std::nullopt : std::optional<Scalar>(scalar_arg(o));
}

int64_t int_arg(PyObject* o) {
  if (PyLong_Check(o)) {
    int overflow = 0;
    long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    UT_CHECK(!overflow, "Overflow when unpacking long long");
    if (v == -1 && PyErr_Occurred()) throw PythonError();
    return v;
  }
  if (is_tensor(o)) return ops::item(tensor_of(o)).to_int();
  PyRef index(check(PyNumber_Index(o)));
  return int_arg(index.get());
}
std::optional<int64_t> opt_int_arg(PyObject* o, std::optional<int64_t> fallback) {
  return !o ? fallback : o == Py_None ? std::nullopt : std::optional<int64_t>(int_arg(o));
}
double float_arg(PyObject* o) {
  if (is_tensor(o)) return ops::item(tensor_of(o)).to_double();
  double v = PyFloat_AsDouble(o);
  if (v == -1.0 && PyErr_Occurred()) throw PythonError();
  return v;
}
std::optional<double> opt_float_arg(PyObject* o, std::optional<double> fallback) {
  return !o ? fallback : o == Py_None ? std::nullopt : std::optional<double>(float_arg(o));
}
bool bool_arg(PyObject* o) {
  int v = PyObject_IsTrue(o);
  if (v < 0) throw PythonError();
  return v;
}
std::optional<bool> opt_bool_arg(PyObject* o, std::optional<bool> fallback) {
  return !o ? fallback : o == Py_None ? std::nullopt : std::optional<bool>(bool_arg(o));
}

Dims ints_arg(PyObject* o, int64_t repeat) {
  Dims out;
  if (PyTuple_Check(o) || PyList_Check(o)) {
    PyRef items = snapshot(o, "expected a sequence of ints");
    Py_ssize_t n = PyTuple_GET_SIZE(items.get());
    for (Py_ssize_t i = 0; i < n; i++) {
      PyObject* x = PyTuple_GET_ITEM(items.get(), i);
      UT_CHECK_TYPE(!PyFloat_Check(x) && (PyIndex_Check(x) || is_tensor(x)),
                    "expected a tuple of ints, but found element of type ", Py_TYPE(x)->tp_name, " at pos ", i);
      out.push_back(int_arg(x));
    }
  } else {
    out = Dims(static_cast<size_t>(repeat), int_arg(o));
  }
  return out;
}

DType dtype_arg(PyObject* o) { return dtype_of(o); }
std::optional<DType> opt_dtype_arg(PyObject* o, std::optional<DType> fallback) {
  return !o ? fallback : o == Py_None ? std::nullopt : std::optional<DType>(dtype_of(o));
}
std::string str_arg(PyObject* o) { return std::string(utf8(o)); }
std::optional<std::string_view> opt_str_arg(PyObject* o) {
  if (!o || o == Py_None) return std::nullopt;
  return utf8(o);
}
Generator* generator_arg(PyObject* o) { return !o || o == Py_None ? nullptr : generator_of(o); }
std::optional<Device> device_arg(PyObject* o) {
  return !o || o == Py_None ? std::nullopt : std::optional<Device>(device_of(o));
}
Device device_or_default(PyObject* o) { return !o || o == Py_None ? default_device() : device_of(o); }
std::optional<MemoryFormat> memory_format_arg(PyObject* o) {
  return !o || o == Py_None ? std::nullopt : std::optional<MemoryFormat>(memory_format_of(o));
}
std::optional<Layout> layout_arg(PyObject* o) {
  return !o || o == Py_None ? std::nullopt : std::optional<Layout>(layout_from(o));
}

FactoryArgs::FactoryArgs(PyObject** slots) : layout_(layout_arg(slots[0])) {
  pinned_ = slots[1] && slots[1] != Py_None && bool_arg(slots[1]);
  UT_CHECK(
      !pinned_ || cuda_control(),
      "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available on this "
      "system.");
  requires_grad_ = slots[2] && slots[2] != Py_None && bool_arg(slots[2]);
}
bool FactoryArgs::concerns_sparse(PyObject* first) const {
  if (!layout_) return false;
  return *layout_ != Layout::Strided || (first && is_tensor(first) && tensor_of(first).is_sparse());
}
PyObject* FactoryArgs::call_sparse(const char* name, PyObject** slots, size_t count) const {
  PyRef module(check(PyImport_ImportModule("undertow.sparse._factories")));
  PyRef function(check(PyObject_GetAttrString(module.get(), "create")));
  PyRef args(check(PyTuple_New(static_cast<Py_ssize_t>(count))));
  for (size_t i = 0; i < count; i++)
    PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i), new_ref(slots[i] ? slots[i] : Py_None));
  return PyObject_CallFunction(function.get(), "sOOO", name, layout_object(*layout_), args.get(),
                               requires_grad_ ? Py_True : Py_False);
}
Device FactoryArgs::device_of_out(PyObject* given, const Tensor& out) const {
  std::optional<Device> device = given ? device_arg(given) : std::nullopt;
  UT_CHECK(!device || device->type == out.device().type, "device type ", name(device->type),
           " does not match device type of out parameter (", name(out.device().type), ")");
  UT_CHECK(!layout_ || (*layout_ == Layout::Strided) == !out.is_sparse(), "layout ",
           *layout_ == Layout::Strided ? "Strided" : "Sparse", " does not match layout of out parameter (",
           out.is_sparse() ? "Sparse" : "Strided", ")");
  return out.device();
}
std::optional<DType> FactoryArgs::dtype_of_out(std::optional<DType> given, const Tensor& out) const {
  UT_CHECK(!given || *given == out.dtype(), "dtype ", long_name(*given), " does not match dtype of out parameter (",
           long_name(out.dtype()), ")");
  return out.dtype();
}
void FactoryArgs::finish(const Tensor& result) const {
  if (UT_UNLIKELY(pinned_)) {
    UT_CHECK(result.is_cpu(), "Only dense CPU tensors can be pinned, but this one is on ", result.device());
    pin(result.storage());
  }
  if (!requires_grad_) return;
  UT_CHECK(is_differentiable(result.dtype()),
           "Only Tensors of floating point and complex dtype can require gradients, but the dtype is ", result.dtype());
  result.impl()->set(kRequiresGrad);
}

PyObject* wrap(std::vector<Tensor> list) {
  PyRef out(check(PyTuple_New(static_cast<Py_ssize_t>(list.size()))));
  for (size_t i = 0; i < list.size(); i++)
    PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), check(wrap(std::move(list[i]))));
  return out.release();
}
PyObject* wrap(int64_t v) { return PyLong_FromLongLong(v); }
PyObject* wrap(bool v) { return PyBool_FromLong(v); }
PyObject* wrap(double v) { return PyFloat_FromDouble(v); }
PyObject* wrap(const Scalar& s) {
  switch (s.kind()) {
    case Scalar::Kind::Bool:
      return PyBool_FromLong(s.to<bool>());
    case Scalar::Kind::Int:
      return PyLong_FromLongLong(s.to_int());
    case Scalar::Kind::UInt:
      return PyLong_FromUnsignedLongLong(s.to<uint64_t>());
    case Scalar::Kind::Float:
      return PyFloat_FromDouble(s.to_double());
    case Scalar::Kind::Complex:
      return PyComplex_FromDoubles(s.to_complex().real(), s.to_complex().imag());
  }
  return nullptr;
}
PyObject* wrap(DType t) { return new_ref(dtype_object(t)); }

PyObject* wrap_sizes(IntSpan sizes) {
  // A Size is a tuple subclass without extra state, so tuple's own allocator can create it.
  PyObject* t = check(size_type->tp_alloc(size_type, static_cast<Py_ssize_t>(sizes.size())));
  for (size_t i = 0; i < sizes.size(); i++)
    PyTuple_SET_ITEM(t, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(sizes[i]));
  return t;
}

// Torch's format: one line per field.
static PyObject* return_repr(PyObject* self) {
  PyRef fields(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(self)), "__match_args__"));
  if (!fields) return nullptr;
  std::string text = str(printed_package(), strchr(Py_TYPE(self)->tp_name, '.'), "(\n");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fields.get()); i++) {
    PyRef shown(PyObject_Repr(PyTuple_GET_ITEM(self, i)));
    if (!shown) return nullptr;
    text += str(i ? ",\n" : "", utf8(PyTuple_GET_ITEM(fields.get(), i)), "=", utf8(shown.get()));
  }
  return PyUnicode_FromString((text + ")").c_str());
}

PyTypeObject* return_type(const char* name, std::initializer_list<const char*> fields) {
  static auto* types = new std::map<std::string, PyTypeObject*>;  // leaked: types live as long as the interpreter
  auto& slot = (*types)[name];
  if (!slot) {
    auto* storage = new std::vector<PyStructSequence_Field>;
    for (const char* f : fields) storage->push_back({f, nullptr});
    storage->push_back({nullptr, nullptr});
    auto* full = new std::string(str(printed_package(), ".return_types.", name));
    PyStructSequence_Desc desc{full->c_str(), nullptr, storage->data(), static_cast<int>(fields.size())};
    slot = PyStructSequence_NewType(&desc);
    if (!slot) throw PythonError();
    slot->tp_repr = return_repr;
  }
  return slot;
}

PyObject* wrap_items(std::vector<PyObject*> items, PyTypeObject* type) {
  Py_ssize_t n = static_cast<Py_ssize_t>(items.size());
  PyObject* out = check(type ? PyStructSequence_New(type) : PyTuple_New(n));
  for (Py_ssize_t i = 0; i < n; i++) {
    if (type)
      PyStructSequence_SetItem(out, i, items[static_cast<size_t>(i)]);
    else
      PyTuple_SET_ITEM(out, i, items[static_cast<size_t>(i)]);
  }
  return out;
}

}  // namespace undertow::core::python
