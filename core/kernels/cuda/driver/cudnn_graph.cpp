// cudnn_graph.cpp: see cudnn_graph.h.
#include "core/kernels/cuda/driver/cudnn_graph.h"

#include <algorithm>
#include <limits>

#include "core/kernels/cuda/driver/nvrtc.h"

namespace undertow::core::cuda {

using A = DnnAttribute;

DnnType dnn_type(DType t) {
  return t == DType::Float64    ? DnnType::Float64
         : t == DType::Float16  ? DnnType::Float16
         : t == DType::BFloat16 ? DnnType::BFloat16
                                : DnnType::Float32;
}

CudnnDescriptor describe(const DnnTensor& tensor) {
  CudnnDescriptor t(DnnKind::Tensor);
  t.set(A::TensorDataType, DnnValue::DataType, 1, &tensor.type);
  t.set(A::TensorSizes, tensor.sizes);
  t.set(A::TensorStrides, tensor.strides);
  t.set(A::TensorId, DnnValue::Int64, 1, &tensor.id);
  t.set(A::TensorAlignment, DnnValue::Int64, 1, &tensor.alignment);
  if (tensor.is_virtual) t.set(A::TensorIsVirtual, DnnValue::Boolean, 1, &tensor.is_virtual);
  if (tensor.is_number) t.set(A::TensorIsNumber, DnnValue::Boolean, 1, &tensor.is_number);
  t.finalize();
  return t;
}

CudnnDescriptor graph_of(const std::deque<CudnnDescriptor>& operations, cudnnHandle_t handle) {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const CudnnDescriptor& o : operations) raw.push_back(o.get());
  CudnnDescriptor graph(DnnKind::OperationGraph);
  if (handle) graph.set(A::GraphHandle, DnnValue::Handle, 1, &handle);
  graph.set(A::GraphOperations, DnnValue::Descriptor, static_cast<int64_t>(raw.size()), raw.data());
  graph.finalize();
  return graph;
}

// --- Graphs

CudnnGraphBuilder::Value CudnnGraphBuilder::add(const DnnTensor& tensor) {
  values_.push_back(describe(tensor));
  return &values_.back();
}
CudnnGraphBuilder::Value CudnnGraphBuilder::tensor(int64_t id, DnnType type, const Layout& l) {
  return add({id, type, l.sizes, l.strides});
}
CudnnGraphBuilder::Value CudnnGraphBuilder::number(int64_t id) {
  static const int64_t ones[] = {1, 1, 1, 1};
  return add({.id = id, .type = DnnType::Float32, .sizes = ones, .strides = ones, .is_number = true});
}
CudnnGraphBuilder::Value CudnnGraphBuilder::between(DnnType type, const Layout& l) {
  return add({.id = next_virtual_++, .type = type, .sizes = l.sizes, .strides = l.strides, .is_virtual = true});
}

void CudnnGraphBuilder::multiply(Value out, Value a, Value b, const Lengths& lengths) {
  const DnnType compute = DnnType::Float32;
  CudnnDescriptor description(DnnKind::Matmul);
  description.set(A::MatmulCompute, DnnValue::DataType, 1, &compute);
  description.finalize();
  CudnnDescriptor operation(DnnKind::MatmulOperation);
  operation.set(A::MatmulA, *a);
  operation.set(A::MatmulB, *b);
  operation.set(A::MatmulOutput, *out);
  if (lengths.rows) operation.set(A::MatmulRows, *lengths.rows);
  if (lengths.columns) operation.set(A::MatmulColumns, *lengths.columns);
  if (lengths.inner) operation.set(A::MatmulInner, *lengths.inner);
  operation.set(A::MatmulDescription, description);
  operation.finalize();
  operations_.push_back(std::move(operation));
}

CudnnDescriptor CudnnGraphBuilder::pointwise_description(DnnPointwise mode, DnnType compute, int64_t axis) {
  CudnnDescriptor description(DnnKind::Pointwise);
  description.set(A::PointwiseMode, DnnValue::PointwiseMode, 1, &mode);
  description.set(A::PointwiseCompute, DnnValue::DataType, 1, &compute);
  if (axis >= 0) description.set(A::PointwiseAxis, DnnValue::Int64, 1, &axis);
  description.finalize();
  return description;
}

void CudnnGraphBuilder::add_pointwise(const CudnnDescriptor& description, Value out, Value x, Value b,
                                      Value condition) {
  const float one = 1;
  CudnnDescriptor operation(DnnKind::PointwiseOperation);
  operation.set(A::PointwiseDescription, description);
  operation.set(A::PointwiseX, *x);
  operation.set(A::PointwiseOutput, *out);
  operation.set(A::PointwiseFactorX, DnnValue::Float, 1, &one);
  operation.set(A::PointwiseFactorB, DnnValue::Float, 1, &one);
  if (b) operation.set(A::PointwiseB, *b);
  if (condition) operation.set(A::PointwiseCondition, *condition);
  operation.finalize();
  operations_.push_back(std::move(operation));
}

void CudnnGraphBuilder::pointwise(Value out, DnnPointwise mode, Value x, Value b, Value condition, DnnType compute) {
  add_pointwise(pointwise_description(mode, compute, -1), out, x, b, condition);
}
void CudnnGraphBuilder::index(Value out, Value x, int64_t axis, DnnType compute) {
  add_pointwise(pointwise_description(DnnPointwise::Index, compute, axis), out, x, nullptr, nullptr);
}

