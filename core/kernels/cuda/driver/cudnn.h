// cudnn.h: NVIDIA's library of convolutions and attention, opened at run time. We use only its graph interface
// ("backend"), because NVIDIA has deprecated the older functions per operation. Names and values are those of NVIDIA's
// cudnn_graph.h. UNDERTOW_CUDNN_LOG=1 prints what cuDNN rejects, and why.
#pragma once
#include <atomic>
#include <mutex>
#include <span>

#include "core/kernels/cuda/driver/driver_types.h"
#include "core/kernels/cuda/driver/library_types.h"

namespace undertow::core::cuda {

using cudnnStatus_t = int;
using cudnnHandle_t = struct cudnnContext*;
using cudnnBackendDescriptor_t = void*;

// cudnnDataType_t
enum class DnnType : int { Float32 = 0, Float64 = 1, Float16 = 2, Int32 = 4, BFloat16 = 9, Bool = 11 };
// cudnnBackendDescriptorType_t
enum class DnnKind : int {
  Pointwise = 0,
  Convolution = 1,
  Engine = 2,
  EngineConfig = 3,
  EngineHeuristics = 4,
  ExecutionPlan = 5,
  ConvolutionForward = 10,
  ConvolutionBackwardFilter = 11,
  ConvolutionBackwardData = 12,
  PointwiseOperation = 13,
  OperationGraph = 15,
  VariantPack = 16,
  Tensor = 17,
  Matmul = 18,
  MatmulOperation = 19,
  Reduction = 21,
  ReductionOperation = 22,
  ReshapeOperation = 31,
};
// cudnnBackendAttributeType_t
enum class DnnValue : int {
  Handle = 0,
  DataType = 1,
  Boolean = 2,
  Int64 = 3,
  Float = 4,
  Double = 5,
  Pointer = 6,
  ConvolutionMode = 7,
  HeuristicMode = 8,
  NumericalNote = 11,
  PointwiseMode = 14,
  Descriptor = 15,
  ReductionMode = 18,
  Char = 24,
};
// cudnnBackendAttributeName_t
enum class DnnAttribute : int {
  PointwiseMode = 0,
  PointwiseCompute = 1,
  PointwiseAxis = 9,
  ConvolutionCompute = 100,
  ConvolutionMode = 101,
  ConvolutionDilations = 102,
  ConvolutionStrides = 103,
  ConvolutionPostPaddings = 104,
  ConvolutionPrePaddings = 105,
  ConvolutionSpatialDims = 106,
  HeuristicMode = 200,
  HeuristicGraph = 201,
  HeuristicResults = 202,
  ConfigEngine = 300,
  PlanHandle = 400,
  PlanConfig = 401,
  PlanWorkspace = 402,
  PlanText = 405,
  ForwardAlpha = 700,
  ForwardBeta = 701,
  ForwardConvolution = 702,
  ForwardWeight = 703,
  ForwardImage = 704,
  ForwardOutput = 705,
  DataAlpha = 706,
  DataBeta = 707,
  DataConvolution = 708,
  DataWeight = 709,
  DataImage = 710,
  DataOutput = 711,
  FilterAlpha = 712,
  FilterBeta = 713,
  FilterConvolution = 714,
  FilterWeight = 715,
  FilterImage = 716,
  FilterOutput = 717,
  PointwiseDescription = 750,
  PointwiseX = 751,
  PointwiseB = 752,
  PointwiseOutput = 753,
  PointwiseFactorX = 754,
  PointwiseFactorB = 755,
  PointwiseCondition = 758,
  GraphHandle = 800,
  GraphOperations = 801,
  TensorAlignment = 900,
  TensorDataType = 901,
  TensorSizes = 902,
  TensorStrides = 903,
  TensorId = 906,
  TensorIsVirtual = 907,
  TensorIsNumber = 908,
  PackIds = 1000,
  PackPointers = 1001,
  PackWorkspace = 1003,
  EngineNumericalNote = 1303,
  MatmulCompute = 1500,
  MatmulA = 1520,
  MatmulB = 1521,
  MatmulOutput = 1522,
  MatmulDescription = 1523,
  MatmulRows = 1525,
  MatmulColumns = 1526,
  MatmulInner = 1527,
  ReductionMode = 1600,
  ReductionCompute = 1601,
  ReductionX = 1610,
  ReductionOutput = 1611,
  ReductionDescription = 1612,
  ReshapeX = 2200,
  ReshapeOutput = 2201,
};
// cudnnPointwiseMode_t
enum class DnnPointwise : int {
  Add = 0,
  Mul = 1,
  Div = 6,
  Sub = 9,
  Exp = 13,
  Log = 15,
  Identity = 21,
  GreaterEqual = 303,
  Less = 304,
  And = 400,
  Index = 501,
  Select = 601,
};
enum class DnnReduction : int { Add = 0, Max = 3 };                  // cudnnReduceTensorOp_t
inline constexpr int kDnnCrossCorrelation = 1;                       // cudnnConvolutionMode_t
inline constexpr int kDnnHeuristicFallback = 2, kDnnHeuristicA = 3;  // cudnnBackendHeurMode_t
// cudnnBackendNumericalNote_t
inline constexpr int kDnnTensorCore = 0, kDnnDownConverts = 1, kDnnNondeterministic = 4, kDnnNotes = 10;

struct Cudnn {
  size_t (*get_version)();  // 91400 for 9.14.0
  const char* (*get_error_string)(cudnnStatus_t status);
  cudnnStatus_t (*create)(cudnnHandle_t* handle);
  cudnnStatus_t (*set_stream)(cudnnHandle_t handle, CUstream stream);
  cudnnStatus_t (*create_descriptor)(DnnKind kind, cudnnBackendDescriptor_t* descriptor);
  cudnnStatus_t (*destroy_descriptor)(cudnnBackendDescriptor_t descriptor);
  cudnnStatus_t (*finalize)(cudnnBackendDescriptor_t descriptor);
  cudnnStatus_t (*set_attribute)(cudnnBackendDescriptor_t descriptor, DnnAttribute attribute, DnnValue type,
                                 int64_t count, const void* values);
  cudnnStatus_t (*get_attribute)(cudnnBackendDescriptor_t descriptor, DnnAttribute attribute, DnnValue type,
                                 int64_t wanted, int64_t* count, void* values);
  cudnnStatus_t (*execute)(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack);
  void (*get_last_error_string)(char* message, size_t size);

