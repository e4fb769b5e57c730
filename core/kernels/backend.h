// backend.h: what a device is to the rest of the core: memory, order of work, random numbers, and one table of kernels.
//
// Note [Backends]
// forward/ checks arguments, promotes, allocates the results and says what to compute; a backend says how. forward/
// never names a device: it asks backend_of(tensor) for a kernel by family and name, and hands it tensors that are
// allocated, promoted and on one device. A kernel writes results that exist already. So "meta", whose tensors have no
// memory, implements nearly every kernel as nothing (no_work), and shapes, dtypes, strides and graphs must be decided
// above the kernels. The few kernels whose result's size depends on the elements (nonzero, unique, item) return it;
// meta leaves them out, and the call raises one error that names the operator and the device.
//
// A device is one folder, kernels/<device>/, with one Backend, and one line in backends.cpp. Families are listed here
// and declared in kernels/<family>.h, so that a change to one family recompiles that family alone.
//
// The CPU's small pointwise operations do not come here: forward/pointwise/pointwise.h calls their loop directly,
// because even a table costs something in 30 ns.
#pragma once
#include <array>
#include <memory>

#include "core/tensor/device_memory.h"
#include "core/tensor/tensor.h"

namespace undertow {

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

// Marks a point in a device's stream of work. A device whose calls return when their work is done has none.
struct DeviceEvents {
  void* (*create)(Device device);
  void (*destroy)(void* event);
  void (*record)(void* event, Device device);  // after what was issued so far
  void (*wait)(void* event, Device device);    // what is issued from now on starts after the event
  bool (*query)(void* event);                  // has it happened?
  void (*synchronize)(Device device);          // returns when everything issued has happened
};

class RandomStream;  // kernels/generator.h

struct Backend {
  const DeviceMemory* memory = nullptr;  // null for the CPU, whose memory is tensor/allocator.h's
  const DeviceEvents* events = nullptr;  // null where every call returns when its work is done
  // The state of a new generator; null where the device draws no random numbers.
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

// By device type; null where this build has no such backend.
extern const std::array<const Backend*, kNumDeviceTypes> backends;

// Of a device that has tensors, so the backend exists.
inline const Backend& backend_of(Device device) { return *backends[static_cast<size_t>(device.type)]; }
inline const Backend& backend_of(const Tensor& t) { return backend_of(t.device()); }

}  // namespace undertow
