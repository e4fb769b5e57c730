// blas.cpp: the functions of cuBLASLt, by plain loops that run when the stream comes to them. Sums are in double. With
// a compute type that permits TF32 the factors are rounded to it, so that a test sees whether a program asked for it.
#include <complex>
#include <cstring>
#include <map>

#include "graphs.h"
#include "memory.h"

using namespace emulator;

namespace {

#if defined(__aarch64__)
using Half = __fp16;  // GCC 12 has no _Float16 there
#else
using Half = _Float16;
#endif

enum Status : int {
  kSuccess = 0,
  kInvalidValue = 7,
  kExecutionFailed = 13,
  kNotSupported = 15,
};

// cudaDataType
enum Type : int { kFloat = 0, kDouble = 1, kHalf = 2, kComplexFloat = 4, kComplexDouble = 5, kBFloat16 = 14 };
// cublasLtMatmulDescAttributes_t
enum Description : int {
  kComputeType = 0,
  kScaleType = 1,
  kPointerMode = 2,
  kTransposeA = 3,
  kTransposeB = 4,
  kTransposeC = 5,
  kEpilogue = 7,
  kBias = 8,
  kBiasStride = 10,
  kBiasType = 26
};
// cublasLtMatrixLayoutAttribute_t
enum Layout : int {
  kLayoutType = 0,
  kOrder = 1,
  kRows = 2,
  kColumns = 3,
  kLeading = 4,
  kBatchCount = 5,
  kBatchStride = 6
};
// cublasLtEpilogue_t
enum Epilogue : unsigned { kRelu = 2, kAddBias = 4, kGelu = 32 };
constexpr int kFastTf32 = 77;  // cublasComputeType_t

// Every descriptor is a list of values by attribute.
struct Descriptor {
  std::map<int, uint64_t> values;

  template <class T>
  T get(int attribute, T otherwise) const {
    auto it = values.find(attribute);
    if (it == values.end()) return otherwise;
    T value;
    std::memcpy(&value, &it->second, sizeof value);
    return value;
  }
  template <class T>
  void set(int attribute, T value) {
    uint64_t& bits = values[attribute] = 0;
    std::memcpy(&bits, &value, sizeof value);
  }
};

Handles<Descriptor>& descriptors() {
  static auto& all = *new Handles<Descriptor>("cuBLASLt object");
  return all;
}

Status status_of(CUresult result) {
  switch (result) {
    case CUDA_SUCCESS:
      return kSuccess;
    case CUDA_ERROR_NOT_SUPPORTED:
      return kNotSupported;
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_HANDLE:
      return kInvalidValue;
    default:
      return kExecutionFailed;
  }
}

Status create(const char* name, void** out, Descriptor descriptor) {
  return status_of(
      call(name, Needs::kInit, [&] { *out = descriptors().add(std::make_shared<Descriptor>(std::move(descriptor))); }));
}
Status destroy(const char* name, void* handle) {
  return status_of(call(name, Needs::kInit, [&] { descriptors().remove(handle); }));
}
Status set_attribute(const char* name, void* handle, int attribute, const void* value, size_t bytes) {
  return status_of(call(name, Needs::kInit, [&] {
    uint64_t bits = 0;
    if (!value || bytes > sizeof bits)
      fail(CUDA_ERROR_INVALID_VALUE, "a value of %zu bytes for attribute %d", bytes, attribute);
    std::memcpy(&bits, value, bytes);
    descriptors().get(handle)->values[attribute] = bits;
  }));
}

size_t size_of(Type type) {
  switch (type) {
    case kFloat:
      return 4;
    case kDouble:
    case kComplexFloat:
      return 8;
    case kHalf:
    case kBFloat16:
      return 2;
    case kComplexDouble:
      return 16;
    default:
      fail(CUDA_ERROR_NOT_SUPPORTED, "the emulator has no products of type %d", static_cast<int>(type));
  }
}
bool is_complex(Type type) { return type == kComplexFloat || type == kComplexDouble; }

struct Matrix {
  Type type;
  int64_t rows, columns, leading, batch, stride;
  bool row_major;

