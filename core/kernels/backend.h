// backend.h: what the core needs from a device: memory, events, random numbers, and one table of kernels.
//
// Note [Backends]
// forward/ checks arguments, promotes dtypes, allocates the results and decides what to compute; a backend decides how.
// forward/ never names a device: it asks backend_of(tensor) for a kernel by family and name, and passes tensors that
// are allocated, promoted and on one device. A kernel writes to existing results. So "meta", whose tensors have no
// memory, implements nearly every kernel as a no-op (no_work), and shapes, dtypes, strides and graphs must be decided
// above the kernels. The few kernels whose result size depends on the elements (masked_select, nonzero, unique)
// allocate and return their result: counting first would read everything twice and make forward/ wait for the device
// in between. meta leaves them and item out, and the call raises an error that names the operator and the device.
//
// A device is one folder, kernels/<device>/, with one Backend, and one line in backends.cpp. Families are listed here
// and declared in kernels/<family>.h, so that a change to one family recompiles that family alone.
//
// Small pointwise operations on the CPU bypass the table: forward/pointwise/pointwise.h calls their loop directly,
// because even a table lookup is noticeable in an operation of 30 ns.
#pragma once
#include <array>
#include <memory>

#include "core/tensor/storage/device_memory.h"
#include "core/tensor/tensor.h"

namespace undertow::core {

struct AttentionKernels;
struct ConvKernels;
struct CopyKernels;
struct CreateKernels;
struct DistanceKernels;
struct EmbeddingKernels;
struct FftKernels;
struct IndexKernels;
struct JoinKernels;
struct LinalgKernels;
struct LossKernels;
struct MatmulKernels;
struct NormalizationKernels;
struct OptimKernels;
struct PadKernels;
struct PointwiseKernels;
struct PoolKernels;
struct RandomKernels;
struct RecurrentKernels;
struct ReduceKernels;
struct ResampleKernels;
struct ScanKernels;
struct ShapeKernels;
struct SoftmaxKernels;
struct SortKernels;

// Marks a point in a device's work queue. A synchronous device has no events.
struct DeviceEvents {
  void* (*create)(Device device);
  void (*destroy)(void* event);
  void (*record)(void* event, Device device);  // after the work issued so far
  void (*wait)(void* event, Device device);    // work issued from now on starts after the event
  bool (*query)(void* event);                  // has the event happened?
  void (*synchronize)(Device device);          // returns when all issued work is done
};

class RandomStream;  // kernels/generator.h

struct Backend {
  // False where tensors are shapes without values. Then a decision that needs values takes the way that is right for
  // all of them: fwd::has_elements(tensor).
  bool has_elements = true;
  // True where a launch costs more than what it computes: kernels of reductions and losses then read and write half
  // types themselves, divide a mean, and find an extremum with its index. Elsewhere these are steps of their own, in
  // float.
  bool fuses_reductions = false;
  const DeviceMemory* memory = nullptr;  // null for the CPU, which uses tensor/storage/allocator.h
  const DeviceEvents* events = nullptr;  // null if the device is synchronous
  // Creates the state of a new generator; null if the device has no random numbers.
  std::unique_ptr<RandomStream> (*new_random_stream)(Device device) = nullptr;
  const AttentionKernels* attention = nullptr;
  const ConvKernels* conv = nullptr;
  const CopyKernels* copy = nullptr;
  const CreateKernels* create = nullptr;
  const DistanceKernels* distance = nullptr;
  const EmbeddingKernels* embedding = nullptr;
  const FftKernels* fft = nullptr;
  const IndexKernels* index = nullptr;
  const JoinKernels* join = nullptr;
  const LinalgKernels* linalg = nullptr;
  const LossKernels* loss = nullptr;
  const MatmulKernels* matmul = nullptr;
  const NormalizationKernels* normalization = nullptr;
  const OptimKernels* optim = nullptr;
  const PadKernels* pad = nullptr;
  const PointwiseKernels* pointwise = nullptr;
  const PoolKernels* pool = nullptr;
  const RandomKernels* random = nullptr;
  const RecurrentKernels* recurrent = nullptr;
  const ReduceKernels* reduce = nullptr;
  const ResampleKernels* resample = nullptr;
  const ScanKernels* scan = nullptr;
  const ShapeKernels* shape = nullptr;
  const SoftmaxKernels* softmax = nullptr;
  const SortKernels* sort = nullptr;
};

// Indexed by device type; null if this build has no such backend, or none was loaded yet (load_backend.h). An entry is
// written before the first tensor of its device exists, so reading one for a tensor needs no lock.
extern std::array<const Backend*, kNumDeviceTypes> backends;

// For a device that has tensors, so the backend exists.
inline const Backend& backend_of(Device device) { return *backends[static_cast<size_t>(device.type)]; }
inline const Backend& backend_of(const Tensor& t) { return backend_of(t.device()); }

}  // namespace undertow::core
