// dtype_object.cpp: see dtype_object.h.
#include "core/python/types/dtype_object.h"

#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <undertow/types/device.h>

#include "core/python/arguments/convert.h"
#include "core/python/arguments/safe_read.h"

#include "core/python/errors.h"
#include "core/python/interop/cuda_functions.h"
#include "core/python/printed_name.h"

namespace undertow::core::python {

PyTypeObject *dtype_type, *device_type, *layout_type, *memory_format_type, *size_type;

namespace {

const char* package = "undertow";
PyObject* print_as(PyObject*,
                   PyObject* name) {  // called only by `as_torch`, with "torch" and, at its end, "undertow"
  return guarded([&]() -> PyObject* {
    UT_CHECK_TYPE(PyUnicode_Check(name), "_print_as: expected a string, got ", Py_TYPE(name)->tp_name);
    package = PyUnicode_CompareWithASCIIString(name, "torch") == 0 ? "torch" : "undertow";
    Py_RETURN_NONE;
  });
}
// Gives a type the module that `repr` shows and the name that Python's own messages show. Called only by `as_torch`.
PyObject* set_type_name(PyObject*, PyObject* args) {
  PyTypeObject* type;
  PyObject *module, *printed;
  if (!PyArg_ParseTuple(args, "O!UU", &PyType_Type, &type, &module, &printed)) return nullptr;
  return guarded([&]() -> PyObject* {
    UT_CHECK_TYPE(type->tp_flags & Py_TPFLAGS_HEAPTYPE, "_set_type_name: not a type of this module: ", type->tp_name);
    static auto* names = new std::set<std::string>;  // leaked: types live as long as the interpreter
    type->tp_name = names->emplace(utf8(printed)).first->c_str();
    if (PyDict_SetItemString(type->tp_dict, "__module__", module) < 0) throw PythonError();
    PyType_Modified(type);
    Py_RETURN_NONE;
  });
}
PyMethodDef functions[] = {{"_print_as", print_as, METH_O, nullptr},
                           {"_set_type_name", set_type_name, METH_VARARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

struct DTypeObject {
  PyObject_HEAD DType dtype;
};
PyObject* dtypes[kNumDTypes];

PyObject* dtype_repr(PyObject* self) {
  return PyUnicode_FromFormat("%s.%s", package, name(reinterpret_cast<DTypeObject*>(self)->dtype));
}
PyObject* dtype_reduce(PyObject* self, PyObject*) {  // pickled as the name of an attribute of the module
  PyRef module(PyImport_ImportModule("undertow._pickle"));
  if (!module) return nullptr;
  PyRef f(PyObject_GetAttrString(module.get(), "dtype_by_name"));
  if (!f) return nullptr;
  return Py_BuildValue("O(s)", f.get(), name(reinterpret_cast<DTypeObject*>(self)->dtype));
}
PyObject* dtype_to_real(PyObject* self, PyObject*) {
  return new_ref(dtype_object(to_real(reinterpret_cast<DTypeObject*>(self)->dtype)));
}
PyObject* dtype_to_complex(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    DType t = reinterpret_cast<DTypeObject*>(self)->dtype;
    UT_CHECK(is_differentiable(t) && !is_float8(t), "Unknown Complex ScalarType for ", long_name(t));
    return new_ref(dtype_object(to_complex(t)));
  });
}
PyMethodDef dtype_methods[] = {
    {"__reduce__", dtype_reduce, METH_NOARGS, nullptr},
    {"to_real", dtype_to_real, METH_NOARGS, "The real dtype of the same precision."},
    {"to_complex", dtype_to_complex, METH_NOARGS, "The complex dtype of the same precision."},
    {nullptr, nullptr, 0, nullptr}};
PyObject* dtype_is_floating(PyObject* s, void*) {
  return PyBool_FromLong(is_floating(reinterpret_cast<DTypeObject*>(s)->dtype));
}
PyObject* dtype_is_complex(PyObject* s, void*) {
  return PyBool_FromLong(is_complex(reinterpret_cast<DTypeObject*>(s)->dtype));
}
PyObject* dtype_is_signed(PyObject* s, void*) {
  DType t = reinterpret_cast<DTypeObject*>(s)->dtype;
  return PyBool_FromLong(t != DType::Bool && t != DType::UInt8 && !is_wide_unsigned(t) && t != DType::Float8_e8m0fnu);
}
PyObject* dtype_itemsize(PyObject* s, void*) {
  return PyLong_FromLong(itemsize(reinterpret_cast<DTypeObject*>(s)->dtype));
}
PyGetSetDef dtype_getset[] = {{"is_floating_point", dtype_is_floating, nullptr, nullptr, nullptr},
                              {"is_complex", dtype_is_complex, nullptr, nullptr, nullptr},
                              {"is_signed", dtype_is_signed, nullptr, nullptr, nullptr},
                              {"itemsize", dtype_itemsize, nullptr, nullptr, nullptr},
                              {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot dtype_slots[] = {{Py_tp_repr, reinterpret_cast<void*>(dtype_repr)},
                             {Py_tp_methods, dtype_methods},
                             {Py_tp_getset, dtype_getset},
                             {0, nullptr}};
PyType_Spec dtype_spec = {"undertow.dtype", sizeof(DTypeObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, dtype_slots};

struct DeviceObject {
  PyObject_HEAD Device device;
};
Device parse_device(const std::string& s) { return undertow::Device(s); }
// A number is a GPU's.
Device device_by_number(PyObject* number) {
  int64_t index = int_arg(number);
  UT_CHECK(index >= 0, "Device index must not be negative, got ", index);
  UT_CHECK(index < 128, "device: the index must be below 128, got ", index);
  UT_CHECK(cuda_control(), "Cannot access accelerator device when none is available.");
  return {.type = DeviceType::CUDA, .index = static_cast<int8_t>(index)};
}
// Of a device, a string or a number.
Device named_device(PyObject* o) {
  if (Py_TYPE(o) == device_type) return reinterpret_cast<DeviceObject*>(o)->device;
  if (PyLong_Check(o) && !PyBool_Check(o)) return device_by_number(o);
  UT_CHECK_TYPE(PyUnicode_Check(o), "expected a device or a string, got ", Py_TYPE(o)->tp_name);
  return parse_device(std::string(utf8(o)));
}
PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* kw) {
  return guarded([&]() -> PyObject* {
    PyObject *type = nullptr, *number = Py_None;
    static const char* names[] = {"type", "index", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kw, "O|O", const_cast<char**>(names), &type, &number)) throw PythonError();
    bool given = number != Py_None;
    long index = given ? PyLong_AsLong(number) : 0;
    if (index == -1 && PyErr_Occurred()) throw PythonError();
    UT_CHECK(index >= 0, "Device index must not be negative, got ", index);
    UT_CHECK(index < 128, "device: the index must be below 128, got ", index);
    if (Py_TYPE(type) == device_type) return new_ref(type);
    if (PyLong_CheckExact(type)) return device_object(device_by_number(type));
    UT_CHECK_TYPE(PyUnicode_Check(type), "device(): argument 'type' must be str, not ", Py_TYPE(type)->tp_name);
    Device d = parse_device(std::string(utf8(type)));
    UT_CHECK(!given || d.index < 0,
             "type (string) must not include an index because index was passed explicitly: ", utf8(type));
    if (given) d.index = static_cast<int8_t>(index);
    return device_object(d);
  });
}
PyObject* device_str(PyObject* s) {
  Device d = reinterpret_cast<DeviceObject*>(s)->device;
  return d.index < 0 ? PyUnicode_FromString(name(d.type)) : PyUnicode_FromFormat("%s:%d", name(d.type), d.index);
}
PyObject* device_repr(PyObject* s) {
  Device d = reinterpret_cast<DeviceObject*>(s)->device;
  return d.index < 0 ? PyUnicode_FromFormat("device(type='%s')", name(d.type))
                     : PyUnicode_FromFormat("device(type='%s', index=%d)", name(d.type), d.index);
}
PyObject* device_compare(PyObject* a, PyObject* b, int op) {
  if (Py_TYPE(b) != device_type || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  bool eq = reinterpret_cast<DeviceObject*>(a)->device == reinterpret_cast<DeviceObject*>(b)->device;
  return PyBool_FromLong(eq == (op == Py_EQ));
}
Py_hash_t device_hash(PyObject* s) {
  Device d = reinterpret_cast<DeviceObject*>(s)->device;
  return static_cast<int>(d.type) * 1000 + d.index + 2;
}
PyObject* device_type_of(PyObject* s, void*) {
  return PyUnicode_FromString(name(reinterpret_cast<DeviceObject*>(s)->device.type));
}
PyObject* device_index(PyObject* s, void*) {
  Device d = reinterpret_cast<DeviceObject*>(s)->device;
  if (d.index < 0) Py_RETURN_NONE;
  return PyLong_FromLong(d.index);
}
PyObject* device_reduce(PyObject* s, PyObject*) { return Py_BuildValue("O(N)", device_type, device_str(s)); }
// `with device(...)` sets the device of tensors created inside.
// The devices to restore, innermost last. Only `with` statements change it, so it is a stack.
thread_local std::vector<Device> outer_devices;
thread_local Device chosen_device;
PyObject* device_enter(PyObject* s, PyObject*) {
  return guarded([&]() -> PyObject* {
    Device d = device_of(s);
    outer_devices.push_back(chosen_device);
    chosen_device = d;
    return new_ref(s);
  });
}
PyObject* device_exit(PyObject*, PyObject*) {
  if (!outer_devices.empty()) {
    chosen_device = outer_devices.back();
    outer_devices.pop_back();
  }
  Py_RETURN_NONE;
}
PyMethodDef device_methods[] = {{"__reduce__", device_reduce, METH_NOARGS, nullptr},
                                {"__enter__", device_enter, METH_NOARGS, nullptr},
                                {"__exit__", device_exit, METH_VARARGS, nullptr},
                                {nullptr, nullptr, 0, nullptr}};
PyGetSetDef device_getset[] = {{"type", device_type_of, nullptr, nullptr, nullptr},
                               {"index", device_index, nullptr, nullptr, nullptr},
                               {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot device_slots[] = {{Py_tp_new, reinterpret_cast<void*>(device_new)},
                              {Py_tp_str, reinterpret_cast<void*>(device_str)},
                              {Py_tp_repr, reinterpret_cast<void*>(device_repr)},
                              {Py_tp_richcompare, reinterpret_cast<void*>(device_compare)},
                              {Py_tp_hash, reinterpret_cast<void*>(device_hash)},
                              {Py_tp_getset, device_getset},
                              {Py_tp_methods, device_methods},
                              {0, nullptr}};
PyType_Spec device_spec = {"undertow.device", sizeof(DeviceObject), 0, Py_TPFLAGS_DEFAULT, device_slots};

// layout and memory_format: named singletons.
struct NamedObject {
  PyObject_HEAD const char* name;
  int value;
};
PyObject* named_repr(PyObject* s) {
  return PyUnicode_FromFormat("%s.%s", package, reinterpret_cast<NamedObject*>(s)->name);
}
PyObject* named_reduce(PyObject* s, PyObject*) {
  PyRef module(PyImport_ImportModule("undertow._pickle"));
  if (!module) return nullptr;
  PyRef f(PyObject_GetAttrString(module.get(), "dtype_by_name"));
  if (!f) return nullptr;
  return Py_BuildValue("O(s)", f.get(), reinterpret_cast<NamedObject*>(s)->name);
}
PyMethodDef named_methods[] = {{"__reduce__", named_reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyType_Slot named_slots[] = {
    {Py_tp_repr, reinterpret_cast<void*>(named_repr)}, {Py_tp_methods, named_methods}, {0, nullptr}};
PyType_Spec layout_spec = {"undertow.layout", sizeof(NamedObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, named_slots};
PyType_Spec format_spec = {"undertow.memory_format", sizeof(NamedObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, named_slots};
PyObject* layout_objects[kNumLayouts];
PyObject* format_objects[4];

PyObject* make_named(PyTypeObject* type, const char* name, int value) {
  auto* o = reinterpret_cast<NamedObject*>(type->tp_alloc(type, 0));
  if (!o) return nullptr;
  o->name = name;
  o->value = value;
  return reinterpret_cast<PyObject*>(o);
}

// Size: a tuple of ints with numel(), printed like torch's.
PyObject* size_repr(PyObject* s) {
  PyRef list(PySequence_List(s));
  return list ? PyUnicode_FromFormat("%s.Size(%R)", package, list.get()) : nullptr;
}
PyObject* size_numel(PyObject* s, PyObject*) {
  long long n = 1;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(s); i++) n *= PyLong_AsLongLong(PyTuple_GET_ITEM(s, i));
  return PyErr_Occurred() ? nullptr : PyLong_FromLongLong(n);
}
PyObject* as_size(PyObject* tuple) {  // steals
  if (!tuple || !PyTuple_Check(tuple)) return tuple;
  PyRef owned(tuple);
  return PyObject_CallOneArg(reinterpret_cast<PyObject*>(size_type), tuple);
}
PyObject* size_concat(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(b)) Py_RETURN_NOTIMPLEMENTED;
  return as_size(PyTuple_Type.tp_as_sequence->sq_concat(a, b));
}
PyObject* size_add(PyObject* a, PyObject* b) {  // also a plain tuple before a Size
  if (!PyTuple_Check(a) || !PyTuple_Check(b)) Py_RETURN_NOTIMPLEMENTED;
  return as_size(PyTuple_Type.tp_as_sequence->sq_concat(a, b));
}
PyObject* size_repeat(PyObject* a, Py_ssize_t n) { return as_size(PyTuple_Type.tp_as_sequence->sq_repeat(a, n)); }
PyObject* size_subscript(PyObject* a, PyObject* i) {
  PyObject* r = PyTuple_Type.tp_as_mapping->mp_subscript(a, i);
  return PySlice_Check(i) ? as_size(r) : r;
}
PyObject* size_new(PyTypeObject* type, PyObject* args, PyObject* kw) {
  PyRef self(PyTuple_Type.tp_new(type, args, kw));
  if (!self) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self.get()); i++) {
    PyObject* x = PyTuple_GET_ITEM(self.get(), i);
    if (PyLong_Check(x)) continue;
    PyObject* index = PyNumber_Index(x);
    if (!index) {
      PyErr_Format(PyExc_TypeError, "%s.Size() takes an iterable of 'int' (item %zd is '%s')", printed_package(), i,
                   Py_TYPE(x)->tp_name);
      return nullptr;
    }
    PyTuple_SET_ITEM(self.get(), i, index);
    Py_DECREF(x);
  }
  return self.release();
}
PyObject* size_reduce(PyObject* s, PyObject*) {
  PyRef tuple(PySequence_List(s));
  return tuple ? Py_BuildValue("O(O)", size_type, tuple.get()) : nullptr;
}
PyMethodDef size_methods[] = {{"numel", size_numel, METH_NOARGS, "The product of the sizes."},
                              {"__reduce__", size_reduce, METH_NOARGS, nullptr},
                              {nullptr, nullptr, 0, nullptr}};
PyType_Slot size_slots[] = {{Py_tp_repr, reinterpret_cast<void*>(size_repr)},
                            {Py_tp_methods, size_methods},
                            {Py_tp_new, reinterpret_cast<void*>(size_new)},
                            {Py_sq_concat, reinterpret_cast<void*>(size_concat)},
                            {Py_nb_add, reinterpret_cast<void*>(size_add)},
                            {Py_sq_repeat, reinterpret_cast<void*>(size_repeat)},
                            {Py_mp_subscript, reinterpret_cast<void*>(size_subscript)},
                            {0, nullptr}};
PyType_Spec size_spec = {"undertow.Size", 0, 0, Py_TPFLAGS_DEFAULT, size_slots};

}  // namespace

PyObject* dtype_object(DType t) { return dtypes[static_cast<int>(t)]; }
bool is_dtype(PyObject* o) { return Py_TYPE(o) == dtype_type; }
bool accepts_as_dtype(PyObject* o) {
  return is_dtype(o) || o == reinterpret_cast<PyObject*>(&PyFloat_Type) ||
         o == reinterpret_cast<PyObject*>(&PyLong_Type) || o == reinterpret_cast<PyObject*>(&PyBool_Type) ||
         o == reinterpret_cast<PyObject*>(&PyComplex_Type);
}
DType dtype_of(PyObject* o) {
  if (is_dtype(o)) return reinterpret_cast<DTypeObject*>(o)->dtype;
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::Float64;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::Int64;
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::Bool;
  if (o == reinterpret_cast<PyObject*>(&PyComplex_Type)) return DType::Complex128;
  UT_FAIL_AS(Type, "expected a dtype, got ", Py_TYPE(o)->tp_name);
}
PyObject* device_object(Device d) {
  auto* o = reinterpret_cast<DeviceObject*>(device_type->tp_alloc(device_type, 0));
  if (o) o->device = d;
  return reinterpret_cast<PyObject*>(o);
}
Device device_of(PyObject* o) {
  Device d = named_device(o);
  if (d.is_cpu() || d.is_meta()) return {.type = d.type};  // one device each, so no index
  if (d.type == DeviceType::CUDA) return cuda_device(d);
  UT_CHECK(d.type == DeviceType::XPU, "PyTorch is not linked with support for ", name(d.type),
           " devices; this build of Undertow knows the CPU and CUDA");
  PyErr_SetString(PyExc_AssertionError,
                  "Torch not compiled with XPU enabled; this build of Undertow knows the CPU and CUDA");
  throw PythonError();  // torch raises AssertionError here, which is not an error kind of the core
}
Device default_device() { return chosen_device; }
void set_default_device(Device d) { chosen_device = d; }
const char* printed_package() { return package; }
PyObject* layout_object(Layout l) { return layout_objects[static_cast<int>(l)]; }
Layout layout_from(PyObject* o) { return static_cast<Layout>(reinterpret_cast<NamedObject*>(o)->value); }
PyObject* memory_format_object(MemoryFormat m) { return format_objects[static_cast<int>(m)]; }
MemoryFormat memory_format_of(PyObject* o) {
  return static_cast<MemoryFormat>(reinterpret_cast<NamedObject*>(o)->value);
}

bool init_dtype_types(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) return false;
  auto make = [&](PyTypeObject*& slot, PyType_Spec& spec, PyObject* base, const char* name) {
    slot = reinterpret_cast<PyTypeObject*>(base ? PyType_FromSpecWithBases(&spec, base) : PyType_FromSpec(&spec));
    return slot && PyModule_AddObjectRef(module, name, reinterpret_cast<PyObject*>(slot)) == 0;
  };
  if (!make(dtype_type, dtype_spec, nullptr, "dtype") || !make(device_type, device_spec, nullptr, "device") ||
      !make(layout_type, layout_spec, nullptr, "layout") ||
      !make(memory_format_type, format_spec, nullptr, "memory_format") ||
      !make(size_type, size_spec, reinterpret_cast<PyObject*>(&PyTuple_Type), "Size"))
    return false;
  for (int i = 0; i < kNumDTypes; i++) {
    auto* o = reinterpret_cast<DTypeObject*>(dtype_type->tp_alloc(dtype_type, 0));
    if (!o) return false;
    o->dtype = static_cast<DType>(i);
    dtypes[i] = reinterpret_cast<PyObject*>(o);
    if (PyModule_AddObjectRef(module, name(o->dtype), dtypes[i]) < 0) return false;
  }
  struct Alias {
    const char* name;
    DType dtype;
  };
  for (Alias a : {Alias{"half", DType::Float16},
                  {"float", DType::Float32},
                  {"double", DType::Float64},
                  {"short", DType::Int16},
                  {"int", DType::Int32},
                  {"long", DType::Int64},
                  {"chalf", DType::Complex32},
                  {"cfloat", DType::Complex64},
                  {"cdouble", DType::Complex128}})
    if (PyModule_AddObjectRef(module, a.name, dtype_object(a.dtype)) < 0) return false;
  for (int i = 0; i < kNumLayouts; i++) {
    const char* text = name(static_cast<Layout>(i));
    layout_objects[i] = make_named(layout_type, text, i);
    if (!layout_objects[i] || PyModule_AddObjectRef(module, text, layout_objects[i]) < 0) return false;
  }
  static const char* const format_names[] = {"contiguous_format", "preserve_format", "channels_last",
                                             "channels_last_3d"};
  for (int i = 0; i < 4; i++) {
    format_objects[i] = make_named(memory_format_type, format_names[i], i);
    if (!format_objects[i] || PyModule_AddObjectRef(module, format_names[i], format_objects[i]) < 0) return false;
  }
  return true;
}

}  // namespace undertow::core::python