  void check(cudnnStatus_t status, const char* operation) const {
    if (status) [[unlikely]]
      fail(status, operation);
  }
  [[noreturn]] void fail(cudnnStatus_t status, const char* operation) const;
};

// Opened on first use; null if it is not installed.
const Cudnn* cudnn();
// Is it installed, and does it work on the device? The first call for a device tries.
bool has_cudnn(int device);

// Switches of cuDNN, as torch.backends.cudnn has them. Atomic because any thread may change one while others compute.
struct CudnnSettings {
  std::atomic<bool> enabled{true};
  std::atomic<bool> benchmark{false};      // measure several algorithms for a new shape, and keep the fastest
  std::atomic<bool> deterministic{false};  // only algorithms that always give the same bits
  std::atomic<bool> tf32{true};            // float32 convolutions may round their operands to TF32 (10 bits)
  std::atomic<bool> deterministic_algorithms{false};  // as `deterministic`, for all libraries and kernels

  bool wants_same_bits() const {
    return deterministic.load(std::memory_order_relaxed) || deterministic_algorithms.load(std::memory_order_relaxed);
  }
};
CudnnSettings& cudnn_settings();

// Prints a line if UNDERTOW_CUDNN_LOG is set; `status` is that of the call that failed, 0 if there is none.
void log_cudnn(const char* event, int kind = -1, int attribute = -1, cudnnStatus_t status = 0);

// A device's handle, for one thread at a time; only if has_cudnn(device).
class CudnnSession {
 public:
  CudnnSession(int device, CUstream stream);
  cudnnHandle_t handle() const { return handle_; }

 private:
  std::unique_lock<std::mutex> lock_;
  cudnnHandle_t handle_;
};

// A description that cuDNN owns.
class CudnnDescriptor {
 public:
  CudnnDescriptor() = default;
  explicit CudnnDescriptor(DnnKind kind);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept : kind_(other.kind_), descriptor_(other.descriptor_) {
    other.descriptor_ = nullptr;
  }
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  cudnnBackendDescriptor_t get() const { return descriptor_; }

  void set(DnnAttribute attribute, DnnValue type, int64_t count, const void* values);
  void set(DnnAttribute attribute, std::span<const int64_t> values) {
    set(attribute, DnnValue::Int64, static_cast<int64_t>(values.size()), values.data());
  }
  void set(DnnAttribute attribute, const CudnnDescriptor& part) {
    set(attribute, DnnValue::Descriptor, 1, &part.descriptor_);
  }
  // Must be called before the description is used. `try_finalize` returns false where cuDNN does not support it.
  void finalize();
  bool try_finalize();

 private:
  DnnKind kind_{};
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

}  // namespace undertow::core::cuda
