// product_library.cpp: products by cuBLASLt. What it needs to know about a product (descriptions of the matrices, the
// algorithm that its heuristic chose) is kept, so a later product of the same shape costs one lookup.
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>

#include "core/kernels/cuda/driver/cublaslt.h"
#include "core/kernels/cuda/matmul/aligned.h"
#include "core/kernels/cuda/matmul/precision.h"
#include "core/kernels/cuda/matmul/product.h"
#include "core/kernels/cuda/runtime/plan_cache.h"
#include "core/kernels/cuda/runtime/workspace.h"
#include "core/kernels/cuda/settings.h"

namespace undertow::core::cuda {

namespace {

constexpr size_t kWorkspaceLimit = size_t{32} << 20;  // what NVIDIA recommends for Hopper

// --- Column-major matrices, which is what cuBLASLt knows

struct Leading {
  int64_t distance;  // between columns, or between rows if transposed
  bool transposed;
};
std::optional<Leading> leading_of(const MatrixStrides& s, int64_t rows, int64_t columns) {
  if ((s.row == 1 || rows == 1) && (s.column >= rows || columns == 1))
    return Leading{columns == 1 ? rows : s.column, false};
  if ((s.column == 1 || columns == 1) && (s.row >= columns || rows == 1))
    return Leading{rows == 1 ? columns : s.row, true};
  return {};
}

// How cuBLASLt computes the product: column-major c. A row-major c is a column-major c^T = b^T a^T.
struct Order {
  bool exchanged;
  int64_t m, n;
  const char *a, *b;
  Leading lead_a, lead_b;
  int64_t lead_c, lead_d, batch_a, batch_b;
};
MatrixStrides flipped(const MatrixStrides& s) { return {s.batch, s.column, s.row, 0}; }

std::optional<Order> order_of(const Product& p, bool reads_d) {
  for (bool exchanged : {true, false}) {
    auto view = [&](const MatrixStrides& s) { return exchanged ? flipped(s) : s; };
    int64_t m = exchanged ? p.n : p.m, n = exchanged ? p.m : p.n;
    auto c = leading_of(view(p.c_strides), m, n);
    if (!c || c->transposed) continue;
    auto d = reads_d ? leading_of(view(p.d_strides), m, n) : c;
    auto a = leading_of(view(exchanged ? p.b_strides : p.a_strides), m, p.k),
         b = leading_of(view(exchanged ? p.a_strides : p.b_strides), p.k, n);
    if (!d || d->transposed || !a || !b) return {};
    return Order{exchanged,
                 m,
                 n,
                 exchanged ? p.b : p.a,
                 exchanged ? p.a : p.b,
                 *a,
                 *b,
                 c->distance,
                 d->distance,
                 exchanged ? p.b_strides.batch : p.a_strides.batch,
                 exchanged ? p.a_strides.batch : p.b_strides.batch};
  }
  return {};
}

// --- Dtypes

DType scale_dtype(DType t) { return t == DType::Float16 || t == DType::BFloat16 ? DType::Float32 : t; }

// A factor in the scale dtype.
struct Factor {
  alignas(16) char bytes[16];
  Factor(DType scale, const Scalar& s) {
    if (scale == DType::Float32)
      set(s.to<float>());
    else if (scale == DType::Float64)
      set(s.to<double>());
    else if (scale == DType::Complex64)
      set(s.to<Complex64>());
    else
      set(s.to<Complex128>());
  }
  template <class T>
  void set(T v) {
    std::memcpy(bytes, &v, sizeof(v));
  }
};

// --- Plans

// A pointer's alignment as far as algorithms distinguish it.
int64_t alignment(const void* p) {
  auto address = reinterpret_cast<uintptr_t>(p);
  if (address % 256 == 0) return 256;
  return address % 16 == 0 ? 16 : static_cast<int64_t>(address & -address);
}

struct PlanKey {
  int64_t device, dtype, options, batch, m, n, k, lead_a, lead_b, lead_c, lead_d, batch_a, batch_b, batch_c, batch_d,
      alignments;
};
// The bits of PlanKey::options.
constexpr int64_t kTransposedA = 1, kTransposedB = 2, kWithBias = 4, kTf32 = 8, kReduced = 16;

struct Plan {
  cublasLtMatmulDesc_t description = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr, d = nullptr;
  cublasLtMatmulAlgo_t algorithm{};
  size_t workspace = 0;
  bool supported = false;
  std::mutex bias_mutex;  // guards the pointer to the bias in `description`

