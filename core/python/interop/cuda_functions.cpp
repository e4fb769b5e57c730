// cuda_functions.cpp: see cuda_functions.h.
// build: small
#include "core/python/interop/cuda_functions.h"

#include <array>
#include <string>
#include <tuple>

#include "core/kernels/generator.h"
#include "core/kernels/load_backend.h"
#include "core/python/arguments/convert.h"
#include "core/python/arguments/safe_read.h"
#include "core/python/errors.h"
#include "core/python/interop/extension_functions.h"
#include "core/python/types/generator_object.h"
#include "core/tensor/storage/device_memory.h"
#include "core/tensor/storage/storage_copy.h"

namespace undertow::core::python {

namespace {

// Why there is no GPU to use, for messages.
std::string missing_reason = "this installation has no CUDA backend";

// Opens the library and tells it where NVIDIA's wheels are. Holds the interpreter's lock, which orders first calls.
const CudaControl* open_control() {
  const auto* control = static_cast<const CudaControl*>(backend_control(DeviceType::CUDA));
  if (!control) return nullptr;
  PyRef module(check(PyImport_ImportModule("undertow.cuda._wheels")));
  PyRef folders(check(PyObject_CallMethod(module.get(), "library_folders", nullptr)));
  control->set_wheel_folders(std::string(utf8(folders.get())));
  if (control->is_available()) return control;
  missing_reason = control->unavailable_reason();
  return nullptr;
}

// ---- functions of the table as Python functions ----

template <class T>
T from_python(PyObject* o) {
  if constexpr (std::is_same_v<T, bool>) {
    return bool_arg(o);
  } else if constexpr (std::is_same_v<T, double>) {
    double v = PyFloat_AsDouble(o);
    if (v == -1.0 && PyErr_Occurred()) throw PythonError();
    return v;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return std::string(utf8(o));
  } else {
    return int_arg(o);
  }
}

PyObject* to_python(bool v) { return PyBool_FromLong(v); }
PyObject* to_python(int64_t v) { return PyLong_FromLongLong(v); }
PyObject* to_python(double v) { return PyFloat_FromDouble(v); }
PyObject* to_python(const std::string& v) {
  return PyUnicode_DecodeUTF8(v.data(), static_cast<Py_ssize_t>(v.size()), "replace");
}
PyObject* to_python(std::pair<int64_t, int64_t> v) {
  return Py_BuildValue("(LL)", static_cast<long long>(v.first), static_cast<long long>(v.second));
}
PyObject* to_python(const CudaFigures& figures) {
  PyRef dict(check(PyDict_New()));
  for (const auto& [name, value] : figures) {
    PyRef number(check(to_python(value)));
    if (PyDict_SetItemString(dict.get(), name.c_str(), number.get()) < 0) throw PythonError();
  }
  return dict.release();
}
PyObject* to_python(const std::vector<CudaFigures>& list) {
  PyRef out(check(PyList_New(static_cast<Py_ssize_t>(list.size()))));
  for (size_t i = 0; i < list.size(); i++)
    PyList_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), check(to_python(list[i])));
  return out.release();
}

template <size_t... at, class R, class... Args>
PyObject* call_with(std::index_sequence<at...>, R (*function)(Args...), PyObject* const* given, Py_ssize_t n) {
  UT_CHECK_TYPE(n == static_cast<Py_ssize_t>(sizeof...(Args)), "expected ", sizeof...(Args), " arguments, got ", n);
  (void)given;
  std::tuple<Args...> args{from_python<Args>(given[at])...};
  if constexpr (std::is_void_v<R>) {
    {
      Unlocked free;  // the driver may wait
      std::apply(function, std::move(args));
    }
    Py_RETURN_NONE;
  } else {
    R result = [&] {
      Unlocked free;
      return std::apply(function, std::move(args));
    }();
    return check(to_python(result));
  }
}
template <class R, class... Args>
PyObject* call_function(R (*function)(Args...), PyObject* const* given, Py_ssize_t n) {
  return call_with(std::index_sequence_for<Args...>(), function, given, n);
}
template <auto member>
PyObject* call(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&] { return call_function(require_cuda().*member, args, n); });
}
template <auto member>
PyMethodDef row(const char* name) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call<member>)), METH_FASTCALL, nullptr};
}

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "undertow._C._cuda", nullptr, 0, nullptr, nullptr, nullptr, nullptr, nullptr};

