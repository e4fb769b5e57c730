// attention.cpp: scaled dot-product attention as a composition, and the derivatives of the tiled operator.
// build: small
#include "core/autograd/formulas/attention.h"

#include <cmath>
#include <limits>

#include "core/autograd/formulas/formulas.h"
#include "core/autograd/tangents.h"
#include "core/forward/copy/copy.h"
#include "core/tensor/layout.h"

// Note [Derivatives Of Attention]
// With s the scale, P = softmax(s Q K^T + M), G the gradient of P V, X = G V^T and J(Y) = P * (Y - rowsum(P * Y)),
// which is its own adjoint, the gradients are D = J(X), dQ = s D K, dK = s D^T Q, dV = P^T G. For cotangents (a, b, c)
// of these, with W = s (a K^T + Q b^T), the sum of all products is <W, D> + <G c^T, P>, and its gradient
//   in X: T = J(W),   in P: U = W * (X - rowsum(P * X)) - X rowsum(P * W) + G c^T,   in the scores: Z = J(U); so
//   in G: T V + P c,   in V: T^T G,   in Q: s (Z K + D b),   in K: s (Z^T Q + D^T a).

namespace undertow::core::ops {

namespace {

Tensor transposed(const Tensor& m) { return transpose(m, -2, -1); }
Tensor rowsum(const Tensor& m) {
  const int64_t last[1] = {-1};
  return sum(m, IntSpan(last, 1), true, std::nullopt);
}
Tensor wide(const Tensor& m) { return m.defined() && is_reduced_float(m.dtype()) ? to_dtype(m, DType::Float32) : m; }
double scale_of(const Tensor& query, std::optional<double> scale) {
  return scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1))));
}
Tensor plus(const Tensor& a, const Tensor& b) { return !a.defined() ? b : !b.defined() ? a : a + b; }

// A boolean mask as numbers to add to the scores: zero, or minus infinity where `allowed` is false.
Tensor as_numbers(const Tensor& allowed, DType dtype) {
  return where(allowed, fwd::zeros_on_device_of(allowed, {}, dtype),
               fwd::full_on_device_of(allowed, {}, Scalar(-std::numeric_limits<double>::infinity()), dtype));
}
Tensor causal_mask(const Tensor& query, const Tensor& key, DType dtype) {
  const int64_t sizes[2] = {query.size(-2), key.size(-2)};
  return as_numbers(tril(fwd::full_on_device_of(query, IntSpan(sizes, 2), Scalar(true), DType::Bool), 0), dtype);
}
// The sum of everything that is added to the scores; undefined if nothing is.
Tensor added(const Tensor& query, const Tensor& key, const Tensor& mask, bool causal) {
  Tensor m = !mask.defined() ? Tensor() : mask.dtype() == DType::Bool ? as_numbers(mask, query.dtype()) : mask;
  return causal ? plus(m, causal_mask(query, key, query.dtype())) : m;
}

// Repeats the heads of keys or values for every head of queries; sum_heads is the transpose.
Tensor repeat_heads(const Tensor& m, int64_t group) {
  return group == 1 || !m.defined() ? m : repeat_interleave(m, group, std::optional<int64_t>(-3), std::nullopt);
}
Tensor sum_heads(const Tensor& m, int64_t group) {
  if (group == 1 || !m.defined()) return m;
  const int64_t parts[5] = {m.size(0), m.size(1) / group, group, m.size(2), m.size(3)}, third[1] = {2};
  return sum(reshape(m, IntSpan(parts, 5)), IntSpan(third, 1), false, std::nullopt);
}

// The tensors of one attention, in at least float32, and its probabilities.
struct Attention {
  Tensor q, k, v, p;
  int64_t group;
  double s;
  Attention(const Tensor& query, const Tensor& key, const Tensor& value, bool causal, const Tensor& mask,
            std::optional<double> scale)
      : q(wide(query)), group(query.size(1) / key.size(1)), s(scale_of(query, scale)) {
    k = to_query_heads(key);
    v = to_query_heads(value);
    Tensor scores = matmul(q, transposed(k)) * Scalar(s), more = added(q, k, wide(mask), causal);
    p = _safe_softmax(more.defined() ? scores + more : scores, -1, std::nullopt);
  }
  Tensor to_query_heads(const Tensor& m) const { return repeat_heads(wide(m), group); }
  Tensor to_key_heads(const Tensor& m) const { return sum_heads(m, group); }
  // J of the Note.
  Tensor softmax_jacobian(const Tensor& m) const { return p * (m - rowsum(p * m)); }
  Tensor scaled(const Tensor& m) const { return m.defined() ? m * Scalar(s) : m; }
  // The tangent of the probabilities.
  Tensor probs_tangent(const Tensor& q_t, const Tensor& k_t) const {
    Tensor scores;
    if (q_t.defined()) scores = matmul(q_t, transposed(k));
    if (k_t.defined()) scores = plus(scores, matmul(q, transposed(k_t)));
    return scores.defined() ? softmax_jacobian(scores * Scalar(s)) : scores;
  }
};

