// attention_library.cpp: attention by cuDNN, whose fused kernels are the fastest on recent GPUs: which shapes it takes,
// and its memory. The plan for a shape is kept, and so is the fact that a shape has none.
#include <limits>

#include "core/kernels/cuda/attention/attention.h"
#include "core/kernels/cuda/attention/attention_graph.h"
#include "core/kernels/cuda/compile/image_cache.h"
#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/cuda/driver/driver.h"
#include "core/kernels/cuda/runtime/capture_mode.h"
#include "core/kernels/cuda/runtime/workspace.h"
#include "core/kernels/cuda/settings.h"

namespace undertow::core::cuda {

namespace {

// 9.10.0 and 9.10.1 have known errors; versions before want other graphs.
constexpr size_t kOldestVersion = 91002;
// Up to this version, gradients need to be told the number of keys unless it is a multiple of 128.
constexpr size_t kLastVersionToPad = 91500;
constexpr int64_t kPadTo = 128, kMaxWidth = 256;
constexpr int64_t kWorkspaceLimit = int64_t{2} << 30;

std::atomic<bool> wanted{true};  // tests compare the ways to compute attention
NamedSwitch use_library("attention.library", wanted);

bool is_on(const std::atomic<bool>& s) { return s.load(std::memory_order_relaxed); }

bool is_supported(const AttentionInputs& in) {
  const AttentionShape& s = in.shape;
  int device = in.query.device().index;
  bool shape = s.width % 8 == 0 && s.values % 8 == 0 && s.width <= kMaxWidth && s.values <= kMaxWidth && s.width > 0 &&
               s.values > 0 && s.keys > 0 && s.queries * s.keys > 1 && s.scale > 0;
  return shape && is_reduced_float(in.query.dtype()) && !in.mask.defined() && is_on(wanted) &&
         is_on(cudnn_settings().enabled) && device_state(device).capability >= 80 && has_cudnn(device) &&
         cudnn()->get_version() >= kOldestVersion;
}

// cuDNN wants strides even of dimensions with one element.
AttentionKey::Strides strides_of(const Tensor& t) {
  int64_t row = t.size(2) == 1 ? t.size(3) : t.stride(2), head = t.size(1) == 1 ? t.size(2) * row : t.stride(1);
  return {t.size(0) == 1 ? t.size(1) * t.size(2) * t.size(3) : t.stride(0), head, row};
}

AttentionKey key_of(const AttentionInputs& in, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out) {
  const AttentionShape& s = in.shape;
  return {.device = q.device().index,
          .dtype = static_cast<int64_t>(q.dtype()),
          .backward = 0,
          .causal = s.causal,
          .deterministic = 0,
          .padded = 0,
          .batch = s.batch,
          .heads = s.heads,
          .queries = s.queries,
          .keys = s.keys,
          .width = s.width,
          .values = s.values,
          .group = s.group,
          .query = strides_of(q),
          .key = strides_of(k),
          .value = strides_of(v),
          .out = strides_of(out)};
}

// cuDNN compiles the kernel of a plan, which takes half a second.
CudnnPlan compile_plan(const AttentionKey& key, cudnnHandle_t handle) {
  CudnnDescriptor graph = key.backward ? backward_graph(key, handle) : forward_graph(key, handle);
  for (int mode : {kDnnHeuristicA, kDnnHeuristicFallback})
    for (const CudnnDescriptor& configuration : configurations(graph, mode))
      if (CudnnPlan plan = plan_of(configuration, handle, kWorkspaceLimit)) return plan;
  return {};
}

// Everything that decides a plan, as the key of a file.
std::string file_key(AttentionKey key) {
  const DeviceState& device = device_state(static_cast<int>(key.device));
  key.device = 0;
  return str("attention by cuDNN ", cudnn()->get_version(), "\nsm_", device.capability, " ", device.multiprocessors,
             "\n", std::string_view(reinterpret_cast<const char*>(&key), sizeof(key)));
}

// The plan that an earlier process kept, or a new one; none if cuDNN rejects the graph.
CudnnPlan choose_plan(const AttentionKey& key, cudnnHandle_t handle) {
  RelaxedCapture relaxed;
  std::string file = file_key(key);
  CudnnPlan plan;
  const char* event = "a kept plan for ";
  try {
    CachedImage kept;
    if (find_image(file, kept)) plan = plan_from_text(kept.code, handle);
  } catch (const Error&) {  // written by something else
  }
  try {
    if (!plan) {
      event = "a new plan for ";
      plan = compile_plan(key, handle);
      std::string text = plan ? plan.text() : "";
      if (!text.empty()) keep_image(file, {"", std::move(text)});
    }
  } catch (const Error&) {  // cuDNN rejects the graph
  }
  log_cudnn(str(plan ? event : "no plan for ", key.backward ? "the gradients of attention" : "attention").c_str());
  return plan;
}

std::shared_ptr<const CudnnPlan> plan_for(const AttentionKey& key, const CudnnSession& session) {
  static auto& plans = *new CudnnPlanCache<AttentionKey>;
  return plans.get(key, [&] { return choose_plan(key, session.handle()); });
}

// Memory of a graph, as a plan takes it.
class Bindings {
 public:
  void add(AttentionId id, const void* p) {
    ids_[count_] = id;
    pointers_[count_++] = p;
  }
  // Returns false if cuDNN fails; the plan is not used again then.
  bool run(const CudnnPlan& plan, const CudnnSession& session, void* memory) const {
    try {
      plan.run(session, std::span(ids_, count_), std::span(pointers_, count_), memory);
      return true;
    } catch (const Error&) {
      plan.reject();
      return false;
    }
  }