  Plan(const PlanKey& key, const char* bias);
  ~Plan() {
    const CublasLt& lt = *cublaslt();
    if (description) lt.matmul_desc_destroy(description);
    for (cublasLtMatrixLayout_t layout : {a, b, c, d})
      if (layout) lt.matrix_layout_destroy(layout);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

 private:
  void describe(const PlanKey& key, const char* bias);
  void choose_algorithm(const PlanKey& key);
};

cublasLtMatrixLayout_t layout(LibraryType type, int64_t rows, int64_t columns, int64_t leading, int64_t batch,
                              int64_t stride) {
  const CublasLt& lt = *cublaslt();
  cublasLtMatrixLayout_t made = nullptr;
  lt.check(lt.matrix_layout_create(&made, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), leading),
           "cublasLtMatrixLayoutCreate");
  if (batch == 1) return made;
  auto count = static_cast<int32_t>(batch);
  lt.check(lt.matrix_layout_set_attribute(made, BlasLayout::BatchCount, &count, sizeof(count)),
           "cublasLtMatrixLayoutSetAttribute");
  lt.check(lt.matrix_layout_set_attribute(made, BlasLayout::StridedBatchOffset, &stride, sizeof(stride)),
           "cublasLtMatrixLayoutSetAttribute");
  return made;
}

Plan::Plan(const PlanKey& key, const char* bias) {
  describe(key, bias);
  choose_algorithm(key);
}

void Plan::describe(const PlanKey& key, const char* bias) {
  const CublasLt& lt = *cublaslt();
  auto dtype = static_cast<DType>(key.dtype);
  LibraryType type = library_type(dtype);
  bool is_double = dtype == DType::Float64 || dtype == DType::Complex128;
  BlasCompute compute = is_double             ? BlasCompute::Float64
                        : key.options & kTf32 ? BlasCompute::Float32FastTf32
                                              : BlasCompute::Float32;
  lt.check(lt.matmul_desc_create(&description, compute, library_type(scale_dtype(dtype))), "cublasLtMatmulDescCreate");
  auto set = [&](BlasDescription attribute, auto value) {
    lt.check(lt.matmul_desc_set_attribute(description, attribute, &value, sizeof(value)),
             "cublasLtMatmulDescSetAttribute");
  };
  if (key.options & kTransposedA) set(BlasDescription::TransposeA, kBlasTransposed);
  if (key.options & kTransposedB) set(BlasDescription::TransposeB, kBlasTransposed);
  if (key.options & kWithBias) {
    set(BlasDescription::Epilogue, kBlasEpilogueBias);
    set(BlasDescription::BiasPointer, bias);  // the heuristic reads its alignment
  }
  // A transposed matrix is described as it is stored.
  auto stored = [&](bool transposed, int64_t rows, int64_t columns, int64_t leading, int64_t stride) {
    return transposed ? layout(type, columns, rows, leading, key.batch, stride)
                      : layout(type, rows, columns, leading, key.batch, stride);
  };
  a = stored(key.options & kTransposedA, key.m, key.k, key.lead_a, key.batch_a);
  b = stored(key.options & kTransposedB, key.k, key.n, key.lead_b, key.batch_b);
  c = stored(false, key.m, key.n, key.lead_d, key.batch_d);
  d = stored(false, key.m, key.n, key.lead_c, key.batch_c);
}

void Plan::choose_algorithm(const PlanKey& key) {
  const CublasLt& lt = *cublaslt();
  cublasLtMatmulPreference_t preference = nullptr;
  lt.check(lt.matmul_preference_create(&preference), "cublasLtMatmulPreferenceCreate");
  std::unique_ptr<cublasLtMatmulPreferenceOpaque, cublasStatus_t (*)(cublasLtMatmulPreference_t)> owner(
      preference, lt.matmul_preference_destroy);
  auto prefer = [&](BlasPreference attribute, auto value) {
    lt.check(lt.matmul_preference_set_attribute(preference, attribute, &value, sizeof(value)),
             "cublasLtMatmulPreferenceSetAttribute");
  };
  prefer(BlasPreference::MaxWorkspaceBytes, kWorkspaceLimit);
  if (!(key.options & kReduced))
    prefer(BlasPreference::ReductionSchemeMask, kBlasReduceInplace | kBlasReduceComputeType);
  auto bytes = [&](int shift) { return static_cast<uint32_t>(key.alignments >> shift & 0xffff); };
  prefer(BlasPreference::MinAlignmentA, bytes(0));
  prefer(BlasPreference::MinAlignmentB, bytes(16));
  prefer(BlasPreference::MinAlignmentC, bytes(32));
  prefer(BlasPreference::MinAlignmentD, bytes(48));
  cublasLtMatmulHeuristicResult_t result{};
  int count = 0;
  cublasStatus_t status = lt.matmul_algo_get_heuristic(cublaslt_handle(static_cast<int>(key.device)), description, a, b,
                                                       c, d, preference, 1, &result, &count);
  supported = status == 0 && count > 0 && result.state == 0;
  algorithm = result.algo;
  workspace = result.workspace_size;
}

std::shared_ptr<Plan> plan_for(const PlanKey& key, const char* bias) {
  static auto& plans = *new PlanCache<PlanKey, Plan>;  // never destroyed: the library may be gone at exit
  return plans.get(key, [&] { return std::make_shared<Plan>(key, bias); });
}

int64_t precision_options(DType t) {
  const ProductPrecision& precision = product_precision();
  auto is_on = [](const std::atomic<bool>& s) { return s.load(std::memory_order_relaxed); };
  if (t == DType::Float32 || t == DType::Complex64) return kReduced | (is_on(precision.tf32) ? kTf32 : 0);
  if (t == DType::Float16) return is_on(precision.reduced_float16) ? kReduced : 0;
  if (t == DType::BFloat16) return is_on(precision.reduced_bfloat16) ? kReduced : 0;
  return kReduced;
}

bool run(const Launcher& on, const Product& p, const char* bias) {
  const CublasLt* lt = cublaslt();
  if (!lt || is_integral(p.dtype) || p.batch > INT32_MAX) return false;
  bool reads_d = !p.beta.equals(0);
  std::optional<Order> o = order_of(p, reads_d);
  // The bias runs along the rows of cuBLASLt's c.
  if (!o || (bias && !o->exchanged)) return false;
  const char* d = reads_d ? p.d : p.c;
  PlanKey key{on.device(),
              static_cast<int64_t>(p.dtype),
              precision_options(p.dtype) | (o->lead_a.transposed ? kTransposedA : 0) |
                  (o->lead_b.transposed ? kTransposedB : 0) | (bias ? kWithBias | alignment(bias) << 8 : 0),
              p.batch,
              o->m,
              o->n,
              p.k,
              o->lead_a.distance,
              o->lead_b.distance,
              o->lead_c,
              o->lead_d,
              o->batch_a,
              o->batch_b,
              p.c_strides.batch,
              reads_d ? p.d_strides.batch : p.c_strides.batch,
              alignment(o->a) | alignment(o->b) << 16 | alignment(d) << 32 | alignment(p.c) << 48};
  std::shared_ptr<Plan> plan = plan_for(key, bias);
  if (!plan->supported) return false;
  DType scale = scale_dtype(p.dtype);
  Factor alpha(scale, p.alpha), beta(scale, p.beta);
  Workspace workspace(on.device(), plan->workspace);
  std::unique_lock<std::mutex> lock;
  if (bias) {
    lock = std::unique_lock(plan->bias_mutex);
    lt->check(lt->matmul_desc_set_attribute(plan->description, BlasDescription::BiasPointer, &bias, sizeof(bias)),
              "cublasLtMatmulDescSetAttribute");
  }
  lt->check(
      lt->matmul(cublaslt_handle(on.device()), plan->description, alpha.bytes, o->a, plan->a, o->b, plan->b, beta.bytes,
                 d, plan->c, p.c, plan->d, &plan->algorithm, workspace.data(), plan->workspace, on.stream()),
      "cublasLtMatmul");
  return true;
}

}  // namespace

bool has_leading(const MatrixStrides& s, int64_t rows, int64_t columns) {
  return leading_of(s, rows, columns).has_value();
}

bool multiply_by_library(const Launcher& on, const Product& p) { return multiply_aligned(on, p, nullptr, run); }

bool multiply_with_bias(const Launcher& on, const Product& p, const char* bias) {
  bool has_epilogue = p.dtype == DType::Float32 || p.dtype == DType::Float16 || p.dtype == DType::BFloat16;
  return has_epilogue && multiply_aligned(on, p, bias, run);
}

ProductPrecision& product_precision() {
  static ProductPrecision switches;
  return switches;
}
static NamedSwitch tf32("matmul.allow_tf32", product_precision().tf32);
static NamedSwitch reduced_float16("matmul.allow_fp16_reduced_precision_reduction",
                                   product_precision().reduced_float16);
static NamedSwitch reduced_bfloat16("matmul.allow_bf16_reduced_precision_reduction",
                                    product_precision().reduced_bfloat16);

}  // namespace undertow::core::cuda
