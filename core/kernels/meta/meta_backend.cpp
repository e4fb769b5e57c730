// meta_backend.cpp: see meta_backend.h. A kernel that only writes results of a known shape is a no-op; kernels that
// must read elements are left out, and raise.
#include "core/kernels/meta/meta_backend.h"

#include "core/kernels/attention.h"
#include "core/kernels/conv.h"
#include "core/kernels/copy.h"
#include "core/kernels/create.h"
#include "core/kernels/distance.h"
#include "core/kernels/embedding.h"
#include "core/kernels/fft.h"
#include "core/kernels/index.h"
#include "core/kernels/join.h"
#include "core/kernels/linalg.h"
#include "core/kernels/loss.h"
#include "core/kernels/matmul.h"
#include "core/kernels/normalization.h"
#include "core/kernels/optim.h"
#include "core/kernels/pad.h"
#include "core/kernels/pointwise.h"
#include "core/kernels/pool.h"
#include "core/kernels/random.h"
#include "core/kernels/recurrent.h"
#include "core/kernels/reduce.h"
#include "core/kernels/resample.h"
#include "core/kernels/scan.h"
#include "core/kernels/shape.h"
#include "core/kernels/softmax.h"
#include "core/kernels/sort.h"

namespace undertow::core::meta {

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
constexpr ConvKernels kConv = {.convolution = no_work, .im2col = no_work, .col2im = no_work};
constexpr CopyKernels kCopy = {
    .copy = no_work,
    .copy_across = copy_across,
    .conj_neg_in_place = no_work,
    .fill = no_work,
    .zero = no_work,
    .convert_checked = no_work,
    .item = item,
};
constexpr CreateKernels kCreate = {.arange = no_work, .linspace = no_work, .logspace = no_work};
constexpr EmbeddingKernels kEmbedding = {.bags = no_work, .renorm = no_work};
// Nothing is known about the elements: indices are assumed to be in range, and masks to fit their values.
bool all_within(const Tensor&, int64_t, int64_t) { return true; }
bool put_masked(const Tensor&, TensorSpan, const Tensor&, bool) { return true; }
constexpr IndexKernels kIndex = {
    .check = no_work,
    .all_within = all_within,
    .offsets = no_work,
    .read = no_work,
    .read_rows = no_work,
    .gather = no_work,
    .write = no_work,
    .scatter = no_work,
    .scale = no_work,
    .divide_by_counts = no_work,
    .flat_to_offsets = no_work,
    .unravel = no_work,
    .one_hot = no_work,
    .masked_fill = no_work,
    .masked_scatter = no_work,
    .put_masked = put_masked,
};
constexpr JoinKernels kJoin = {
    .cat = no_work,
    .flip = no_work,
    .roll = no_work,
    .keep_triangle = no_work,
    .triangle_indices = no_work,
    .repeat_indices = no_work,
};
constexpr DistanceKernels kDistance = {.cdist = no_work, .pdist = no_work};
constexpr FftKernels kFft = {.complex = no_work, .from_real = no_work, .to_real = no_work};
// Nothing is known about the elements of a matrix, so it counts as nonsingular.
LinalgFailure first_failure(const Tensor&) { return {}; }
int64_t divide_columns(const Tensor& a, const Tensor&, const Tensor&, const Tensor&, const Tensor&) {
  return a.size(-1);
}
bool least_squares(const Tensor&, const Tensor&, bool, double) { return true; }
constexpr LinalgKernels kLinalg = {
    .first_failure = first_failure,
    .lu_factor = no_work,
    .permutation = no_work,
    .split_lu = no_work,
    .invert = no_work,
    .solve = no_work,
    .solve_triangular = no_work,
    .det = no_work,
    .slogdet = no_work,
    .cholesky = no_work,
    .ldl_factor = no_work,
    .ldl_solve = no_work,
    .qr = no_work,
    .reflections = no_work,
    .eigh = no_work,
    .eig = no_work,
    .svd = no_work,
    .divide_columns = divide_columns,
    .least_squares = least_squares,
    .squared_distances = no_work,
    .exponential = no_work,
};
constexpr LossKernels kLoss = {
    .values = no_work,
    .total = no_work,
    .gradients = no_work,
    .nll = no_work,
    .nll_total = no_work,
    .nll_backward = no_work,
    .check_labels = no_work,
    .ctc = no_work,
    .ctc_backward = no_work,
};
constexpr MatmulKernels kMatmul = {.multiply = no_work, .addmm = no_work, .trace = no_work, .cross = no_work};
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
constexpr OptimKernels kOptim = {.steps = no_work};
constexpr PadKernels kPad = {.indexed = no_work, .indexed_backward = no_work, .constant = no_work};
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
constexpr PoolKernels kPool = {
    .average = no_work,
    .average_backward = no_work,
    .largest = no_work,
    .fractional_largest = no_work,
    .gather = no_work,
    .scatter = no_work,
    .add_at = no_work,
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
constexpr ResampleKernels kResample = {.resample = no_work, .backward = no_work};
constexpr ShapeKernels kShape = {.strided_sum = no_work};
constexpr RecurrentKernels kRecurrent = {.lstm = no_work, .lstm_backward = no_work};
constexpr ReduceKernels kReduce = {
    .fold = no_work,
    .finish = no_work,
    .magnitudes = no_work,
    .log_plus = no_work,
    .first_index = no_work,
    .extremum = no_work,
    .median = no_work,
    .kthvalue = no_work,
    .mode = no_work,
    .add_n = no_work,
    .mean = no_work,
};
constexpr ScanKernels kScan = {.scan = no_work, .extremum = no_work};
constexpr SoftmaxKernels kSoftmax = {.softmax = no_work, .softmax_backward = no_work, .logsumexp = no_work};
constexpr SortKernels kSort = {
    .sort = no_work,
    .topk = no_work,
    .searchsorted = no_work,
    .histc = no_work,
    .isin = no_work,
};

}  // namespace

const Backend backend = {
    .has_elements = false,
    .memory = &kMemory,
    .attention = &kAttention,
    .conv = &kConv,
    .copy = &kCopy,
    .create = &kCreate,
    .distance = &kDistance,
    .embedding = &kEmbedding,
    .fft = &kFft,
    .index = &kIndex,
    .join = &kJoin,
    .linalg = &kLinalg,
    .loss = &kLoss,
    .matmul = &kMatmul,
    .normalization = &kNormalization,
    .optim = &kOptim,
    .pad = &kPad,
    .pointwise = &kPointwise,
    .pool = &kPool,
    .random = &kRandom,
    .recurrent = &kRecurrent,
    .reduce = &kReduce,
    .resample = &kResample,
    .scan = &kScan,
    .shape = &kShape,
    .softmax = &kSoftmax,
    .sort = &kSort,
};

}  // namespace undertow::core::meta
