// storage_object.cpp: see storage_object.h.
// build: small
#include "core/python/types/storage_object.h"

#include <structmember.h>

#include <cstring>
#include <memory>
#include <unordered_map>

#include "core/python/arguments/convert.h"
#include "core/python/arguments/safe_read.h"
#include "core/python/cpython_versions.h"
#include "core/python/errors.h"
#include "core/python/interop/cuda_functions.h"
#include "core/python/printed_name.h"
#include "core/python/tensor/tensor_object.h"
#include "core/python/types/dtype_object.h"
#include "core/python/types/shared_memory.h"
#include "core/tensor/layout.h"
#include "core/tensor/storage/storage_copy.h"
#include "core/tensor/storage/storage_size.h"

namespace undertow::core::python {

namespace {

struct StorageObject {
  PyObject_HEAD Ref<Storage> storage;
  PyObject* attributes;  // __dict__
  PyObject* weak_references;
};
// The object of each storage that has one, so that asking twice returns the same. Guarded by the interpreter's lock.
std::unordered_map<const Storage*, PyObject*>& objects() {
  static auto* all =
      new std::unordered_map<const Storage*, PyObject*>;  // leaked: storages may outlive static destruction
  return *all;
}
PyTypeObject* storage_type;
StorageObject* as_storage(PyObject* o) { return reinterpret_cast<StorageObject*>(o); }
Storage& bytes_of(PyObject* o) { return *as_storage(o)->storage; }
// Raises if the storage has no bytes.
Storage& memory_of(PyObject* o) {
  Storage& s = bytes_of(o);
  UT_CHECK_AS(NotImplemented, !s.device().is_meta(), "Not available for '", s.device(),
              "' device: a storage there has no bytes to read or write");
  return s;
}
bool is_on_cuda(const Storage& s) { return s.device().type == DeviceType::CUDA; }
Ref<Storage> copy_on(Device device, const Storage& s) {
  Ref<Storage> copy = Storage::allocate(s.nbytes(), device);
  copy_bytes(*copy, s);
  return copy;
}
// The storage itself if the host can read its bytes, otherwise a copy that it can read.
Ref<Storage> readable(PyObject* o) {
  Storage& s = memory_of(o);
  return s.device().is_cpu() ? as_storage(o)->storage : copy_on(kCpu, s);
}
void set_bytes(Storage& s, int64_t value) {
  if (s.device().is_cpu()) {
    std::memset(s.data(), static_cast<int>(value), s.nbytes());
    return;
  }
  Ref<Storage> host = Storage::allocate(s.nbytes());
  set_bytes(*host, value);
  copy_bytes(s, *host);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_storage(self)->attributes);
  return 0;
}
int clear(PyObject* self) {
  Py_CLEAR(as_storage(self)->attributes);
  return 0;
}
void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  objects().erase(as_storage(self)->storage.get());  // before a callback of a weak reference can ask for it
  if (as_storage(self)->weak_references) PyObject_ClearWeakRefs(self);
  clear(self);
  as_storage(self)->storage.~Ref<Storage>();
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* new_object(PyTypeObject* type, Ref<Storage> storage) {
  PyObject* o = check(type->tp_alloc(type, 0));
  objects()[storage.get()] = o;
  new (&as_storage(o)->storage) Ref<Storage>(std::move(storage));
  return o;
}

// UntypedStorage(nbytes) or UntypedStorage(sequence of ints), with a device.
PyObject* storage_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject *first = nullptr, *device = Py_None;
    static const char* names[] = {"", "device", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O$O:UntypedStorage", const_cast<char**>(names), &first, &device))
      throw PythonError();
    Device where = device_arg(device).value_or(kCpu);
    if (!first) return new_object(type, Storage::allocate(0, where));
    if (is_storage(first)) return new_object(type, copy_on(where, bytes_of(first)));
    if (PyIndex_Check(first) && !PySequence_Check(first) && !is_tensor(first)) {  // also NumPy's integers
      int64_t n = int_arg(first);
      UT_CHECK(n >= 0, "UntypedStorage(): the size must not be negative, got ", n);
      return new_object(type, Storage::allocate(static_cast<size_t>(n), where));
    }
    UT_CHECK(!is_tensor(first), printed_package(), ".UntypedStorage(): Expected a sequence type, but got Tensor");
    PyRef list = snapshot(first, "UntypedStorage() takes a size or a sequence of bytes");
    Py_ssize_t n = PyTuple_GET_SIZE(list.get());
    Ref<Storage> s = Storage::allocate(static_cast<size_t>(n));
    for (Py_ssize_t i = 0; i < n; i++) {
      PyObject* item = PyTuple_GET_ITEM(list.get(), i);
      UT_CHECK(PyIndex_Check(item), printed_package(),
               ".UntypedStorage(): tried to construct a storage from a sequence (", Py_TYPE(first)->tp_name,
               "), but one of the items was of type ", Py_TYPE(item)->tp_name, " instead of int");
      s->data()[i] = static_cast<char>(int_arg(item));
    }
    return new_object(type, where.is_cpu() ? std::move(s) : copy_on(where, *s));
  });
}

