// cuda_functions.h: what the bindings know of CUDA: whether there is a GPU, pinned memory, and the functions behind
// undertow.cuda.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core/base/ref.h"
#include "core/kernels/cuda_control.h"
#include "core/tensor/storage/storage.h"

namespace undertow::core::python {

// The functions of the CUDA backend; null if this installation has none, or there is no driver or device. The first
// call opens the library.
const CudaControl* cuda_control();
// Raises as torch does where there is no GPU.
const CudaControl& require_cuda();
// The device with its number, the current one if none was given; raises if there is no such device.
Device cuda_device(Device device);

// Is the storage in memory of the host that a GPU reads directly?
bool is_pinned(const Storage& s);
Ref<Storage> pinned_storage(size_t nbytes);
// Moves the bytes of a storage on the CPU to pinned memory; tensors over it see no change.
void pin(Storage& s);

// `_cuda()`: a module with the functions of CudaControl by name, or None if there is no GPU; `_cuda_missing()`: why.
bool init_cuda_functions(PyObject* module);

}  // namespace undertow::core::python