void CudnnGraphBuilder::reduce(Value out, DnnReduction mode, Value x) {
  const DnnType compute = DnnType::Float32;
  CudnnDescriptor description(DnnKind::Reduction);
  description.set(A::ReductionCompute, DnnValue::DataType, 1, &compute);
  description.set(A::ReductionMode, DnnValue::ReductionMode, 1, &mode);
  description.finalize();
  CudnnDescriptor operation(DnnKind::ReductionOperation);
  operation.set(A::ReductionDescription, description);
  operation.set(A::ReductionX, *x);
  operation.set(A::ReductionOutput, *out);
  operation.finalize();
  operations_.push_back(std::move(operation));
}

void CudnnGraphBuilder::reshape(Value out, Value x) {
  CudnnDescriptor operation(DnnKind::ReshapeOperation);
  operation.set(A::ReshapeX, *x);
  operation.set(A::ReshapeOutput, *out);
  operation.finalize();
  operations_.push_back(std::move(operation));
}

CudnnDescriptor CudnnGraphBuilder::finish(cudnnHandle_t handle) const { return graph_of(operations_, handle); }

// --- Plans

void CudnnPlan::run(const CudnnSession& session, std::span<const int64_t> ids, std::span<const void* const> pointers,
                    void* memory) const {
  bool same = packed_.size() == pointers.size() + 1 && packed_.back() == memory &&
              std::equal(pointers.begin(), pointers.end(), packed_.begin());
  if (!same) {
    CudnnDescriptor pack(DnnKind::VariantPack);
    pack.set(A::PackIds, ids);
    pack.set(A::PackPointers, DnnValue::Pointer, static_cast<int64_t>(pointers.size()), pointers.data());
    pack.set(A::PackWorkspace, DnnValue::Pointer, 1, &memory);
    pack.finalize();
    pack_ = std::move(pack);
    packed_.assign(pointers.begin(), pointers.end());
    packed_.push_back(memory);
  }
  cudnnStatus_t status = cudnn()->execute(session.handle(), plan_.get(), pack_.get());
  if (status) log_cudnn("cannot execute", -1, -1, status);
  cudnn()->check(status, "cudnnBackendExecute");
}

std::vector<CudnnDescriptor> configurations(const CudnnDescriptor& graph, int heuristic_mode) {
  const Cudnn& dnn = *cudnn();
  CudnnDescriptor heuristics(DnnKind::EngineHeuristics);
  heuristics.set(A::HeuristicGraph, graph);
  heuristics.set(A::HeuristicMode, DnnValue::HeuristicMode, 1, &heuristic_mode);
  if (!heuristics.try_finalize()) return {};
  int64_t count = 0;
  if (dnn.get_attribute(heuristics.get(), A::HeuristicResults, DnnValue::Descriptor, 0, &count, nullptr)) return {};
  std::vector<CudnnDescriptor> found;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < count; i++) {
    found.emplace_back(DnnKind::EngineConfig);
    raw.push_back(found.back().get());
  }
  int64_t given = 0;
  dnn.check(dnn.get_attribute(heuristics.get(), A::HeuristicResults, DnnValue::Descriptor, count, &given, raw.data()),
            "cudnnBackendGetAttribute");
  found.erase(found.begin() + given, found.end());
  return found;
}

bool has_note(const CudnnDescriptor& configuration, unsigned properties) {
  const Cudnn& dnn = *cudnn();
  CudnnDescriptor engine(DnnKind::Engine);
  cudnnBackendDescriptor_t raw = engine.get();
  int64_t count = 0;
  int notes[kDnnNotes];
  if (dnn.get_attribute(configuration.get(), A::ConfigEngine, DnnValue::Descriptor, 1, &count, &raw) ||
      dnn.get_attribute(raw, A::EngineNumericalNote, DnnValue::NumericalNote, kDnnNotes, &count, notes))
    return true;  // not known
  return std::any_of(notes, notes + count, [&](int n) { return properties >> n & 1; });
}

namespace {

CudnnPlan finished(CudnnDescriptor plan, int64_t workspace_limit) {
  if (!plan.try_finalize()) return {};
  int64_t workspace = 0, count = 0;
  cudnnStatus_t status = cudnn()->get_attribute(plan.get(), A::PlanWorkspace, DnnValue::Int64, 1, &count, &workspace);
  if (status || workspace > workspace_limit) {
    log_cudnn("no plan: too much memory", -1, -1, status);
    return {};
  }
  return {std::move(plan), workspace};
}

}  // namespace

CudnnPlan plan_of(const CudnnDescriptor& configuration, cudnnHandle_t handle, int64_t workspace_limit) {
  compiler_version();  // opens NVRTC, which cuDNN then finds by name
  CudnnDescriptor plan(DnnKind::ExecutionPlan);
  plan.set(A::PlanHandle, DnnValue::Handle, 1, &handle);
  plan.set(A::PlanConfig, configuration);
  return finished(std::move(plan), workspace_limit);
}

std::string CudnnPlan::text() const {
  int64_t count = 0;
  const Cudnn& dnn = *cudnn();
  if (dnn.get_attribute(plan_.get(), A::PlanText, DnnValue::Char, 0, &count, nullptr)) return "";
  std::string text(static_cast<size_t>(count), '\0');
  if (dnn.get_attribute(plan_.get(), A::PlanText, DnnValue::Char, count, &count, text.data())) return "";
  return text;
}

CudnnPlan plan_from_text(const std::string& text, cudnnHandle_t handle) {
  CudnnDescriptor plan(DnnKind::ExecutionPlan);
  plan.set(A::PlanHandle, DnnValue::Handle, 1, &handle);
  plan.set(A::PlanText, DnnValue::Char, static_cast<int64_t>(text.size()), text.data());
  return finished(std::move(plan), std::numeric_limits<int64_t>::max());
}

int64_t alignment(const void* p) {
  auto address = reinterpret_cast<uintptr_t>(p);
  return address % 64 == 0 ? 64 : static_cast<int64_t>(address & -address);
}

}  // namespace undertow::core::cuda
