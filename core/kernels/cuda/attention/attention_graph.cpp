// attention_graph.cpp: see attention_graph.h. cuDNN recognizes these graphs by their structure: the order of the
// operations, which values have memory, and the dtypes between the operations matter.
#include "core/kernels/cuda/attention/attention_graph.h"

namespace undertow::core::cuda {

namespace {

using Graph = CudnnGraphBuilder;
using Value = Graph::Value;
using Layout = Graph::Layout;
using P = DnnPointwise;

struct Attention {
  const AttentionKey& k;
  Graph graph;
  DnnType type = dnn_type(static_cast<DType>(k.dtype));
  Layout scores = Layout::row_major(k.batch, k.heads, k.queries, k.keys),
         rows = Layout::row_major(k.batch, k.heads, k.queries, 1);
  Value infinity = nullptr, query_lengths = nullptr, key_lengths = nullptr;

  explicit Attention(const AttentionKey& key) : k(key) {
    if (k.causal || k.padded) infinity = graph.number(kInfinity);
    if (!k.padded) return;
    const Layout lengths{{k.batch, 1, 1, 1}, {1, 1, 1, 1}};
    query_lengths = graph.tensor(kQueryLengths, DnnType::Int32, lengths);
    key_lengths = graph.tensor(kKeyLengths, DnnType::Int32, lengths);
  }

  Layout heads(const AttentionKey::Strides& s, int64_t count, int64_t length, int64_t width) const {
    return {{k.batch, count, length, width}, {s.batch, s.head, s.row, 1}};
  }
  Layout of_queries(const AttentionKey::Strides& s, int64_t width) const { return heads(s, k.heads, k.queries, width); }
  Layout of_keys(const AttentionKey::Strides& s, int64_t width) const {
    return heads(s, k.heads / k.group, k.keys, width);
  }
  Value tensor(AttentionId id, const Layout& layout) { return graph.tensor(id, type, layout); }
  Value floats(const Layout& layout) { return graph.between(DnnType::Float32, layout); }
  Value pointwise(P mode, const Layout& layout, Value x, Value b = nullptr) {
    Value out = floats(layout);
    graph.pointwise(out, mode, x, b);
    return out;
  }
  Value index(Value x, int64_t axis, DnnType compute) {
    Value out = graph.between(DnnType::Int32, scores);
    graph.index(out, x, axis, compute);
    return out;
  }
  Value test(P mode, Value a, Value b) {
    Value out = graph.between(DnnType::Bool, scores);
    graph.pointwise(out, mode, a, b, nullptr, DnnType::Bool);
    return out;
  }
  Value keep_where(Value condition, Value x) {
    Value out = floats(scores);
    graph.pointwise(out, P::Select, x, infinity, condition);
    return out;
  }

  // -inf for queries and keys beyond their number.
  Value pad(Value x) {
    if (!k.padded) return x;
    Value row = index(x, 2, DnnType::Int32), column = index(x, 3, DnnType::Int32);
    Value row_counts = test(P::Less, row, query_lengths), column_counts = test(P::Less, column, key_lengths);
    return keep_where(test(P::And, row_counts, column_counts), x);
  }
  // -inf for keys after the query.
  Value hide_later_keys(Value x) {
    if (!k.causal) return x;
    Value row = index(x, 2, DnnType::Float32), column = index(x, 3, DnnType::Float32);
    return keep_where(test(P::GreaterEqual, row, column), x);
  }