void check_inputs(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask) {
  UT_CHECK(query.dtype() == key.dtype() && key.dtype() == value.dtype(),
           "Expected query, key, and value to have the same dtype, but got query.dtype: ", name(query.dtype()),
           " key.dtype: ", name(key.dtype()), " and value.dtype: ", name(value.dtype()), " instead.");
  UT_CHECK(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2,
           "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: ", query.dim(),
           " key.dim: ", key.dim(), " and value.dim: ", value.dim(), " instead.");
  if (!mask.defined()) return;
  UT_CHECK(mask.dtype() == DType::Bool || mask.dtype() == DType::Float32 || mask.dtype() == query.dtype(),
           "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: ",
           name(mask.dtype()), " and  query.dtype: ", name(query.dtype()), " instead.");
}

// The tiled operator accepts the same inputs as torch's, so that graphs have the same nodes.
bool can_tile(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, double dropout_p,
              bool enable_gqa) {
  if (q.dim() != 4 || k.dim() != 4 || v.dim() != 4 || dropout_p != 0 || !is_floating(q.dtype())) return false;
  if (!q.numel() || !k.numel() || !v.numel()) return false;
  if (q.size(0) != k.size(0) || q.size(0) != v.size(0) || k.size(1) != v.size(1) || k.size(2) != v.size(2))
    return false;
  if (q.size(3) != k.size(3) || q.size(3) != v.size(3)) return false;
  if (enable_gqa ? q.size(1) % k.size(1) != 0 : q.size(1) != k.size(1)) return false;
  auto has_rows = [](const Tensor& t) { return t.size(-1) == 1 || t.stride(-1) == 1; };
  if (!has_rows(q) || !has_rows(k) || !has_rows(v)) return false;
  if (!mask.defined()) return true;
  const int64_t whole[4] = {q.size(0), q.size(1), q.size(2), k.size(2)};
  return has_rows(mask) && !mask.requires_grad() && !tangent_of(mask).defined() &&
         (mask.dim() == 2 || mask.dim() == 4) && is_expandable_to(mask.sizes(), IntSpan(whole, 4));
}

}  // namespace

Tensor attention_math(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask, double dropout_p,
                      bool causal, std::optional<double> scale, bool enable_gqa) {
  check_inputs(query, key, value, mask);
  // Half types are computed in float and rounded once, as in torch.
  if (is_reduced_float(query.dtype()))
    return to_dtype(
        attention_math(wide(query), wide(key), wide(value), wide(mask), dropout_p, causal, scale, enable_gqa),
        query.dtype());
  Tensor k = key, v = value;
  if (enable_gqa) {
    UT_CHECK(query.dim() > 2 && key.dim() > 2 && value.dim() > 2 && key.size(-3) > 0 && value.size(-3) > 0 &&
                 query.size(-3) % key.size(-3) == 0 && query.size(-3) % value.size(-3) == 0,
             "Number of heads in key and value must divide the number of heads in query, got query ",
             ShapeText{query.sizes()}, ", key ", ShapeText{key.sizes()}, " and value ", ShapeText{value.sizes()});
    k = repeat_heads(key, query.size(-3) / key.size(-3));
    v = repeat_heads(value, query.size(-3) / value.size(-3));
  }
  // The square root of the scale on each side, as in torch, to avoid overflow.
  double s = scale_of(query, scale), half = std::sqrt(std::abs(s));
  Tensor scores = matmul(query * Scalar(s < 0 ? -half : half), transposed(k) * Scalar(half)),
         more = added(query, k, mask, causal);
  if (more.defined()) scores = scores + (more.dtype() == scores.dtype() ? more : to_dtype(more, scores.dtype()));
  Tensor p = _safe_softmax(scores, -1, std::nullopt);
  if (dropout_p > 0) {
    Tensor noise = dropout_p == 1 ? zeros_like(p) : bernoulli(p, 1 - dropout_p, nullptr);
    p = p * (dropout_p == 1 ? noise : noise / Scalar(1 - dropout_p));
  }
  return matmul(p, v);
}

Tensor attention_composite(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                           double dropout_p, bool causal, std::optional<double> scale, bool enable_gqa) {
  check_inputs(query, key, value, mask);
  if (!can_tile(query, key, value, mask, dropout_p, enable_gqa))
    return attention_math(query, key, value, mask, dropout_p, causal, scale, enable_gqa);
  return std::get<0>(_scaled_dot_product_flash_attention_for_cpu(query, key, value, 0.0, causal, mask, scale));
}

