// dlpack.cpp: shares memory with other array libraries by DLPack: both capsule versions, with strides, without copies.
// The structures are copied from dlpack.h (https://github.com/dmlc/dlpack, version 1): they are the protocol.
// build: small
#include <memory>

#include "core/forward/copy/copy.h"
#include "core/forward/index/index_common.h"
#include "core/python/arguments/convert.h"
#include "core/python/arguments/overridable.h"
#include "core/python/errors.h"
#include "core/python/interop/cuda_functions.h"
#include "core/python/tensor/tensor_attributes.h"
#include "core/python/types/storage_object.h"
#include "core/tensor/layout.h"
#include "core/tensor/mode.h"
#include "core/tensor/storage/storage_size.h"
#include "generated/ops.h"

namespace undertow::core::python {

namespace {

struct DLDevice {
  int32_t type;
  int32_t id;
};
struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null means row-major
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;
  DLTensor tensor;
};
enum DeviceCode : int32_t { kDlCpu = 1, kDlCuda = 2, kDlCudaHost = 3 };
constexpr uint64_t kCopied = 2;
enum Code : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6, kFloat8 = 10 };
// From kFloat8 on: e4m3fn, e4m3fnuz, e5m2, e5m2fnuz, e8m0fnu; by our order.
constexpr uint8_t kFloat8Codes[] = {kFloat8, kFloat8 + 2, kFloat8 + 1, kFloat8 + 3, kFloat8 + 4};
constexpr const char* kName = "dltensor";
constexpr const char* kUsedName = "used_dltensor";
constexpr const char* kVersionedName = "dltensor_versioned";
constexpr const char* kUsedVersionedName = "used_dltensor_versioned";

[[noreturn]] void fail_buffer(const std::string& message) {
  PyErr_SetString(PyExc_BufferError, message.c_str());
  throw PythonError();
}

uint8_t code_of(DType t) {
  if (is_float8(t)) return kFloat8Codes[static_cast<int>(t) - static_cast<int>(DType::Float8_e4m3fn)];
  return t == DType::Bool                           ? kBool
         : t == DType::UInt8 || is_wide_unsigned(t) ? kUInt
         : t == DType::BFloat16                     ? kBfloat
         : is_complex(t)                            ? kComplex
         : is_floating(t)                           ? kFloat
                                                    : kInt;
}

// Only for tensors on the CPU and on CUDA devices.
DLDevice to_dl(Device d) { return d.is_cpu() ? DLDevice{kDlCpu, 0} : DLDevice{kDlCuda, d.index}; }
void check_can_be_packed(const Tensor& t) {
  if (!t.is_cpu() && t.device().type != DeviceType::CUDA) fail_buffer(str("Cannot pack tensors on ", t.device()));
}
Device from_dl(DLDevice d) {
  if (d.type == kDlCpu || d.type == kDlCudaHost) return kCpu;
  if (d.type != kDlCuda)
    fail_buffer(str("from_dlpack: Unsupported device_type: ", d.type, "; this build knows the CPU, 1, and CUDA, 2"));
  return cuda_device({.type = DeviceType::CUDA, .index = static_cast<int8_t>(d.id)});
}

// DLPack's numbers for streams: 1 is the default stream, whose handle is 0; -1 asks for no synchronization.
constexpr int64_t kDefaultStream = 1, kNoSynchronization = -1;
// Makes work that the consumer issues to its stream start after what our current stream has.
void synchronize_with(int device, PyObject* stream) {
  int64_t theirs = stream == Py_None ? kDefaultStream : int_arg(stream);
  if (theirs == kNoSynchronization) return;
  UT_CHECK_VALUE(
      theirs != 0 && theirs != 2,
      "__dlpack__: stream 0 is ambiguous and 2 is a per-thread default stream, which are not supported; 1 is "
      "the default stream");
  if (theirs == kDefaultStream) theirs = 0;
  const CudaControl& cuda = require_cuda();
  int64_t ours = cuda.current_stream(device);
  if (ours != theirs) cuda.stream_wait_stream(device, theirs, ours);
}

DLDataType to_dl(DType t) {
  uint8_t bits = static_cast<uint8_t>(itemsize(t) * 8);
  return {code_of(t), bits, 1};
}
DType from_dl(DLDataType t) {
  for (int i = 0; i < kNumDTypes; i++) {
    DLDataType d = to_dl(static_cast<DType>(i));
    if (d.code == t.code && d.bits == t.bits && t.lanes == 1) return static_cast<DType>(i);
  }
  fail_buffer(str("from_dlpack: there is no dtype of code ", int{t.code}, " with ", int{t.bits}, " bits and ", t.lanes,
                  " lanes"));
}

