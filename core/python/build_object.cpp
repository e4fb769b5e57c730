// build_object.cpp: how the core was built and what it uses on this machine, for __config__ and collect_env.
// build: small
#include "core/python/build_object.h"

#include "core/base/build_info.h"
#include "core/base/cpu_limit.h"
#include "core/python/errors.h"

namespace undertow::core::python {
namespace {

PyObject* build_info_(PyObject*, PyObject*) {
  return guarded([]() -> PyObject* {
    const BuildInfo& b = build_info();
    PyRef kernels(check(PyDict_New()));
    for (const auto& [name, flags] : b.kernel_flags) {
      PyRef text(check(PyUnicode_FromString(flags.c_str())));
      if (PyDict_SetItemString(kernels.get(), name.c_str(), text.get()) < 0) throw PythonError();
    }
    return check(Py_BuildValue("{s:s,s:s,s:s,s:s,s:O,s:s,s:s,s:s,s:s}", "version", b.version.c_str(), "compiler",
                               b.compiler.c_str(), "build_type", b.build_type.c_str(), "flags", b.flags.c_str(),
                               "kernel_flags", kernels.get(), "system", b.system.c_str(), "sanitizers",
                               b.sanitizers.c_str(), "instruction_set", instruction_set(), "python", PY_VERSION));
  });
}

PyObject* cpu_limits(PyObject*, PyObject*) {
  return guarded([] {
    return check(Py_BuildValue("{s:i,s:i,s:i}", "affinity", affinity_cpus(), "cgroup", cgroup_cpus(), "available",
                               available_cpus()));
  });
}

PyMethodDef functions[] = {
    {"_build_info", build_info_, METH_NOARGS, "How the core was built."},
    {"_cpu_limits", cpu_limits, METH_NOARGS,
     "CPUs in the affinity mask, in the quota of the control group (0: none), and the lesser of both."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool init_build_functions(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace undertow::core::python
