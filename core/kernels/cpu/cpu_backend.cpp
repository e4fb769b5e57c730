// cpu_backend.cpp: see cpu_backend.h.
#include "core/kernels/cpu/cpu_backend.h"

#include "core/kernels/generator.h"

namespace undertow::core::cpu {

const Backend backend = {
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

}  // namespace undertow::core::cpu