// Keeps the memory of an exported tensor in place.
struct Exported {
  Ref<Storage> storage;
  Dims shape, strides;
  ~Exported() { storage->unlock_address(); }
};

template <class Managed>
Managed* export_tensor(const Tensor& t) {
  check_has_memory(t);
  auto* e = new Exported{Ref<Storage>(t.impl()->storage), Dims(t.sizes().begin(), t.sizes().end()),
                         Dims(t.strides().begin(), t.strides().end())};
  e->storage->lock_address();
  auto* m = new Managed{};
  m->context = e;
  m->deleter = [](Managed* self) {
    delete static_cast<Exported*>(self->context);
    delete self;
  };
  m->tensor = {t.numel() ? t.data() : nullptr,
               to_dl(t.device()),
               static_cast<int32_t>(t.dim()),
               to_dl(t.dtype()),
               e->shape.data(),
               e->strides.data(),
               0};
  return m;
}

// Frees a tensor whose capsule was never consumed.
template <class Managed>
void drop_capsule(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* m = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (m && m->deleter) m->deleter(m);
}

PyObject* to_dlpack(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject *stream = Py_None, *max_version = Py_None, *dl_device = Py_None, *copy = Py_None;
    static const char* names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO", const_cast<char**>(names), &stream, &max_version,
                                     &dl_device, &copy))
      throw PythonError();
    Tensor t = tensor_of(self);
    check_can_be_packed(t);
    if (t.requires_grad()) fail_buffer("Can't export tensors that require gradient, use tensor.detach()");
    if (t.is_conj()) fail_buffer("Can't export tensors with the conjugate bit set");
    if (t.is_neg()) fail_buffer("Can't export tensors with the negative bit set");
    if (dl_device != Py_None) {
      PyRef type(check(PySequence_GetItem(dl_device, 0)));
      int64_t wanted = int_arg(type.get());
      if (wanted == kDlCpu && !t.is_cpu() && copy != Py_False) {
        NoGradGuard no_grad;
        t = ops::cpu(t, std::nullopt);
      }
      if (wanted != to_dl(t.device()).type)
        fail_buffer(
            str("__dlpack__: the tensor is on ", t.device(), " and cannot be exported to DLPack device type ", wanted));
    }
    UT_CHECK_TYPE(stream == Py_None || PyIndex_Check(stream), "__dlpack__: stream must be ``int`` or ``none``, got ",
                  Py_TYPE(stream)->tp_name);
    if (!t.is_cpu()) synchronize_with(t.device().index, stream);
    if (copy == Py_True) t = fwd::clone_preserve(t);
    bool versioned = false;
    if (max_version != Py_None) {
      PyRef major(check(PySequence_GetItem(max_version, 0)));
      versioned = int_arg(major.get()) >= 1;
    }
    if (!versioned) {
      auto* m = export_tensor<DLManagedTensor>(t);
      return check(PyCapsule_New(m, kName, [](PyObject* c) { drop_capsule<DLManagedTensor>(c, kName); }));
    }
    auto* m = export_tensor<DLManagedTensorVersioned>(t);
    m->major = 1;
    m->flags = copy == Py_True ? kCopied : 0;
    return check(PyCapsule_New(m, kVersionedName,
                               [](PyObject* c) { drop_capsule<DLManagedTensorVersioned>(c, kVersionedName); }));
  });
}
PyObject* dlpack_device(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_of(self);
    UT_CHECK_VALUE(!t.is_meta(), "Unknown device type meta for Dlpack");
    DLDevice d = to_dl(t.device());
    return Py_BuildValue("(ii)", d.type, d.id);
  });
}