  explicit Matrix(const Descriptor& layout)
      : type(layout.get<Type>(kLayoutType, kFloat)),
        rows(layout.get<int64_t>(kRows, 0)),
        columns(layout.get<int64_t>(kColumns, 0)),
        leading(layout.get<int64_t>(kLeading, 0)),
        batch(layout.get<int32_t>(kBatchCount, 1)),
        stride(layout.get<int64_t>(kBatchStride, 0)),
        row_major(layout.get<int32_t>(kOrder, 0) == 1) {
    const int64_t line = row_major ? columns : rows;
    if (layout.get<int32_t>(kOrder, 0) > 1)
      fail(CUDA_ERROR_NOT_SUPPORTED, "the emulator has only row-major and column-major matrices");
    if (rows <= 0 || columns <= 0 || batch <= 0 || leading < line) {
      fail(CUDA_ERROR_INVALID_VALUE, "a matrix of %lld x %lld with leading dimension %lld",
           static_cast<long long>(rows), static_cast<long long>(columns), static_cast<long long>(leading));
    }
  }
  int64_t at(int64_t row, int64_t column) const { return row_major ? row * leading + column : column * leading + row; }
  size_t bytes() const {
    return static_cast<size_t>((batch - 1) * stride + at(rows - 1, columns - 1) + 1) * size_of(type);
  }
};

float from_bfloat16(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float result;
  std::memcpy(&result, &wide, sizeof result);
  return result;
}
// The upper bits of a float, to nearest, ties to even; the lower ones become 0.
float rounded_to_bits(float value, int dropped) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (value != value || std::abs(value) > 3.4e38f) return value;
  const uint32_t last = bits >> dropped & 1, half = (1u << (dropped - 1)) - 1;
  bits = (bits + half + last) >> dropped << dropped;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class Sum>
Sum load(Type type, const void* data, int64_t i) {
  switch (type) {
    case kFloat:
      return static_cast<const float*>(data)[i];
    case kDouble:
      return static_cast<const double*>(data)[i];
    case kHalf:
      return static_cast<double>(static_cast<const Half*>(data)[i]);
    case kBFloat16:
      return from_bfloat16(static_cast<const uint16_t*>(data)[i]);
    default:
      break;
  }
  if constexpr (!std::is_same_v<Sum, double>) {
    if (type == kComplexDouble) return static_cast<const std::complex<double>*>(data)[i];
    return static_cast<std::complex<double>>(static_cast<const std::complex<float>*>(data)[i]);
  }
  fail(CUDA_ERROR_NOT_SUPPORTED, "a product of complex and real matrices");
}

template <class Sum>
void store(Type type, void* data, int64_t i, Sum value) {
  if constexpr (std::is_same_v<Sum, double>) {
    switch (type) {
      case kFloat:
        static_cast<float*>(data)[i] = static_cast<float>(value);
        return;
      case kDouble:
        static_cast<double*>(data)[i] = value;
        return;
      case kHalf:
        static_cast<Half*>(data)[i] = static_cast<Half>(static_cast<float>(value));
        return;
      default:
        break;
    }
    const float rounded = rounded_to_bits(static_cast<float>(value), 16);
    uint32_t bits;
    std::memcpy(&bits, &rounded, sizeof bits);
    static_cast<uint16_t*>(data)[i] = static_cast<uint16_t>(bits >> 16);
  } else if (type == kComplexDouble) {
    static_cast<std::complex<double>*>(data)[i] = value;
  } else {
    static_cast<std::complex<float>*>(data)[i] = static_cast<std::complex<float>>(value);
  }
}

struct Product {
  Matrix a, b, c, d;
  int transpose_a, transpose_b;
  const void *a_data, *b_data, *c_data;
  void* d_data;
  bool tf32;
  unsigned epilogue;
  const void* bias;
  Type bias_type;
  int64_t bias_stride;
  std::complex<double> alpha, beta;
};

// One factor of one batch, row after row, as the operation (as it is, transposed, conjugated) reads it.
template <class Sum>
std::vector<Sum> factor(const Matrix& matrix, const void* data, int operation, int64_t batch, bool tf32) {
  const int64_t rows = operation ? matrix.columns : matrix.rows, columns = operation ? matrix.rows : matrix.columns;
  std::vector<Sum> result(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      Sum value = load<Sum>(matrix.type, data, batch * matrix.stride + (operation ? matrix.at(j, i) : matrix.at(i, j)));
      if constexpr (std::is_same_v<Sum, double>) {
        constexpr int kDroppedByTf32 = 13;
        if (tf32 && matrix.type == kFloat) value = rounded_to_bits(static_cast<float>(value), kDroppedByTf32);
      } else if (operation == 2) {
        value = std::conj(value);
      }
      result[static_cast<size_t>(i * columns + j)] = value;
    }
  }
  return result;
}

double epilogue_of(double x, unsigned epilogue) {
  if (epilogue & kRelu) return x > 0 ? x : 0;
  if (epilogue & kGelu) return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
  return x;
}

