// function_plan.cpp: what apply and backward need to know about a Function's class, cached until the class changes.
#include "core/python/autograd/function_object.h"
#include "core/python/cpython_versions.h"

namespace undertow::core::python {

namespace {

// The methods of undertow.autograd.Function itself: a class that still has them does not override them.
PyObject *base_setup, *base_backward;

// The plan of one class, for one version tag. Python gives a class a new, unused tag when the class or one of its bases
// changes, so a pointer borrowed from the class is valid while the tag is the same.
struct Remembered {
  PyTypeObject* cls = nullptr;
  unsigned tag = 0;
  PyObject *forward = nullptr, *setup_context = nullptr, *backward = nullptr;
  PyTypeObject* backward_cls = nullptr;
  bool clear_on_access = false, boxed_grads = false;
};
constexpr size_t kRemembered = 256;
Remembered remembered[kRemembered];  // guarded by the GIL
Remembered& slot_for(PyTypeObject* cls) {
  return remembered[reinterpret_cast<uintptr_t>(cls) / sizeof(PyTypeObject) % kRemembered];
}

unsigned tag_of(PyTypeObject* cls) {
#if PY_VERSION_HEX < 0x030D0000
  if (!PyType_HasFeature(cls, Py_TPFLAGS_VALID_VERSION_TAG)) return 0;
#endif
  return cls->tp_version_tag;
}

PyRef attribute(PyTypeObject* cls, const char* name) {
  return PyRef(check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(cls), name)));
}

// Does the class itself keep the result of looking up `name` alive?
bool owned_by_class(PyTypeObject* cls, const char* name) {
  PyRef key(check(PyUnicode_InternFromString(name)));
  PyObject* raw = lookup_in_type(cls, key.get());
  return raw && (Py_TYPE(raw) == &PyStaticMethod_Type || PyFunction_Check(raw));
}

bool flag(PyTypeObject* cls, const char* name) {
  PyRef value = attribute(cls, name);
  UT_CHECK(PyBool_Check(value.get()), name, " must be a bool, got ", Py_TYPE(value.get())->tp_name);
  return value.get() == Py_True;
}

// backward or vjp, which are two names for the same thing; null if both are defined.
PyRef user_backward(PyTypeObject* cls) {
  PyRef backward = attribute(cls, "backward"), vjp = attribute(cls, "vjp");
  if (vjp.get() == base_backward) return backward;
  return backward.get() == base_backward ? std::move(vjp) : PyRef();
}

FunctionPlan look_up(PyTypeObject* cls) {
  FunctionPlan plan;
  plan.forward = attribute(cls, "forward");
  plan.setup_context = attribute(cls, "setup_context");
  if (plan.setup_context.get() == base_setup) plan.setup_context = PyRef();
  plan.clear_on_access = flag(cls, "clear_saved_tensors_on_access");
  plan.boxed_grads = flag(cls, "boxed_grads_call");
  PyRef backward_cls = attribute(cls, "_backward_cls");
  UT_CHECK_TYPE(PyType_Check(backward_cls.get()), "_backward_cls of ", cls->tp_name, " must be a class");
  plan.backward_cls = reinterpret_cast<PyTypeObject*>(backward_cls.get());  // the class keeps it alive
  UT_CHECK_TYPE(PyType_IsSubtype(plan.backward_cls, node_base_type), "_backward_cls of ", cls->tp_name,
                " must derive from BackwardCFunction");
  prepare_backward_class(plan.backward_cls);
  plan.backward = user_backward(cls);
  return plan;
}

void remember(PyTypeObject* cls, const FunctionPlan& plan) {
  if (!tag_of(cls) || !owned_by_class(cls, "forward") || !owned_by_class(cls, "setup_context") ||
      !owned_by_class(cls, "backward") || !owned_by_class(cls, "vjp"))
    return;
  slot_for(cls) = {cls,
                   tag_of(cls),
                   plan.forward.get(),
                   plan.setup_context.get(),
                   plan.backward.get(),
                   plan.backward_cls,
                   plan.clear_on_access,
                   plan.boxed_grads};
}

PyObject* set_base(PyObject*, PyObject* cls) {
  return guarded([&]() -> PyObject* {
    auto* type = reinterpret_cast<PyTypeObject*>(cls);
    base_setup = attribute(type, "setup_context").release();
    base_backward = attribute(type, "backward").release();
    Py_RETURN_NONE;
  });
}
PyMethodDef functions[] = {{"_set_function_base", set_base, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

FunctionPlan plan_for(PyTypeObject* cls) {
  Remembered& r = slot_for(cls);
  if (UT_LIKELY(r.cls == cls && r.tag == tag_of(cls) && r.tag != 0)) {
    FunctionPlan plan;
    plan.forward = PyRef::borrow(r.forward);
    plan.setup_context = PyRef::borrow(r.setup_context);
    plan.backward = PyRef::borrow(r.backward);
    plan.backward_cls = r.backward_cls;
    plan.clear_on_access = r.clear_on_access;
    plan.boxed_grads = r.boxed_grads;
    return plan;
  }
  FunctionPlan plan = look_up(cls);
  remember(cls, plan);
  return plan;
}

bool init_function_plans(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace undertow::core::python