// A tensor on the memory of a capsule, which is consumed. `m` is freed with the tensor's storage.
template <class Managed>
Tensor import_tensor(Managed* m, PyObject* capsule, const char* used_name) {
  const DLTensor& d = m->tensor;
  const Device device = from_dl(d.device);
  DType dtype = from_dl(d.dtype);
  Dims shape(d.shape, d.shape + d.ndim), strides;
  if (d.strides)
    strides = Dims(d.strides, d.strides + d.ndim);
  else
    strides = contiguous_strides(shape);
  for (size_t i = 0; i < strides.size(); i++) {
    if (shape[i] <= 1 && strides[i] < 0) strides[i] = 1;
    UT_CHECK_VALUE(strides[i] >= 0,
                   "from_dlpack: At least one stride is negative, and tensors with negative strides are not currently "
                   "supported: strides ",
                   ShapeText{strides});
  }
  if (PyCapsule_SetName(capsule, used_name) < 0) throw PythonError();
  size_t nbytes = storage_bytes(shape, strides, 0, itemsize(dtype));
  Ref<Storage> storage = Storage::borrow(
      static_cast<char*>(d.data) + d.byte_offset, nbytes,
      [](void* p) {
        auto* managed = static_cast<Managed*>(p);
        if (!managed->deleter || !Py_IsInitialized()) return;
        WithGil gil;  // the deleter may drop Python objects
        managed->deleter(managed);
      },
      m, device);
  return over_storage(std::move(storage), shape, strides, 0, dtype);
}

Tensor from_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kVersionedName)) {
    auto* m = static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, kVersionedName));
    if (m->major > 1)
      fail_buffer(
          str("from_dlpack: the capsule's version ", m->major, ".", m->minor, " is newer than the 1.x known here"));
    return import_tensor(m, capsule, kUsedVersionedName);
  }
  UT_CHECK(PyCapsule_IsValid(capsule, kName),
           "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you "
           "might have already constructed a "
           "tensor from it once.");
  return import_tensor(static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, kName)), capsule, kUsedName);
}

// The number of the stream that will read the memory, or nothing if the source is not on a CUDA device.
PyRef consumer_stream(PyObject* source) {
  if (!PyObject_HasAttrString(source, "__dlpack_device__")) return {};
  PyRef device(check(PyObject_CallMethod(source, "__dlpack_device__", nullptr)));
  PyRef type(check(PySequence_GetItem(device.get(), 0))), id(check(PySequence_GetItem(device.get(), 1)));
  if (PyLong_AsLong(type.get()) != kDlCuda) return {};
  int64_t stream = require_cuda().current_stream(int_arg(id.get()));
  return PyRef(check(PyLong_FromLongLong(stream ? stream : kDefaultStream)));
}

PyRef capsule_from(PyObject* source) {
  PyRef method(PyObject_GetAttrString(source, "__dlpack__"));
  if (!method) throw PythonError();
  PyRef none(check(PyTuple_New(0))), kwargs(check(Py_BuildValue("{s:(ii)}", "max_version", 1, 0)));
  if (PyRef stream = consumer_stream(source); stream && PyDict_SetItemString(kwargs.get(), "stream", stream.get()) < 0)
    throw PythonError();
  PyRef capsule(PyObject_Call(method.get(), none.get(), kwargs.get()));
  if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {  // an exporter that predates versions
    PyErr_Clear();
    if (PyDict_DelItemString(kwargs.get(), "max_version") < 0) throw PythonError();
    capsule = PyRef(PyObject_Call(method.get(), none.get(), kwargs.get()));
  }
  if (!capsule) throw PythonError();
  return capsule;
}

PyObject* from_dlpack(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject *source, *device = Py_None, *copy = Py_None;
    static const char* names[] = {"ext_tensor", "device", "copy", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OO", const_cast<char**>(names), &source, &device, &copy))
      throw PythonError();
    std::optional<Device> place = device_arg(device);
    PyRef capsule;
    if (!PyCapsule_CheckExact(source)) {
      capsule = capsule_from(source);
      source = capsule.get();
    }
    Tensor t = from_capsule(source);
    if (place && *place != t.device()) {
      UT_CHECK_VALUE(copy != Py_False, "from_dlpack: cannot move the tensor from ", t.device(), " to ", *place,
                     " without a copy");
      t = fwd::on_device(t, *place);
    } else if (copy == Py_True) {
      t = fwd::clone_preserve(t);
    }
    if (mode_is(kInferenceMode)) t.impl()->set(kInference);
    return wrap(std::move(t));
  });
}
PyMethodDef functions[] = {{"from_dlpack", reinterpret_cast<PyCFunction>(from_dlpack), METH_VARARGS | METH_KEYWORDS,
                            "A tensor on the memory of an object that supports DLPack."},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_dlpack_methods(std::vector<PyMethodDef>& m) {
  m.insert(m.end(), {method<"__dlpack__", to_dlpack>(METH_VARARGS | METH_KEYWORDS),
                     method<"__dlpack_device__", dlpack_device>(METH_NOARGS)});
}
bool init_dlpack_functions(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace undertow::core::python
