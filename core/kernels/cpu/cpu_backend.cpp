// cpu_backend.cpp: see cpu_backend.h.
#include "core/kernels/cpu/cpu_backend.h"

namespace undertow::cpu {

const Backend backend = {
    .copy = &copy_kernels,
    .create = &create_kernels,
    .pointwise = &pointwise_kernels,
};

}  // namespace undertow::cpu