  // The sum over the heads of a group.
  void multiply_group(Value out, const Layout& all_heads, Value a, Value b) {
    const Graph::Lengths lengths{key_lengths, nullptr, query_lengths};
    if (k.group == 1) return graph.multiply(out, a, b, lengths);
    Value each = graph.between(type, all_heads);
    graph.multiply(each, a, b, lengths);
    graph.reduce(out, DnnReduction::Add, each);
  }
};

}  // namespace

CudnnDescriptor forward_graph(const AttentionKey& k, cudnnHandle_t handle) {
  Attention a(k);
  Graph& graph = a.graph;
  Value query = a.tensor(kQuery, a.of_queries(k.query, k.width)),
        key = a.tensor(kKey, a.of_keys(k.key, k.width).transposed()),
        value = a.tensor(kValue, a.of_keys(k.value, k.values)), out = a.tensor(kOut, a.of_queries(k.out, k.values)),
        lse = graph.tensor(kLse, DnnType::Float32, a.rows), scale = graph.number(kScale);

  Value products = a.floats(a.scores);
  graph.multiply(products, query, key, {});
  Value scores = a.hide_later_keys(a.pointwise(P::Mul, a.scores, products, scale));

  Value largest = a.floats(a.rows);
  graph.reduce(largest, DnnReduction::Max, scores);
  Value powers = a.pointwise(P::Exp, a.scores, a.pointwise(P::Sub, a.scores, scores, largest));
  Value sums = a.floats(a.rows);
  graph.reduce(sums, DnnReduction::Add, powers);
  Value logs = a.pointwise(P::Log, a.rows, sums);
  graph.pointwise(lse, P::Add, largest, logs);
  Value weights = graph.between(a.type, a.scores);
  graph.pointwise(weights, P::Div, powers, sums);

  graph.multiply(out, weights, value, {});
  return graph.finish(handle);
}

CudnnDescriptor backward_graph(const AttentionKey& k, cudnnHandle_t handle) {
  Attention a(k);
  Graph& graph = a.graph;
  const Layout scores_transposed = a.scores.transposed();
  Value query = a.tensor(kQuery, a.of_queries(k.query, k.width)),
        key = a.tensor(kKey, a.of_keys(k.key, k.width).transposed()),
        value = a.tensor(kValue, a.of_keys(k.value, k.values).transposed()),
        out = a.tensor(kOut, a.of_queries(k.out, k.values)), grad = a.tensor(kGrad, a.of_queries(k.grad, k.values)),
        grad_query = a.tensor(kGradQuery, a.of_queries(k.grad_query, k.width)),
        grad_key = a.tensor(kGradKey, a.of_keys(k.grad_key, k.width)),
        grad_value = a.tensor(kGradValue, a.of_keys(k.grad_value, k.values)),
        lse = graph.tensor(kLse, DnnType::Float32, a.rows), delta = graph.tensor(kDelta, DnnType::Float32, a.rows),
        scale = graph.number(kScale), one = graph.number(kOne);
  const Graph::Lengths of_scores{a.query_lengths, a.key_lengths, nullptr};

  // delta = the sum of grad * out over each row
  Value terms = a.pointwise(P::Mul, Layout::row_major(k.batch, k.heads, k.queries, k.values), grad, out);
  Value sums = a.floats(a.rows);
  graph.reduce(sums, DnnReduction::Add, terms);
  graph.pointwise(delta, P::Mul, sums, one);

  // weights = exp(scores - lse), grad_value = weights^T grad
  Value products = a.floats(a.scores);
  graph.multiply(products, query, key, of_scores);
  Value scores = a.pointwise(P::Mul, a.scores, products, scale);
  Value shifted = a.hide_later_keys(a.pad(a.pointwise(P::Sub, a.scores, scores, lse)));
  Value weights = a.pointwise(P::Exp, a.scores, shifted);
  Value weights_transposed = graph.between(a.type, scores_transposed);
  graph.reshape(weights_transposed, weights);
  a.multiply_group(grad_value, Layout::row_major(k.batch, k.heads, k.keys, k.values), weights_transposed, grad);

  // grad_scores = weights (grad value^T - delta) scale, grad_key = grad_scores^T query
  Value grad_weights = a.floats(a.scores);
  graph.multiply(grad_weights, grad, value, of_scores);
  Value centered = a.pointwise(P::Sub, a.scores, grad_weights, delta);
  Value grad_scores = a.pointwise(P::Mul, a.scores, a.pointwise(P::Mul, a.scores, centered, weights), scale);
  Value grad_scores_transposed = graph.between(a.type, scores_transposed);
  graph.reshape(grad_scores_transposed, grad_scores);
  a.multiply_group(grad_key, Layout::row_major(k.batch, k.heads, k.keys, k.width), grad_scores_transposed, query);

  // grad_query = grad_scores key
  Value keys = a.floats(a.of_keys(k.key, k.width));
  graph.reshape(keys, key);
  const Graph::Lengths of_queries{a.query_lengths, nullptr, a.key_lengths};
  if (k.deterministic) {
    graph.multiply(grad_query, grad_scores, keys, of_queries);
  } else {
    Value query_sums =
        graph.tensor(kQuerySums, DnnType::Float32, Layout::row_major(k.batch, k.heads, k.queries, k.width));
    graph.multiply(query_sums, grad_scores, keys, of_queries);
    graph.pointwise(grad_query, P::Identity, query_sums);
  }
  return graph.finish(handle);
}

}  // namespace undertow::core::cuda
