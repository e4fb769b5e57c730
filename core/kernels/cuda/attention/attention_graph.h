// attention_graph.h: attention and its gradients as graphs of operations, in the form that cuDNN recognizes and
// computes by one fused kernel.
#pragma once
#include "core/kernels/cuda/driver/cudnn_graph.h"

namespace undertow::core::cuda {

// What a graph depends on. Only int64_t: compared as bytes.
struct AttentionKey {
  int64_t device, dtype, backward, causal;
  int64_t deterministic;  // of the gradients: all scores' gradients in memory, and no atomic additions
  int64_t padded;         // the gradients also take the number of queries and keys that count, for each image
  int64_t batch, heads, queries, keys, width, values, group;
  struct Strides {
    int64_t batch, head, row;
  };
  Strides query, key, value, out, grad, grad_query, grad_key, grad_value;
};

// The memory of a graph, by these ids.
enum AttentionId : int64_t {
  kQuery = 1,
  kKey,
  kValue,
  kOut,
  kLse,
  kScale,     // a float on the host
  kInfinity,  // -inf on the host; only with `causal` or `padded`
  // The gradients only:
  kGrad,
  kGradQuery,
  kGradKey,
  kGradValue,
  kDelta,         // float (batch, heads, queries): sums of grad * out
  kOne,           // 1 on the host
  kQuerySums,     // float (batch, heads, queries, width); not with `deterministic`
  kQueryLengths,  // int32 (batch); only with `padded`
  kKeyLengths,
};

CudnnDescriptor forward_graph(const AttentionKey& key, cudnnHandle_t handle);
CudnnDescriptor backward_graph(const AttentionKey& key, cudnnHandle_t handle);

}  // namespace undertow::core::cuda