template <class Sum>
void multiply(const Product& p) {
  Sum alpha, beta;
  if constexpr (std::is_same_v<Sum, double>) {
    alpha = p.alpha.real(), beta = p.beta.real();
  } else {
    alpha = p.alpha, beta = p.beta;
  }
  const int64_t m = p.d.rows, n = p.d.columns, k = p.transpose_a ? p.a.rows : p.a.columns;
  std::vector<Sum> line(static_cast<size_t>(n));
  for (int64_t batch = 0; batch < p.d.batch; ++batch) {
    const std::vector<Sum> a = factor<Sum>(p.a, p.a_data, p.transpose_a, batch, p.tf32);
    const std::vector<Sum> b = factor<Sum>(p.b, p.b_data, p.transpose_b, batch, p.tf32);
    for (int64_t i = 0; i < m; ++i) {
      std::fill(line.begin(), line.end(), Sum(0));
      for (int64_t l = 0; l < k; ++l) {
        const Sum left = a[static_cast<size_t>(i * k + l)];
        const Sum* right = &b[static_cast<size_t>(l * n)];
        for (size_t j = 0; j < line.size(); ++j) line[j] += left * right[j];
      }
      for (int64_t j = 0; j < n; ++j) {
        Sum value = alpha * line[static_cast<size_t>(j)];
        if (beta != Sum(0)) value += beta * load<Sum>(p.c.type, p.c_data, batch * p.c.stride + p.c.at(i, j));
        if (p.epilogue & kAddBias) value += load<Sum>(p.bias_type, p.bias, batch * p.bias_stride + i);
        if constexpr (std::is_same_v<Sum, double>) value = epilogue_of(value, p.epilogue);
        store<Sum>(p.d.type, p.d_data, batch * p.d.stride + p.d.at(i, j), value);
      }
    }
  }
}

void check_memory(const Product& p) {
  check_device_range(p.a_data, p.a.bytes(), "matrix a");
  check_device_range(p.b_data, p.b.bytes(), "matrix b");
  if (p.beta != 0.0) check_device_range(p.c_data, p.c.bytes(), "matrix c");
  check_device_range(p.d_data, p.d.bytes(), "matrix d");
  if (p.epilogue & kAddBias) check_device_range(p.bias, static_cast<size_t>(p.d.rows) * size_of(p.bias_type), "bias");
}

// Fails if the sizes do not fit or the emulator cannot compute it.
Product describe(void* handle, void* a_layout, void* b_layout, void* c_layout, void* d_layout) {
  const Descriptor& what = *descriptors().get(handle);
  auto matrix = [](void* layout) { return Matrix(*descriptors().get(layout)); };
  Product p{.a = matrix(a_layout),
            .b = matrix(b_layout),
            .c = matrix(c_layout),
            .d = matrix(d_layout),
            .transpose_a = what.get<int32_t>(kTransposeA, 0),
            .transpose_b = what.get<int32_t>(kTransposeB, 0),
            .a_data = nullptr,
            .b_data = nullptr,
            .c_data = nullptr,
            .d_data = nullptr,
            .tf32 = what.get<int32_t>(kComputeType, 0) == kFastTf32,
            .epilogue = what.get<uint32_t>(kEpilogue, 1),
            .bias = what.get<const void*>(kBias, nullptr),
            .bias_type = kFloat,
            .bias_stride = what.get<int64_t>(kBiasStride, 0),
            .alpha = 0,
            .beta = 0};
  const int32_t bias_type = what.get<int32_t>(kBiasType, -1);
  p.bias_type = bias_type < 0 ? p.d.type : static_cast<Type>(bias_type);
  if (p.epilogue & ~(1u | kRelu | kAddBias | kGelu))
    fail(CUDA_ERROR_NOT_SUPPORTED, "the emulator does not know the epilogue %u", p.epilogue);
  if (what.get<int32_t>(kPointerMode, 0) || what.get<int32_t>(kTransposeC, 0))
    fail(CUDA_ERROR_NOT_SUPPORTED, "the emulator takes factors from the host and c as it is");
  const int64_t m = p.transpose_a ? p.a.columns : p.a.rows, k = p.transpose_a ? p.a.rows : p.a.columns;
  const int64_t k_of_b = p.transpose_b ? p.b.columns : p.b.rows, n = p.transpose_b ? p.b.rows : p.b.columns;
  const bool batches = p.a.batch == p.d.batch && p.b.batch == p.d.batch && p.c.batch == p.d.batch;
  if (k != k_of_b || m != p.d.rows || n != p.d.columns || m != p.c.rows || n != p.c.columns || !batches) {
    fail(CUDA_ERROR_INVALID_VALUE, "the matrices do not fit: %lld x %lld times %lld x %lld is not %lld x %lld",
         static_cast<long long>(m), static_cast<long long>(k), static_cast<long long>(k_of_b),
         static_cast<long long>(n), static_cast<long long>(p.d.rows), static_cast<long long>(p.d.columns));
  }
  return p;
}

struct Algorithm {
  uint64_t data[8];
};
constexpr uint64_t kOnlyAlgorithm = 0xE0;

struct HeuristicResult {
  Algorithm algorithm;
  size_t workspace;
  Status state;
  float waves;
  int reserved[4];
};

}  // namespace

#define BLAS_API EMULATOR_API(Status)