 private:
  int64_t ids_[kKeyLengths] = {};
  const void* pointers_[kKeyLengths] = {};
  size_t count_ = 0;
};

// Numbers that are passed by address, which stays the same so that a pack can be used again. A session locks the scale.
const void* address_of_scale(int device, double scale) {
  static float scales[kMaxDevices];
  scales[device] = static_cast<float>(scale);
  return &scales[device];
}
const float minus_infinity = -std::numeric_limits<float>::infinity(), one = 1;

// The parts of a block of memory, in the order of the calls.
class Parts {
 public:
  size_t add(int64_t bytes) {
    size_t at = size_;
    size_ += (static_cast<size_t>(bytes) + 255) / 256 * 256;
    return at;
  }
  size_t size() const { return size_; }

 private:
  size_t size_ = 0;
};

}  // namespace

bool library_forward(const Tensor& out, const Tensor& lse, const AttentionInputs& in) {
  if (!is_supported(in) || !has_aligned_rows(out)) return false;
  Tensor q = with_aligned_rows(in.query), k = with_aligned_rows(in.key), v = with_aligned_rows(in.value);
  AttentionKey key = key_of(in, q, k, v, out);
  Launcher on(out);
  CudnnSession session(on.device(), on.stream());
  std::shared_ptr<const CudnnPlan> plan = plan_for(key, session);
  if (!*plan) return false;
  Workspace memory(on.device(), static_cast<size_t>(plan->workspace()));
  Bindings b;
  b.add(kQuery, q.data());
  b.add(kKey, k.data());
  b.add(kValue, v.data());
  b.add(kOut, out.data());
  b.add(kLse, lse.data());
  b.add(kScale, address_of_scale(on.device(), in.shape.scale));
  if (key.causal) b.add(kInfinity, &minus_infinity);
  return b.run(*plan, session, memory.data());
}

bool library_backward(const AttentionGrads& to, const Tensor& grad, const AttentionInputs& in, const Tensor& out,
                      const Tensor& lse) {
  if (!is_supported(in)) return false;
  bool deterministic = cudnn_settings().wants_same_bits();
  if (deterministic && device_state(out.device().index).capability >= 100) return false;
  for (const Tensor* t : {&to.query, &to.key, &to.value})
    if (!has_aligned_rows(*t)) return false;
  Tensor q = with_aligned_rows(in.query), k = with_aligned_rows(in.key), v = with_aligned_rows(in.value),
         o = with_aligned_rows(out), dy = with_aligned_rows(grad);
  const AttentionShape& s = in.shape;
  AttentionKey key = key_of(in, q, k, v, o);
  key.backward = 1;
  key.deterministic = deterministic;
  key.padded = s.keys % kPadTo != 0 && cudnn()->get_version() <= kLastVersionToPad;
  key.grad = strides_of(dy);
  key.grad_query = strides_of(to.query);
  key.grad_key = strides_of(to.key);
  key.grad_value = strides_of(to.value);
  Launcher on(out);
  CudnnSession session(on.device(), on.stream());
  std::shared_ptr<const CudnnPlan> plan = plan_for(key, session);
  if (!*plan) return false;

  Parts parts;
  parts.add(plan->workspace());
  int64_t rows = s.batch * s.heads * s.queries;
  size_t delta = parts.add(rows * 4), sums = parts.add(key.deterministic ? 0 : rows * s.width * 4),
         query_lengths = parts.add(key.padded ? s.batch * 4 : 0), key_lengths = parts.add(key.padded ? s.batch * 4 : 0);
  Workspace memory(on.device(), parts.size());
  Bindings b;
  b.add(kQuery, q.data());
  b.add(kKey, k.data());
  b.add(kValue, v.data());
  b.add(kOut, o.data());
  b.add(kLse, lse.data());
  b.add(kScale, address_of_scale(on.device(), in.shape.scale));
  b.add(kGrad, dy.data());
  b.add(kGradQuery, to.query.data());
  b.add(kGradKey, to.key.data());
  b.add(kGradValue, to.value.data());
  b.add(kDelta, memory.data() + delta);
  b.add(kOne, &one);
  if (key.causal || key.padded) b.add(kInfinity, &minus_infinity);
  if (!key.deterministic) b.add(kQuerySums, memory.data() + sums);
  if (key.padded) {
    auto fill = [&](AttentionId id, size_t at, int64_t length) {
      auto address = reinterpret_cast<CUdeviceptr>(memory.data() + at);
      check(
          driver().memset_d32_async(address, static_cast<unsigned>(length), static_cast<size_t>(s.batch), on.stream()),
          "cuMemsetD32Async");
      b.add(id, memory.data() + at);
    };
    fill(kQueryLengths, query_lengths, s.queries);
    fill(kKeyLengths, key_lengths, s.keys);
  }
  return b.run(*plan, session, memory.data());
}

}  // namespace undertow::core::cuda