std::tuple<Tensor, Tensor, Tensor> attention_grads(const Tensor& dy, const Tensor& query, const Tensor& key,
                                                   const Tensor& value, const Tensor& output, const Tensor& lse,
                                                   bool causal, const Tensor& mask, std::optional<double> scale) {
  return _flash_attention_backward(dy, query, key, value, output, lse, causal, mask, scale);
}

Tensor attention_jvp(const Tensor& query_t, const Tensor& key_t, const Tensor& value_t, const Tensor& query,
                     const Tensor& key, const Tensor& value, bool causal, const Tensor& mask,
                     std::optional<double> scale) {
  Attention a(query, key, value, causal, mask, scale);
  Tensor p_t = a.probs_tangent(wide(query_t), a.to_query_heads(key_t)), out;
  if (p_t.defined()) out = matmul(p_t, a.v);
  return value_t.defined() ? plus(out, matmul(a.p, a.to_query_heads(value_t))) : out;
}

// See Note [Derivatives Of Attention].
std::tuple<Tensor, Tensor, Tensor, Tensor> attention_double(std::span<Tensor> grads, const Tensor& dy,
                                                            const Tensor& query, const Tensor& key, const Tensor& value,
                                                            bool causal, const Tensor& mask,
                                                            std::optional<double> scale) {
  Attention at(query, key, value, causal, mask, scale);
  Tensor a = wide(grads[0]), b = at.to_query_heads(grads[1]), c = at.to_query_heads(grads[2]), g = wide(dy);
  Tensor w, to_g, to_q, to_k, to_v, u;
  if (a.defined()) w = matmul(a, transposed(at.k));
  if (b.defined()) w = plus(w, matmul(at.q, transposed(b)));
  if (w.defined()) {
    w = w * Scalar(at.s);
    Tensor x = matmul(g, transposed(at.v)), around = x - rowsum(at.p * x), d = at.p * around,
           t = at.softmax_jacobian(w);
    u = w * around - x * rowsum(at.p * w);
    to_g = matmul(t, at.v);
    to_v = matmul(transposed(t), g);
    if (b.defined()) to_q = matmul(d, b);
    if (a.defined()) to_k = matmul(transposed(d), a);
  }
  if (c.defined()) {
    u = plus(matmul(g, transposed(c)), u);
    to_g = plus(matmul(at.p, c), to_g);
  }
  Tensor z = at.softmax_jacobian(u);
  to_q = at.scaled(plus(matmul(z, at.k), to_q));
  to_k = at.scaled(plus(matmul(transposed(z), at.q), to_k));
  return {to_g, to_q, at.to_key_heads(to_k), at.to_key_heads(to_v)};
}

std::tuple<Tensor, Tensor, Tensor> attention_backward_jvp(const Tensor& dy_t, const Tensor& query_t,
                                                          const Tensor& key_t, const Tensor& value_t, const Tensor& dy,
                                                          const Tensor& query, const Tensor& key, const Tensor& value,
                                                          bool causal, const Tensor& mask,
                                                          std::optional<double> scale) {
  Attention a(query, key, value, causal, mask, scale);
  Tensor g = wide(dy), g_t = wide(dy_t), q_t = wide(query_t), k_t = a.to_query_heads(key_t),
         v_t = a.to_query_heads(value_t);
  Tensor x = matmul(g, transposed(a.v)), around = x - rowsum(a.p * x), d = a.p * around,
         p_t = a.probs_tangent(q_t, k_t), x_t, d_t, to_v;
  if (g_t.defined()) x_t = matmul(g_t, transposed(a.v));
  if (v_t.defined()) x_t = plus(x_t, matmul(g, transposed(v_t)));
  if (x_t.defined()) d_t = a.softmax_jacobian(x_t);
  if (p_t.defined()) d_t = plus(d_t, p_t * around - a.p * rowsum(p_t * x));
  Tensor to_q, to_k;
  if (d_t.defined()) {
    to_q = matmul(d_t, a.k);
    to_k = matmul(transposed(d_t), a.q);
  }
  if (k_t.defined()) to_q = plus(to_q, matmul(d, k_t));
  if (q_t.defined()) to_k = plus(to_k, matmul(transposed(d), q_t));
  if (p_t.defined()) to_v = matmul(transposed(p_t), g);
  if (g_t.defined()) to_v = plus(to_v, matmul(transposed(a.p), g_t));
  return {a.scaled(to_q), a.to_key_heads(a.scaled(to_k)), a.to_key_heads(to_v)};
}

}  // namespace undertow::core::ops