EMULATOR_API(size_t) cublasLtGetVersion() { return 130000; }
EMULATOR_API(const char*) cublasLtGetStatusString(Status status) {
  switch (status) {
    case kSuccess:
      return "success";
    case kInvalidValue:
      return "an invalid value";
    case kNotSupported:
      return "not supported";
    default:
      return "the product failed";
  }
}

BLAS_API cublasLtCreate(void** handle) { return create("cublasLtCreate", handle, {}); }
BLAS_API cublasLtDestroy(void* handle) { return destroy("cublasLtDestroy", handle); }

BLAS_API cublasLtMatmulDescCreate(void** out, int compute, Type scale) {
  Descriptor descriptor;
  descriptor.set(kComputeType, compute);
  descriptor.set(kScaleType, scale);
  return create("cublasLtMatmulDescCreate", out, std::move(descriptor));
}
BLAS_API cublasLtMatmulDescDestroy(void* handle) { return destroy("cublasLtMatmulDescDestroy", handle); }
BLAS_API cublasLtMatmulDescSetAttribute(void* handle, int attribute, const void* value, size_t bytes) {
  return set_attribute("cublasLtMatmulDescSetAttribute", handle, attribute, value, bytes);
}

BLAS_API cublasLtMatrixLayoutCreate(void** out, Type type, uint64_t rows, uint64_t columns, int64_t leading) {
  Descriptor descriptor;
  descriptor.set(kLayoutType, type);
  descriptor.set(kRows, rows);
  descriptor.set(kColumns, columns);
  descriptor.set(kLeading, leading);
  return create("cublasLtMatrixLayoutCreate", out, std::move(descriptor));
}
BLAS_API cublasLtMatrixLayoutDestroy(void* handle) { return destroy("cublasLtMatrixLayoutDestroy", handle); }
BLAS_API cublasLtMatrixLayoutSetAttribute(void* handle, int attribute, const void* value, size_t bytes) {
  return set_attribute("cublasLtMatrixLayoutSetAttribute", handle, attribute, value, bytes);
}

BLAS_API cublasLtMatmulPreferenceCreate(void** out) { return create("cublasLtMatmulPreferenceCreate", out, {}); }
BLAS_API cublasLtMatmulPreferenceDestroy(void* handle) { return destroy("cublasLtMatmulPreferenceDestroy", handle); }
BLAS_API cublasLtMatmulPreferenceSetAttribute(void* handle, int attribute, const void* value, size_t bytes) {
  return set_attribute("cublasLtMatmulPreferenceSetAttribute", handle, attribute, value, bytes);
}

BLAS_API cublasLtMatmulAlgoGetHeuristic(void* handle, void* description, void* a, void* b, void* c, void* d,
                                        void* preference, int wanted, HeuristicResult* results, int* count) {
  return status_of(call("cublasLtMatmulAlgoGetHeuristic", Needs::kInit, [&] {
    if (count) *count = 0;
    descriptors().get(handle);
    descriptors().get(preference);
    if (wanted < 1 || !results || !count) fail(CUDA_ERROR_INVALID_VALUE, "no place for a result");
    describe(description, a, b, c, d);
    results[0] = {.algorithm = {{kOnlyAlgorithm}}, .workspace = 0, .state = kSuccess, .waves = 1, .reserved = {}};
    *count = 1;
  }));
}

BLAS_API cublasLtMatmul(void* handle, void* description, const void* alpha, const void* a, void* a_layout,
                        const void* b, void* b_layout, const void* beta, const void* c, void* c_layout, void* d,
                        void* d_layout, const Algorithm* algorithm, void* workspace, size_t workspace_bytes,
                        CUstream stream) {
  return status_of(call("cublasLtMatmul", Needs::kContext, [&] {
    descriptors().get(handle);
    auto product = std::make_shared<Product>(describe(description, a_layout, b_layout, c_layout, d_layout));
    const auto scale = descriptors().get(description)->get<Type>(kScaleType, kFloat);
    product->alpha = load<std::complex<double>>(scale, alpha, 0);
    product->beta = load<std::complex<double>>(scale, beta, 0);
    product->a_data = a;
    product->b_data = b;
    product->c_data = c;
    product->d_data = d;
    if (algorithm && algorithm->data[0] != kOnlyAlgorithm)
      fail(CUDA_ERROR_INVALID_VALUE, "an algorithm that no heuristic gave");
    if (workspace) check_device_range(workspace, workspace_bytes, "workspace");
    check_memory(*product);
    auto run = [product] {
      check_memory(*product);
      if (is_complex(product->d.type)) {
        multiply<std::complex<double>>(*product);
      } else {
        multiply<double>(*product);
      }
    };
    enqueue(stream_of(stream), {.name = "cublasLtMatmul", .run = run});
  }));
}