PyObject* nbytes(PyObject* s, PyObject*) { return PyLong_FromSize_t(bytes_of(s).nbytes()); }
PyObject* size_in_memory(PyObject* s, PyObject*) {
  return PyLong_FromSize_t(sizeof(StorageObject) + bytes_of(s).nbytes());
}
PyObject* data_ptr(PyObject* s, PyObject*) {
  return PyLong_FromVoidPtr(bytes_of(s).nbytes() ? bytes_of(s).data() : nullptr);
}
PyObject* element_size(PyObject*, PyObject*) { return PyLong_FromLong(1); }
PyObject* resizable(PyObject* s, PyObject*) { return PyBool_FromLong(bytes_of(s).resizable()); }
PyObject* resize(PyObject* s, PyObject* n) {
  return guarded([&]() -> PyObject* {
    int64_t size = int_arg(n);
    UT_CHECK(size >= 0, "resize_: the size must not be negative, got ", size);
    bytes_of(s).resize(static_cast<size_t>(size));
    return new_ref(s);
  });
}
PyObject* clone(PyObject* s, PyObject*) {
  return guarded([&]() -> PyObject* { return storage_object(copy_on(bytes_of(s).device(), bytes_of(s))); });
}
PyObject* copy_from(PyObject* s, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* source;
    int non_blocking = 0;
    static const char* names[] = {"source", "non_blocking", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|p", const_cast<char**>(names), &source, &non_blocking))
      throw PythonError();
    UT_CHECK_TYPE(is_storage(source), "copy_: expected an UntypedStorage, got ", Py_TYPE(source)->tp_name);
    Storage &to = bytes_of(s), &from = bytes_of(source);
    UT_CHECK(to.nbytes() == from.nbytes(), "size does not match, self was ", to.nbytes(), " bytes but src was ",
             from.nbytes(), " bytes");
    UT_CHECK_AS(NotImplemented, from.data() || !to.data() || !to.nbytes(), "Cannot copy out of meta tensor; no data!");
    copy_bytes(to, from);
    to.bump_version("a write to its storage");
    return new_ref(s);
  });
}
PyObject* fill(PyObject* s, PyObject* value) {
  return guarded([&]() -> PyObject* {
    int64_t byte = int_arg(value);
    if (!bytes_of(s).device().is_meta()) set_bytes(bytes_of(s), byte);
    bytes_of(s).bump_version("a write to its storage");
    return new_ref(s);
  });
}
PyObject* tolist(PyObject* s, PyObject*) {
  return guarded([&]() -> PyObject* {
    Ref<Storage> b = readable(s);
    PyRef list(check(PyList_New(static_cast<Py_ssize_t>(b->nbytes()))));
    for (size_t i = 0; i < b->nbytes(); i++)
      PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), PyLong_FromLong(static_cast<uint8_t>(b->data()[i])));
    return list.release();
  });
}
PyObject* itself(PyObject* s, PyObject*) { return new_ref(s); }
PyObject* moved_to(PyObject* s, Device device) {
  return bytes_of(s).device() == device ? new_ref(s) : storage_object(copy_on(device, bytes_of(s)));
}
PyObject* cpu(PyObject* s, PyObject*) {
  return guarded([&] { return moved_to(s, kCpu); });
}
// cuda(device=None, non_blocking=False) and to(*, device, non_blocking=False)
template <bool kCuda>
PyObject* move(PyObject* s, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* device = Py_None;
    int non_blocking = 0;
    static const char* names[] = {"device", "non_blocking", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, kCuda ? "|Op" : "O|p", const_cast<char**>(names), &device,
                                     &non_blocking))
      throw PythonError();
    if (kCuda && device == Py_None) return moved_to(s, cuda_device({.type = DeviceType::CUDA}));
    return moved_to(s, device_of(device));
  });
}
// Memory of a GPU counts as shared, as in torch.
PyObject* is_shared_method(PyObject* s, PyObject*) {
  return PyBool_FromLong(is_shared(bytes_of(s)) || is_on_cuda(bytes_of(s)));
}
PyObject* share(PyObject* s, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (is_on_cuda(bytes_of(s))) return new_ref(s);
    UT_CHECK(bytes_of(s).device().is_cpu(), "_share_fd_: only available on CPU, the storage is on ",
             bytes_of(s).device());
    share_memory(bytes_of(s));
    return new_ref(s);
  });
}
PyObject* shared_descriptor_method(PyObject* s, PyObject*) {
  int fd = shared_descriptor(bytes_of(s));
  if (fd < 0) Py_RETURN_NONE;
  return PyLong_FromLong(fd);
}
// is_pinned(device="cuda") and pin_memory(device="cuda"): the device is not needed, there is one kind.
PyObject* is_pinned_method(PyObject* s, PyObject*, PyObject*) {
  return guarded([&] { return PyBool_FromLong(is_pinned(bytes_of(s))); });
}
PyObject* pin_memory(PyObject* s, PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    Storage& from = bytes_of(s);
    UT_CHECK_TYPE(from.device().is_cpu(), "cannot pin '", from.device(), "' only CPU memory can be pinned");
    if (is_pinned(from)) return new_ref(s);
    Ref<Storage> pinned = pinned_storage(from.nbytes());
    copy_bytes(*pinned, from);
    return storage_object(std::move(pinned));
  });
}
PyObject* device(PyObject* s, void*) { return device_object(bytes_of(s).device()); }
PyObject* is_cpu(PyObject* s, void*) { return PyBool_FromLong(bytes_of(s).device().is_cpu()); }
PyObject* is_cuda(PyObject* s, void*) { return PyBool_FromLong(is_on_cuda(bytes_of(s))); }
PyObject* identity(PyObject* s, void*) { return PyLong_FromVoidPtr(as_storage(s)->storage.get()); }

