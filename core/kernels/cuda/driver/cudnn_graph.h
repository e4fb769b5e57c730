// cudnn_graph.h: computations that are described to cuDNN as graphs of operations, and the plans that cuDNN makes for
// them. A plan is chosen once for each key (shapes, strides, dtypes) and kept.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/kernels/cuda/driver/cudnn.h"
#include "core/kernels/cuda/runtime/plan_cache.h"
#include "core/tensor/dtype/dtype.h"

namespace undertow::core::cuda {

DnnType dnn_type(DType t);

// A tensor of a graph. `id` names its memory when a plan runs.
struct DnnTensor {
  int64_t id;
  DnnType type;
  std::span<const int64_t> sizes, strides;
  int64_t alignment = 16;   // of its memory, in bytes
  bool is_virtual = false;  // has no memory: only operations of the graph read it
  bool is_number = false;   // its memory is one number on the host
};
CudnnDescriptor describe(const DnnTensor& tensor);

// A graph of operations on tensors of four dimensions. Values are numbered as they are added.
class CudnnGraphBuilder {
 public:
  struct Layout {
    int64_t sizes[4], strides[4];
    static Layout row_major(int64_t a, int64_t b, int64_t c, int64_t d) {
      return {{a, b, c, d}, {b * c * d, c * d, d, 1}};
    }
    // With the last two dimensions exchanged.
    Layout transposed() const {
      return {{sizes[0], sizes[1], sizes[3], sizes[2]}, {strides[0], strides[1], strides[3], strides[2]}};
    }
  };
  using Value = const CudnnDescriptor*;

  Value tensor(int64_t id, DnnType type, const Layout& layout);
  Value number(int64_t id);  // a float on the host
  // A value between operations.
  Value between(DnnType type, const Layout& layout);

  // Lengths of each matrix of the batch that count, read from the device; null for all.
  struct Lengths {
    Value rows = nullptr, columns = nullptr, inner = nullptr;
  };
  void multiply(Value out, Value a, Value b, const Lengths& lengths);
  // out = x, b by `mode`; a Select takes x where `condition` is true, else b.
  void pointwise(Value out, DnnPointwise mode, Value x, Value b = nullptr, Value condition = nullptr,
                 DnnType compute = DnnType::Float32);
  void index(Value out, Value x, int64_t axis, DnnType compute = DnnType::Float32);  // along the axis of x
  void reduce(Value out, DnnReduction mode, Value x);  // over the dimensions that are 1 in out
  void reshape(Value out, Value x);

  CudnnDescriptor finish(cudnnHandle_t handle) const;

 private:
  Value add(const DnnTensor& tensor);
  CudnnDescriptor pointwise_description(DnnPointwise mode, DnnType compute, int64_t axis);
  void add_pointwise(const CudnnDescriptor& description, Value out, Value x, Value b, Value condition);
  // A deque does not move its elements when it grows.
  std::deque<CudnnDescriptor> values_, operations_;
  int64_t next_virtual_ = 1000;  // above the ids of tensors with memory
};

CudnnDescriptor graph_of(const std::deque<CudnnDescriptor>& operations, cudnnHandle_t handle);

class CudnnPlan {
 public:
  CudnnPlan() = default;  // of a graph that cuDNN cannot compute
  CudnnPlan(CudnnDescriptor plan, int64_t workspace) : plan_(std::move(plan)), workspace_(workspace) {}
  explicit operator bool() const { return plan_.get() != nullptr && !rejected_; }
  int64_t workspace() const { return workspace_; }  // bytes
  // `pointers` are the memory of the tensors `ids`.
  void run(const CudnnSession& session, std::span<const int64_t> ids, std::span<const void* const> pointers,
           void* memory) const;
  // The plan with its compiled kernels, for plan_from_text; empty if cuDNN cannot write it.
  std::string text() const;
  // From now on there is no plan: it failed. A session locks it.
  void reject() const { rejected_ = true; }

 private:
  CudnnDescriptor plan_;
  int64_t workspace_ = 0;
  // The pack of the last run, which is used again for the same pointers. A session locks it.
  mutable CudnnDescriptor pack_;
  mutable std::vector<const void*> packed_;
  mutable bool rejected_ = false;
};

// The ways to compute the graph that cuDNN proposes, best first.
std::vector<CudnnDescriptor> configurations(const CudnnDescriptor& graph, int heuristic_mode);
// Does the configuration's engine have one of these properties? A bit for each: 1 << kDnnDownConverts.
bool has_note(const CudnnDescriptor& configuration, unsigned properties);
// A plan of the configuration, or none if cuDNN does not support it after all or needs more memory than the limit.
CudnnPlan plan_of(const CudnnDescriptor& configuration, cudnnHandle_t handle, int64_t workspace_limit);

// The plan that CudnnPlan::text() of the same version of cuDNN wrote for a device of the same kind, or none.
CudnnPlan plan_from_text(const std::string& text, cudnnHandle_t handle);

// The alignment of a pointer, at most 64.
int64_t alignment(const void* p);

// Plans by key, also for keys without a plan.
template <class Key>
using CudnnPlanCache = PlanCache<Key, const CudnnPlan>;

}  // namespace undertow::core::cuda
