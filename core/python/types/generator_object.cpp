// generator_object.cpp: see generator_object.h.
// build: small
#include "core/python/types/generator_object.h"

#include <chrono>
#include <cstring>
#include <memory>
#include <random>

#include "core/kernels/generator.h"
#include "core/python/arguments/convert.h"
#include "core/python/errors.h"

namespace undertow::core::python {

namespace {

struct GeneratorObject {
  PyObject_HEAD Generator* generator;
  bool owned;
};
PyTypeObject* generator_type;
GeneratorObject* as_generator(PyObject* o) { return reinterpret_cast<GeneratorObject*>(o); }

PyObject* generator_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* device = nullptr;
    static const char* names[] = {"device", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", const_cast<char**>(names), &device)) throw PythonError();
    auto made = std::make_unique<Generator>(device && device != Py_None ? device_of(device) : kCpu);
    auto* o = reinterpret_cast<GeneratorObject*>(check(type->tp_alloc(type, 0)));
    o->generator = made.release();
    o->owned = true;
    return reinterpret_cast<PyObject*>(o);
  });
}
void generator_dealloc(PyObject* self) {
  if (as_generator(self)->owned) delete as_generator(self)->generator;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}
PyObject* manual_seed(PyObject* self, PyObject* seed) {
  return guarded([&]() -> PyObject* {
    // Negative seeds are taken modulo 2^64, as in torch.
    PyRef index(check(PyNumber_Index(seed)));
    int overflow = 0;
    long long low = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
    unsigned long long s = static_cast<unsigned long long>(low);
    if (overflow) s = PyLong_AsUnsignedLongLong(index.get());
    if (PyErr_Occurred()) {
      PyErr_Clear();
      UT_FAIL_AS(Value, "Overflow when unpacking long long: a seed is between -2**63 and 2**64 - 1");
    }
    as_generator(self)->generator->manual_seed(s);
    return new_ref(self);
  });
}
PyObject* initial_seed(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(as_generator(self)->generator->seed);
}
PyObject* reseed(PyObject* self, PyObject*) {
  std::random_device device;
  uint64_t s = (static_cast<uint64_t>(device()) << 21) ^ device();
  as_generator(self)->generator->manual_seed(s);
  return PyLong_FromUnsignedLongLong(s);
}
PyObject* get_state(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    Generator& g = *as_generator(self)->generator;
    std::lock_guard lock(g.mutex);
    Tensor t = empty(Dims{static_cast<int64_t>(g.stream->state_bytes())}, DType::UInt8);
    g.stream->get_state(t.data_as<uint8_t>());
    return wrap(std::move(t));
  });
}
PyObject* set_state(PyObject* self, PyObject* state) {
  return guarded([&]() -> PyObject* {
    UT_CHECK_TYPE(is_tensor(state), "expected an undertow.ByteTensor, but got ", Py_TYPE(state)->tp_name);
    const Tensor& t = tensor_of(state);
    UT_CHECK_TYPE(t.dtype() == DType::UInt8 && t.is_contiguous(), "RNG state must be a contiguous uint8 tensor");
    Generator& g = *as_generator(self)->generator;
    std::lock_guard lock(g.mutex);
    UT_CHECK(t.numel() == static_cast<int64_t>(g.stream->state_bytes()), "Expected a CPUGeneratorImplState of size ",
             g.stream->state_bytes(), " but found the input RNG state size to be ", t.numel());
    UT_CHECK(g.stream->set_state(t.data_as<uint8_t>()), "the RNG state was not returned by get_state");
    return new_ref(self);
  });
}
PyObject* clone_state(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    Generator& g = *as_generator(self)->generator;
    auto* o = reinterpret_cast<GeneratorObject*>(check(generator_type->tp_alloc(generator_type, 0)));
    o->generator = new Generator(g.device);
    o->owned = true;
    std::lock_guard lock(g.mutex);
    o->generator->stream = g.stream->clone();
    o->generator->seed = g.seed;
    return reinterpret_cast<PyObject*>(o);
  });
}
PyObject* device_attribute(PyObject* self, void*) { return device_object(as_generator(self)->generator->device); }

PyMethodDef methods[] = {{"manual_seed", manual_seed, METH_O, "Starts the stream of this seed."},
                         {"initial_seed", initial_seed, METH_NOARGS, "The seed the stream started from."},
                         {"seed", reseed, METH_NOARGS, "Seeds from the system's entropy and returns the seed."},
                         {"get_state", get_state, METH_NOARGS, "The state as a uint8 tensor, in torch's layout."},
                         {"set_state", set_state, METH_O, "Restores a state that get_state returned."},
                         {"clone_state", clone_state, METH_NOARGS, "A generator that continues this one's stream."},
                         {"graphsafe_get_state", clone_state, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyGetSetDef getset[] = {{"device", device_attribute, nullptr, nullptr, nullptr},
                        {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace

bool is_generator(PyObject* o) { return PyType_IsSubtype(Py_TYPE(o), generator_type); }
Generator* generator_of(PyObject* o) { return as_generator(o)->generator; }
PyObject* generator_object(Generator* g) {
  auto* o = reinterpret_cast<GeneratorObject*>(check(generator_type->tp_alloc(generator_type, 0)));
  o->generator = g;
  o->owned = false;
  return reinterpret_cast<PyObject*>(o);
}

bool init_generator_type(PyObject* module) {
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(generator_new)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(generator_dealloc)},
                         {Py_tp_methods, methods},
                         {Py_tp_getset, getset},
                         {0, nullptr}};
  PyType_Spec spec = {"undertow.Generator", sizeof(GeneratorObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                      slots};
  generator_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!generator_type || PyModule_AddObjectRef(module, "Generator", reinterpret_cast<PyObject*>(generator_type)) < 0)
    return false;
  auto* o = reinterpret_cast<GeneratorObject*>(generator_type->tp_alloc(generator_type, 0));
  if (!o) return false;
  o->generator = &default_generator();
  o->owned = false;
  return PyModule_AddObjectRef(module, "default_generator", reinterpret_cast<PyObject*>(o)) == 0;
}

}  // namespace undertow::core::python
