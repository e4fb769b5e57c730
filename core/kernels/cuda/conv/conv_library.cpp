// conv_library.cpp: convolutions by cuDNN. The plan that was chosen for a shape is kept.
#include <array>
#include <deque>

#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/cuda/conv/conv.h"
#include "core/kernels/cuda/copy/copy.h"
#include "core/kernels/cuda/driver/cudnn_graph.h"
#include "core/kernels/cuda/driver/driver.h"
#include "core/kernels/cuda/runtime/workspace.h"

namespace undertow::core::cuda {

namespace {

constexpr int64_t kWorkspaceLimit = int64_t{1} << 30;
constexpr int kMostMeasured = 8, kMeasurements = 3;  // plans, and runs of each, with `benchmark`

// --- Layouts

// Sizes and strides as cuDNN takes them: batch, channels, two or three spatial dimensions.
struct Block {
  int dims;
  int64_t sizes[5], strides[5];

  Block(int dims, int64_t first, int64_t second, const int64_t (&spatial)[3], bool channels_last) : dims(dims) {
    sizes[0] = first;
    sizes[1] = second;
    for (int d = 2; d < dims; d++) sizes[d] = spatial[3 - dims + d];
    int64_t stride = channels_last ? sizes[1] : 1;
    for (int d = dims - 1; d >= 2; stride *= sizes[d--]) strides[d] = stride;
    strides[1] = channels_last ? 1 : stride;
    strides[0] = stride * (channels_last ? 1 : sizes[1]);
  }
  // Strides of a tensor that may have fewer dimensions, in which cuDNN's leading spatial ones are left out.
  IntSpan strides_for(const Tensor& t, int64_t (&to)[5]) const {
    to[0] = strides[0];
    to[1] = strides[1];
    int64_t n = t.dim();
    for (int64_t d = 2; d < n; d++) to[d] = strides[dims - n + d];
    return IntSpan(to, static_cast<size_t>(n));
  }
  bool matches(const Tensor& t) const {
    int64_t wanted[5];
    IntSpan s = strides_for(t, wanted);
    for (int64_t d = 0; d < t.dim(); d++)
      if (t.size(d) != 1 && t.stride(d) != s[static_cast<size_t>(d)]) return false;
    return true;
  }
  Tensor empty_like(const Tensor& t) const {
    int64_t wanted[5];
    return empty_strided_on_device_of(t, t.sizes(), strides_for(t, wanted), t.dtype());
  }
};

Tensor in_layout(const Tensor& t, const Block& block) {
  if (block.matches(t)) return t;
  Tensor out = block.empty_like(t);
  copy(out, t);
  return out;
}

// --- Plans

struct PlanKey {
  int64_t device, dtype, result, channels_last, options, alignments;
  ConvShape shape;
};
static_assert(sizeof(PlanKey) == 28 * sizeof(int64_t), "compared as bytes");
// The bits of PlanKey::options.
constexpr int64_t kBenchmark = 1, kDeterministic = 2, kTf32 = 4;

enum TensorId : int64_t { kImage = 'x', kWeight = 'w', kOutput = 'y' };

// The memory of the image, the weight and the output.
constexpr int64_t kIds[] = {kImage, kWeight, kOutput};
using Pointers = std::array<const void*, 3>;

// Only two spatial dimensions where the first of three does nothing.
int spatial_dims(const ConvShape& s) { return s.in[0] == 1 && s.out[0] == 1 && s.kernel[0] == 1 && !s.pad[0] ? 2 : 3; }

struct Blocks {
  Block image, weight, output;
  Blocks(const ConvShape& s, bool channels_last)
      : image(spatial_dims(s) + 2, s.batch, s.in_channels, s.in, channels_last),
        weight(spatial_dims(s) + 2, s.out_channels, s.in_channels / s.groups, s.kernel, channels_last),
        output(spatial_dims(s) + 2, s.batch, s.out_channels, s.out, channels_last) {}
};

// cuDNN computes only the outputs of a convolution with the same padding on both sides.
bool has_usual_size(const ConvShape& s) {
  for (int d = 0; d < 3; d++) {
    int64_t room = s.in[d] + 2 * s.pad[d] - s.dilation[d] * (s.kernel[d] - 1) - 1;
    if (room < 0 || room / s.stride[d] + 1 != s.out[d]) return false;
  }
  return true;
}

CudnnDescriptor tensor(const Block& block, DnnType type, TensorId id, int64_t alignment) {
  auto dims = static_cast<size_t>(block.dims);
  return describe({id, type, std::span(block.sizes, dims), std::span(block.strides, dims), alignment});
}

// The attributes of the three operations.
struct OperationNames {
  DnnKind kind;
  DnnAttribute convolution, image, weight, output, alpha, beta;
};
const OperationNames& names_of(ConvResult result) {
  using A = DnnAttribute;
  static const OperationNames names[] = {{DnnKind::ConvolutionForward, A::ForwardConvolution, A::ForwardImage,
                                          A::ForwardWeight, A::ForwardOutput, A::ForwardAlpha, A::ForwardBeta},
                                         {DnnKind::ConvolutionBackwardData, A::DataConvolution, A::DataImage,
                                          A::DataWeight, A::DataOutput, A::DataAlpha, A::DataBeta},
                                         {DnnKind::ConvolutionBackwardFilter, A::FilterConvolution, A::FilterImage,
                                          A::FilterWeight, A::FilterOutput, A::FilterAlpha, A::FilterBeta}};
  return names[static_cast<int>(result)];
}

CudnnDescriptor operation_graph(const PlanKey& key, cudnnHandle_t handle) {
  const ConvShape& s = key.shape;
  auto dtype = static_cast<DType>(key.dtype);
  DnnType type = dnn_type(dtype), compute = dtype == DType::Float64 ? DnnType::Float64 : DnnType::Float32;
  const OperationNames& names = names_of(static_cast<ConvResult>(key.result));
  Blocks blocks(s, key.channels_last);
  auto alignment = [&](int shift) { return key.alignments >> shift & 0xff; };
  CudnnDescriptor image = tensor(blocks.image, type, kImage, alignment(0)),
                  weight = tensor(blocks.weight, type, kWeight, alignment(8)),
                  output = tensor(blocks.output, type, kOutput, alignment(16));

  CudnnDescriptor convolution(DnnKind::Convolution);
  const int64_t dims = spatial_dims(s);
  auto spatial = [&](const int64_t (&values)[3]) { return std::span(values + 3 - dims, static_cast<size_t>(dims)); };
  convolution.set(DnnAttribute::ConvolutionCompute, DnnValue::DataType, 1, &compute);
  convolution.set(DnnAttribute::ConvolutionMode, DnnValue::ConvolutionMode, 1, &kDnnCrossCorrelation);
  convolution.set(DnnAttribute::ConvolutionSpatialDims, DnnValue::Int64, 1, &dims);
  convolution.set(DnnAttribute::ConvolutionPrePaddings, spatial(s.pad));
  convolution.set(DnnAttribute::ConvolutionPostPaddings, spatial(s.pad));
  convolution.set(DnnAttribute::ConvolutionDilations, spatial(s.dilation));
  convolution.set(DnnAttribute::ConvolutionStrides, spatial(s.stride));
  convolution.finalize();

  CudnnDescriptor operation(names.kind);
  operation.set(names.convolution, convolution);
  operation.set(names.image, image);
  operation.set(names.weight, weight);
  operation.set(names.output, output);
  const double one = 1, zero = 0;
  const float float_one = 1, float_zero = 0;
  bool is_double = dtype == DType::Float64;
  DnnValue factor = is_double ? DnnValue::Double : DnnValue::Float;
  operation.set(names.alpha, factor, 1, is_double ? static_cast<const void*>(&one) : &float_one);
  operation.set(names.beta, factor, 1, is_double ? static_cast<const void*>(&zero) : &float_zero);
  operation.finalize();

  std::deque<CudnnDescriptor> operations;
  operations.push_back(std::move(operation));
  return graph_of(operations, handle);
}

bool is_allowed(const CudnnDescriptor& configuration, const PlanKey& key) {
  unsigned unwanted = 0;
  // Tensor cores round float32 to TF32.
  if (!(key.options & kTf32)) unwanted |= 1u << kDnnDownConverts | 1u << kDnnTensorCore;
  if (key.options & kDeterministic) unwanted |= 1u << kDnnNondeterministic;
  return !has_note(configuration, unwanted);
}

// The shortest time of a few runs, in milliseconds.
float measure(const CudnnPlan& plan, const CudnnSession& session, const Launcher& on, const Pointers& p) {
  const Driver& d = driver();
  Workspace memory(on.device(), static_cast<size_t>(plan.workspace()));
  CUevent start = nullptr, stop = nullptr;
  check(d.event_create(&start, 0), "cuEventCreate");
  check(d.event_create(&stop, 0), "cuEventCreate");
  float best = 0;
  for (int i = 0; i <= kMeasurements; i++) {  // the first one loads the kernel
    check(d.event_record(start, on.stream()), "cuEventRecord");
    plan.run(session, kIds, p, memory.data());
    check(d.event_record(stop, on.stream()), "cuEventRecord");
    check(d.event_synchronize(stop), "cuEventSynchronize");
    float time = 0;
    check(d.event_elapsed_time(&time, start, stop), "cuEventElapsedTime");
    if (i == 1 || (i > 1 && time < best)) best = time;
  }
  d.event_destroy(start);
  d.event_destroy(stop);
  return best;
}

CudnnPlan choose_plan(const PlanKey& key, const CudnnSession& session, const Launcher& on, const Pointers& p) {
  CudnnDescriptor graph = operation_graph(key, session.handle());
  CudnnPlan best;
  float best_time = 0;
  int measured = 0;
  for (int mode : {kDnnHeuristicA, kDnnHeuristicFallback}) {
    for (const CudnnDescriptor& configuration : configurations(graph, mode)) {
      if (!is_allowed(configuration, key)) continue;
      CudnnPlan plan = plan_of(configuration, session.handle(), kWorkspaceLimit);
      if (!plan) continue;
      if (!(key.options & kBenchmark)) return plan;
      float time = measure(plan, session, on, p);
      if (!measured || time < best_time) {
        best = std::move(plan);
        best_time = time;
      }
      if (++measured == kMostMeasured) return best;
    }
    if (measured) break;
  }
  return best;
}

}  // namespace

bool convolve_by_library(const Tensor& out, const Tensor& a, const Tensor& b, const Convolution& conv) {
  const CudnnSettings& settings = cudnn_settings();
  auto is_on = [](const std::atomic<bool>& s) { return s.load(std::memory_order_relaxed); };
  DType dtype = out.dtype();
  bool floating =
      dtype == DType::Float32 || dtype == DType::Float64 || dtype == DType::Float16 || dtype == DType::BFloat16;
  if (!floating || !is_on(settings.enabled) || !has_cudnn(out.device().index) || !has_usual_size(conv.shape))
    return false;
  if (a.numel() == 0 || b.numel() == 0) return false;
  bool image_is_out = conv.result == ConvResult::Image, weight_is_out = conv.result == ConvResult::Weight;
  // A weight is row-major as a result, so the images decide.
  bool channels_last = weight_is_out ? conv.a_channels_last || conv.b_channels_last : !out.is_contiguous();
  Blocks blocks(conv.shape, channels_last);
  const Block &for_out = image_is_out    ? blocks.image
                         : weight_is_out ? blocks.weight
                                         : blocks.output,
              &for_a = image_is_out ? blocks.output : blocks.image,
              &for_b = weight_is_out ? blocks.output : blocks.weight;
  Launcher on(out);
  Tensor left = in_layout(a, for_a), right = in_layout(b, for_b),
         to = for_out.matches(out) ? out : for_out.empty_like(out);
  Pointers p = image_is_out    ? Pointers{to.data(), right.data(), left.data()}
               : weight_is_out ? Pointers{left.data(), to.data(), right.data()}
                               : Pointers{left.data(), right.data(), to.data()};
  PlanKey key{out.device().index,
              static_cast<int64_t>(dtype),
              static_cast<int64_t>(conv.result),
              channels_last,
              (is_on(settings.benchmark) ? kBenchmark : 0) | (settings.wants_same_bits() ? kDeterministic : 0) |
                  (is_on(settings.tf32) || dtype != DType::Float32 ? kTf32 : 0),
              alignment(p[0]) | alignment(p[1]) << 8 | alignment(p[2]) << 16,
              conv.shape};
  {
    CudnnSession session(on.device(), on.stream());
    static auto& plans = *new CudnnPlanCache<PlanKey>;
    std::shared_ptr<const CudnnPlan> plan = plans.get(key, [&] { return choose_plan(key, session, on, p); });
    if (!*plan) return false;
    Workspace memory(on.device(), static_cast<size_t>(plan->workspace()));
    plan->run(session, kIds, p, memory.data());
  }
  if (!to.is_same(out)) copy(out, to);
  return true;
}

}  // namespace undertow::core::cuda