Py_ssize_t length(PyObject* s) { return static_cast<Py_ssize_t>(bytes_of(s).nbytes()); }
size_t index_arg(PyObject* s, PyObject* i) {
  UT_CHECK_TYPE(PyIndex_Check(i), "can't index a ", printed_package(), ".UntypedStorage with ", Py_TYPE(i)->tp_name);
  int64_t n = length(s), at = int_arg(i);
  UT_CHECK_INDEX(at >= -n && at < n, "index ", at, " out of range for storage of size ", n);
  return static_cast<size_t>(at < 0 ? at + n : at);
}
// A slice shares the bytes: it is a storage on a part of another, which it keeps alive.
Ref<Storage> part_of(PyObject* s, PyObject* slice) {
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(slice, &start, &stop, &step) < 0) throw PythonError();
  Py_ssize_t n = PySlice_AdjustIndices(length(s), &start, &stop, step);
  UT_CHECK(step == 1, "Trying to slice with a step of ", step, ", but only a step of 1 is supported");
  Storage* whole = &bytes_of(s);
  whole->retain();
  whole->lock_address();
  return Storage::borrow(
      whole->data() + start, static_cast<size_t>(n),
      [](void* p) {
        static_cast<Storage*>(p)->unlock_address();
        static_cast<Storage*>(p)->release();
      },
      whole, whole->device());
}
PyRef slice_of_one(size_t i) {
  PyRef start(check(PyLong_FromSize_t(i))), stop(check(PyLong_FromSize_t(i + 1)));
  return PyRef(check(PySlice_New(start.get(), stop.get(), nullptr)));
}
PyObject* subscript(PyObject* s, PyObject* i) {
  return guarded([&]() -> PyObject* {
    if (PySlice_Check(i)) return storage_object(part_of(s, i));
    if (bytes_of(s).device().is_cpu())
      return PyLong_FromLong(static_cast<uint8_t>(bytes_of(s).data()[index_arg(s, i)]));
    PyRef one = slice_of_one(index_arg(s, i));
    memory_of(s);
    return PyLong_FromLong(static_cast<uint8_t>(copy_on(kCpu, *part_of(s, one.get()))->data()[0]));
  });
}
int assign_subscript(PyObject* s, PyObject* i, PyObject* value) {
  try {
    UT_CHECK_TYPE(value, "UntypedStorage does not support deleting items");
    int64_t v = int_arg(value);
    memory_of(s);
    PyRef one = PySlice_Check(i) ? PyRef() : slice_of_one(index_arg(s, i));
    set_bytes(*part_of(s, one ? one.get() : i), v);
    bytes_of(s).bump_version("a write to its storage");
    return 0;
  } catch (...) {
    set_python_error();
    return -1;
  }
}
PyObject* repr(PyObject* s) {
  return guarded([&]() -> PyObject* {
    std::string text;
    if (bytes_of(s).device().is_meta()) {
      text = "...\n";
    } else {
      Ref<Storage> b = readable(s);
      for (size_t i = 0; i < b->nbytes(); i++) text += str(" ", int{static_cast<uint8_t>(b->data()[i])}, "\n");
    }
    return PyUnicode_FromFormat("%s[%s.storage.UntypedStorage(device=%s) of size %zd]", text.c_str(), printed_package(),
                                str(bytes_of(s).device()).c_str(), length(s));
  });
}
PyObject* compare(PyObject* a, PyObject* b, int op) {
  if (!is_storage(b) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((as_storage(a)->storage == as_storage(b)->storage) == (op == Py_EQ));
}
Py_hash_t hash(PyObject* s) { return hash_of_address(as_storage(s)->storage.get()); }

int get_buffer(PyObject* s, Py_buffer* view, int flags) {
  Storage& b = bytes_of(s);
  if (!b.device().is_cpu()) {
    PyErr_Format(PyExc_BufferError, "a storage on %s has no bytes to read", name(b.device().type));
    return -1;
  }
  if (PyBuffer_FillInfo(view, s, b.data(), static_cast<Py_ssize_t>(b.nbytes()), 0, flags) < 0) return -1;
  b.lock_address();
  return 0;
}
void release_buffer(PyObject* s, Py_buffer*) { bytes_of(s).unlock_address(); }

// UntypedStorage.from_file(filename, shared=False, nbytes=0): Python opens the file.
PyObject* from_file(PyObject*, PyObject* args, PyObject* kwargs) {
  PyRef module(PyImport_ImportModule("undertow.storage"));
  PyRef f(module ? PyObject_GetAttrString(module.get(), "_from_file") : nullptr);
  return f ? PyObject_Call(f.get(), args, kwargs) : nullptr;
}

PyObject* filename(PyObject* s, void*) {
  PyRef module(PyImport_ImportModule("undertow.storage"));
  return module ? PyObject_CallMethod(module.get(), "_filename", "O", s) : nullptr;
}

PyMethodDef methods[] = {
    {"from_file", reinterpret_cast<PyCFunction>(from_file), METH_VARARGS | METH_KEYWORDS | METH_STATIC,
     "The bytes of a file, mapped."},
    {"nbytes", nbytes, METH_NOARGS, "The number of bytes."},
    {"size", nbytes, METH_NOARGS, nullptr},
    {"__sizeof__", size_in_memory, METH_NOARGS, "For sys.getsizeof: with the bytes."},
    {"data_ptr", data_ptr, METH_NOARGS, "The address of the first byte."},
    {"element_size", element_size, METH_NOARGS, nullptr},
    {"resizable", resizable, METH_NOARGS, "May the number of bytes change?"},
    {"resize_", resize, METH_O, "Changes the number of bytes; tensors over them see the change."},
    {"clone", clone, METH_NOARGS, "A copy of the bytes."},
    {"copy_", reinterpret_cast<PyCFunction>(copy_from), METH_VARARGS | METH_KEYWORDS,
     "Copies the bytes of another storage of the same size."},
    {"fill_", fill, METH_O, "Sets every byte."},
    {"tolist", tolist, METH_NOARGS, "The bytes as a list of ints."},
    {"cpu", cpu, METH_NOARGS, nullptr},
    {"cuda", reinterpret_cast<PyCFunction>(move<true>), METH_VARARGS | METH_KEYWORDS, "The bytes on a GPU."},
    {"to", reinterpret_cast<PyCFunction>(move<false>), METH_VARARGS | METH_KEYWORDS, "The bytes on a device."},
    {"untyped", itself, METH_NOARGS, nullptr},
    {"share_memory_", share, METH_NOARGS, "Moves the bytes to memory that forked processes share."},
    {"is_shared", is_shared_method, METH_NOARGS, nullptr},
    {"_shared_fd", shared_descriptor_method, METH_NOARGS,
     "The descriptor by which other processes can map the bytes, or None."},
    {"is_pinned", reinterpret_cast<PyCFunction>(is_pinned_method), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"pin_memory", reinterpret_cast<PyCFunction>(pin_memory), METH_VARARGS | METH_KEYWORDS,
     "A copy in memory that a GPU can read directly."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef getset[] = {{"device", device, nullptr, nullptr, nullptr},
                        {"is_cuda", is_cuda, nullptr, nullptr, nullptr},
                        {"is_cpu", is_cpu, nullptr, nullptr, nullptr},
                        {"filename", filename, nullptr, "The file that shares the bytes, or None.", nullptr},
                        {"_cdata", identity, nullptr, "The storage's identity.", nullptr},
                        {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(StorageObject, attributes), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(StorageObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(storage_new)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {Py_tp_getset, getset},
                       {Py_tp_repr, reinterpret_cast<void*>(repr)},
                       {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
                       {Py_tp_hash, reinterpret_cast<void*>(hash)},
                       {Py_mp_length, reinterpret_cast<void*>(length)},
                       {Py_mp_subscript, reinterpret_cast<void*>(subscript)},
                       {Py_mp_ass_subscript, reinterpret_cast<void*>(assign_subscript)},
                       {Py_sq_length, reinterpret_cast<void*>(length)},
                       {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                       {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
                       {Py_tp_doc, const_cast<char*>("The bytes that tensors share.")},
                       {0, nullptr}};
PyType_Spec spec = {"undertow.UntypedStorage", sizeof(StorageObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

// ---- module functions, for undertow._pickle ----

PyObject* storage_from_buffer(PyObject*, PyObject* o) {
  return guarded([&] { return storage_object(storage_over_buffer(o)); });
}
// _tensor_over(storage, dtype, offset, size, stride)
PyObject* tensor_over(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *storage, *dtype, *offset, *size, *stride;
    if (!PyArg_ParseTuple(args, "OOOOO", &storage, &dtype, &offset, &size, &stride)) throw PythonError();
    Ref<Storage> s = is_storage(storage) ? storage_of(storage) : storage_over_buffer(storage);
    return wrap(over_storage(std::move(s), ints_arg(size), ints_arg(stride), int_arg(offset), dtype_arg(dtype)));
  });
}
// _storage_from_fd(fd, nbytes): maps memory that another process shares; the caller keeps the descriptor.
PyObject* storage_from_fd(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int fd;
    Py_ssize_t nbytes;
    if (!PyArg_ParseTuple(args, "in", &fd, &nbytes)) throw PythonError();
    return storage_object(shared_storage_of(fd, nbytes));
  });
}
PyMethodDef functions[] = {{"_storage_from_fd", storage_from_fd, METH_VARARGS, nullptr},
                           {"_storage_from_buffer", storage_from_buffer, METH_O, nullptr},
                           {"_tensor_over", tensor_over, METH_VARARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* storage_object(Ref<Storage> storage) {
  auto found = objects().find(storage.get());
  return found == objects().end() ? new_object(storage_type, std::move(storage)) : Py_NewRef(found->second);
}
bool is_storage(PyObject* o) { return PyObject_TypeCheck(o, storage_type); }
Ref<Storage> storage_of(PyObject* o) { return as_storage(o)->storage; }

Ref<Storage> storage_over_buffer(PyObject* o) {
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(o, view.get(), PyBUF_SIMPLE) < 0) throw PythonError();
  if (view->obj && is_storage(view->obj) && view->buf == bytes_of(view->obj).data()) {
    Ref<Storage> s = storage_of(view->obj);
    PyBuffer_Release(view.get());
    return s;
  }
  if (view->readonly) {
    Ref<Storage> s = Storage::allocate(static_cast<size_t>(view->len));
    if (view->len) std::memcpy(s->data(), view->buf, static_cast<size_t>(view->len));
    PyBuffer_Release(view.get());
    return s;
  }
  Py_buffer* kept = view.release();
  return Storage::borrow(
      kept->buf, static_cast<size_t>(kept->len),
      [](void* p) {
        if (!Py_IsInitialized()) return;
        WithGil gil;
        PyBuffer_Release(static_cast<Py_buffer*>(p));
        delete static_cast<Py_buffer*>(p);
      },
      kept);
}

Tensor over_storage(Ref<Storage> storage, IntSpan sizes, IntSpan strides, int64_t offset, DType dtype) {
  UT_CHECK(sizes.size() == strides.size(), "mismatch in length of strides and shape: ", ShapeText{strides}, " and ",
           ShapeText{sizes});
  UT_CHECK(offset >= 0, "Tensor: invalid storage offset ", offset);
  for (size_t i = 0; i < sizes.size(); i++) {
    UT_CHECK(sizes[i] >= 0, "Trying to create tensor with negative dimension ", sizes[i], ": ", ShapeText{sizes});
    UT_CHECK(strides[i] >= 0,
             "as_strided: Negative strides are not supported at the moment, got strides: ", ShapeText{strides});
  }
  size_t needed = storage_bytes(sizes, strides, offset, itemsize(dtype));
  UT_CHECK(needed <= storage->nbytes(), "setStorage: sizes ", ShapeText{sizes}, ", strides ", ShapeText{strides},
           ", storage offset ", offset, ", and itemsize ", itemsize(dtype), " requiring a storage size of ", needed,
           " are out of bounds for storage of size ", storage->nbytes());
  auto* impl = new TensorImpl;
  impl->set_device(storage->device());
  Tensor t = Tensor::adopt(impl);
  impl->dtype = dtype;
  impl->set_layout(sizes, strides);
  impl->offset = offset;
  impl->storage = storage.leak();
  return t;
}

bool init_storage_type(PyObject* module) {
  storage_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return storage_type &&
         PyModule_AddObjectRef(module, "UntypedStorage", reinterpret_cast<PyObject*>(storage_type)) == 0 &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace undertow::core::python
