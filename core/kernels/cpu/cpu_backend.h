// cpu_backend.h: the CPU as a backend. Each family's table is defined next to its kernels.
#pragma once
#include "core/kernels/backend.h"

namespace undertow::core::cpu {

extern const Backend backend;

extern const AttentionKernels attention_kernels;
extern const ConvKernels conv_kernels;
extern const CopyKernels copy_kernels;
extern const CreateKernels create_kernels;
extern const DistanceKernels distance_kernels;
extern const EmbeddingKernels embedding_kernels;
extern const FftKernels fft_kernels;
extern const IndexKernels index_kernels;
extern const JoinKernels join_kernels;
extern const LinalgKernels linalg_kernels;
extern const LossKernels loss_kernels;
extern const MatmulKernels matmul_kernels;
extern const NormalizationKernels normalization_kernels;
extern const OptimKernels optim_kernels;
extern const PadKernels pad_kernels;
extern const PointwiseKernels pointwise_kernels;
extern const PoolKernels pool_kernels;
extern const RandomKernels random_kernels;
extern const RecurrentKernels recurrent_kernels;
extern const ReduceKernels reduce_kernels;
extern const ResampleKernels resample_kernels;
extern const ScanKernels scan_kernels;
extern const ShapeKernels shape_kernels;
extern const SoftmaxKernels softmax_kernels;
extern const SortKernels sort_kernels;

std::unique_ptr<RandomStream> new_random_stream(Device device);

}  // namespace undertow::core::cpu
