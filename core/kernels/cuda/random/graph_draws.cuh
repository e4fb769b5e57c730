// graph_draws.cuh: tells the kernels of a captured graph where their random numbers begin.
#pragma once
#include "device/prelude.cuh"

template <int = 0>
__global__ void set_range(uint64_t* range, uint64_t seed, uint64_t first) {
  range[0] = seed;
  range[1] = first;
}
