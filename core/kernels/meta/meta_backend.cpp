// meta_backend.cpp: see meta_backend.h. Every kernel that only writes results of a known shape is no work at all; those
// that must read elements are left out, and raise.
#include "core/kernels/meta/meta_backend.h"

#include "core/kernels/attention.h"
#include "core/kernels/copy.h"
#include "core/kernels/create.h"
#include "core/kernels/loss.h"
#include "core/kernels/normalization.h"
#include "core/kernels/optim.h"
#include "core/kernels/pointwise.h"
#include "core/kernels/random.h"

namespace undertow::meta {

namespace {

void* allocate(size_t, Device) { return nullptr; }
void deallocate(void*, size_t, Device) {}

void copy_memory(void*, Device dst, const void*, Device, size_t) {
  UT_CHECK_AS(NotImplemented, dst.is_meta(), "Cannot copy out of meta tensor; no data!");
}
constexpr DeviceMemory kMemory = {.allocate = allocate, .deallocate = deallocate, .copy = copy_memory};

void copy_across(const Tensor& dst, const Tensor&) {
  UT_CHECK_AS(NotImplemented, dst.is_meta(), "Cannot copy out of meta tensor; no data!");
}
Scalar item(const Tensor&) { UT_FAIL("Tensor.item() cannot be called on meta tensors: they have no elements"); }

constexpr AttentionKernels kAttention = {.forward = no_work, .backward = no_work};
constexpr CopyKernels kCopy = {
    .copy = no_work,
    .copy_across = copy_across,
    .conj_neg_in_place = no_work,
    .fill = no_work,
    .zero = no_work,
    .item = item,
};
constexpr CreateKernels kCreate = {.arange = no_work, .linspace = no_work, .logspace = no_work};
constexpr LossKernels kLoss = {
    .values = no_work,
    .total = no_work,
    .slopes = no_work,
    .nll = no_work,
    .nll_backward = no_work,
    .check_labels = no_work,
    .ctc = no_work,
    .ctc_backward = no_work,
};
constexpr NormalizationKernels kNormalization = {
    .layer_norm = no_work,
    .layer_norm_backward = no_work,
    .batch_norm = no_work,
    .batch_norm_evaluate = no_work,
    .batch_norm_backward = no_work,
    .group_norm = no_work,
    .group_norm_lines_backward = no_work,
    .group_norm_backward = no_work,
};
constexpr OptimKernels kOptim = {.step = no_work};
constexpr PointwiseKernels kPointwise = {
    .run = no_work,
    .where = no_work,
    .frexp = no_work,
    .nextafter_half = no_work,
    .complex = no_work,
    .polar = no_work,
    .special_function = no_work,
    .special_polynomial = no_work,
};

constexpr RandomKernels kRandom = {
    .fill = no_work,
    .integers = no_work,
    .all_values = no_work,
    .all_bits = no_work,
    .permutation = no_work,
    .bernoulli = no_work,
    .check_std = no_work,
    .poisson = no_work,
    .gamma = no_work,
    .gamma_grad = no_work,
    .binomial = no_work,
    .multinomial = no_work,
};

}  // namespace

const Backend backend = {
    .memory = &kMemory,
    .attention = &kAttention,
    .copy = &kCopy,
    .create = &kCreate,
    .loss = &kLoss,
    .normalization = &kNormalization,
    .optim = &kOptim,
    .pointwise = &kPointwise,
    .random = &kRandom,
};

}  // namespace undertow::meta