PyObject* make_module() {
#define UT_ROW(name) row<&CudaControl::name>(#name)
  static std::array methods = {UT_ROW(driver_version),     UT_ROW(device_count),        UT_ROW(current_device),
                               UT_ROW(set_current_device), UT_ROW(device_name),         UT_ROW(device_uuid),
                               UT_ROW(device_properties),  UT_ROW(can_access_peer),     UT_ROW(synchronize),
                               UT_ROW(current_stream),     UT_ROW(set_current_stream),  UT_ROW(new_stream),
                               UT_ROW(stream_query),       UT_ROW(stream_synchronize),  UT_ROW(stream_wait_event),
                               UT_ROW(stream_wait_stream), UT_ROW(is_capturing),        UT_ROW(new_event),
                               UT_ROW(destroy_event),      UT_ROW(record_event),        UT_ROW(event_query),
                               UT_ROW(event_synchronize),  UT_ROW(event_elapsed),       UT_ROW(memory_stats),
                               UT_ROW(memory_info),        UT_ROW(reset_peak_stats),    UT_ROW(reset_accumulated_stats),
                               UT_ROW(empty_cache),        UT_ROW(set_memory_fraction), UT_ROW(memory_fraction),
                               UT_ROW(allocate),           UT_ROW(deallocate),          UT_ROW(record_stream),
                               UT_ROW(memory_snapshot),    UT_ROW(pinned_stats),        UT_ROW(new_pool),
                               UT_ROW(capture_begin),      UT_ROW(capture_end),         UT_ROW(capture_abandon),
                               UT_ROW(graph_launch),       UT_ROW(graph_destroy),       UT_ROW(release_pool),
                               UT_ROW(get_switch),         UT_ROW(set_switch),          PyMethodDef{}};
#undef UT_ROW
  PyRef module(check(PyModule_Create(&definition)));
  if (PyModule_AddFunctions(module.get(), methods.data()) < 0) throw PythonError();
  return module.release();
}

PyObject* cuda_module(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (!cuda_control()) Py_RETURN_NONE;
    static PyObject* module = make_module();
    return new_ref(module);
  });
}
PyObject* cuda_missing(PyObject*, PyObject*) { return PyUnicode_FromString(missing_reason.c_str()); }

// Has a GPU been used, or asked for?
PyObject* cuda_is_open(PyObject*, PyObject*) {
  return guarded([&] { return PyBool_FromLong(backends[static_cast<size_t>(DeviceType::CUDA)] && cuda_control()); });
}
PyObject* default_generator_of(PyObject*, PyObject* device) {
  return guarded([&] { return generator_object(&default_generator(device_of(device))); });
}

PyMethodDef functions[] = {{"_cuda", cuda_module, METH_NOARGS, nullptr},
                           {"_cuda_is_open", cuda_is_open, METH_NOARGS, nullptr},
                           {"_default_generator_of", default_generator_of, METH_O, nullptr},
                           {"_cuda_missing", cuda_missing, METH_NOARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

const CudaControl* cuda_control() {
  static const CudaControl* control = open_control();
  return control;
}

const CudaControl& require_cuda() {
  const CudaControl* control = cuda_control();
  if (UT_LIKELY(control)) return *control;
  // Torch raises AssertionError here, which is not an error kind of the core.
  PyErr_Format(PyExc_AssertionError, "Torch not compiled with CUDA enabled; this Undertow computes on the CPU only: %s",
               missing_reason.c_str());
  throw PythonError();
}

Device cuda_device(Device device) {
  require_cuda();
  return resolve_device(device);
}

bool is_pinned(const Storage& s) {
  if (!s.device().is_cpu() || !s.nbytes()) return false;
  // Asking must not open the library: without it, nothing is pinned.
  return backends[static_cast<size_t>(DeviceType::CUDA)] && cuda_control() &&
         cuda_control()->is_pinned(reinterpret_cast<int64_t>(s.data()));
}

Ref<Storage> pinned_storage(size_t nbytes) {
  UT_CHECK(cuda_control(), "Cannot access accelerator device when none is available. (pin_memory: ", missing_reason,
           ")");
  void* data = reinterpret_cast<void*>(cuda_control()->allocate_pinned(static_cast<int64_t>(nbytes)));
  return Storage::borrow(
      data, nbytes, [](void* p) { cuda_control()->deallocate_pinned(reinterpret_cast<int64_t>(p)); }, data);
}

void pin(Storage& s) {
  Ref<Storage> pinned = pinned_storage(s.nbytes());
  copy_bytes(*pinned, s);
  s.swap_bytes(*pinned);
}

bool init_cuda_functions(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace undertow::core::python
