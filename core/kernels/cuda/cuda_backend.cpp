// cuda_backend.cpp: the CUDA backend's table. This library (libundertow_cuda) is loaded when a CUDA device is first
// asked for.
#include "core/kernels/backend.h"
#include "core/kernels/cuda/attention/attention.h"
#include "core/kernels/cuda/conv/conv.h"
#include "core/kernels/cuda/copy/copy.h"
#include "core/kernels/cuda/create/create.h"
#include "core/kernels/cuda/distance/distance.h"
#include "core/kernels/cuda/embedding/embedding.h"
#include "core/kernels/cuda/fft/fft.h"
#include "core/kernels/cuda/index/index.h"
#include "core/kernels/cuda/join/join.h"
#include "core/kernels/cuda/linalg/linalg.h"
#include "core/kernels/cuda/loss/loss.h"
#include "core/kernels/cuda/matmul/matmul.h"
#include "core/kernels/cuda/memory.h"
#include "core/kernels/cuda/normalization/normalization.h"
#include "core/kernels/cuda/optim/optim.h"
#include "core/kernels/cuda/pad/pad.h"
#include "core/kernels/cuda/pointwise/pointwise.h"
#include "core/kernels/cuda/pool/pool.h"
#include "core/kernels/cuda/random/random.h"
#include "core/kernels/cuda/recurrent/recurrent.h"
#include "core/kernels/cuda/reduce/reduce.h"
#include "core/kernels/cuda/resample/resample.h"
#include "core/kernels/cuda/runtime/event.h"
#include "core/kernels/cuda/scan/scan.h"
#include "core/kernels/cuda/shape/shape.h"
#include "core/kernels/cuda/softmax/softmax.h"
#include "core/kernels/cuda/sort/sort.h"

namespace undertow::core::cuda {

static const Backend backend = {
    .fuses_reductions = true,
    .memory = &device_memory_functions,
    .events = &device_events,
    .new_random_stream = new_random_stream,
    .attention = &attention_kernels,
    .conv = &conv_kernels,
    .copy = &copy_kernels,
    .create = &create_kernels,
    .distance = &distance_kernels,
    .embedding = &embedding_kernels,
    .fft = &fft_kernels,
    .index = &index_kernels,
    .join = &join_kernels,
    .linalg = &linalg_kernels,
    .loss = &loss_kernels,
    .matmul = &matmul_kernels,
    .normalization = &normalization_kernels,
    .optim = &optim_kernels,
    .pad = &pad_kernels,
    .pointwise = &pointwise_kernels,
    .pool = &pool_kernels,
    .random = &random_kernels,
    .recurrent = &recurrent_kernels,
    .reduce = &reduce_kernels,
    .resample = &resample_kernels,
    .scan = &scan_kernels,
    .shape = &shape_kernels,
    .softmax = &softmax_kernels,
    .sort = &sort_kernels,
};

}  // namespace undertow::core::cuda

// Called by core/kernels/load_backend.cpp, by name.
extern "C" __attribute__((visibility("default"))) const undertow::core::Backend* undertow_cuda_backend() {
  return &undertow::core::cuda::backend;
}
