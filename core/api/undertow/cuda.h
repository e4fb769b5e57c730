// cuda.h: the GPUs of this machine: how many there are, their random numbers, and waiting for their work. Tensors get
// to one with to(kCUDA) or zeros({2}, kCUDA).
#pragma once
#include <cstdint>

#include <undertow/types/device.h>

namespace undertow::cuda {

// The first call opens the CUDA backend and the driver; without them there are no devices, and nothing raises.
bool is_available();
DeviceIndex device_count();
// As in Python: whether there is a GPU. cuDNN itself is opened by the first convolution, which works without it too.
bool cudnn_is_available();

// Waits for all work of a device; -1 is the current one.
void synchronize(int64_t device_index = -1);

// Seeds the random numbers of the current device, or of all; does nothing without a GPU.
void manual_seed(uint64_t seed);
void manual_seed_all(uint64_t seed);

}  // namespace undertow::cuda
