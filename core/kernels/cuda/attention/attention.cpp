// attention.cpp: see attention.h: attention by products, with some rows of scores in memory at a time. For float32,
// float64, and half dtypes that neither cuDNN nor attention by tiles supports.
#include "core/kernels/cuda/attention/attention.h"

#include <algorithm>

#include "core/kernels/cuda/attention/attention_params.h"
#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/cuda/copy/copy.h"
#include "core/kernels/cuda/matmul/matmul.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate softmax_rows("attention/scores.cuh", "softmax_rows");
KernelTemplate differentiate_rows("attention/scores.cuh", "differentiate_rows");
KernelTemplate dot_head_rows("attention/scores.cuh", "dot_head_rows");

constexpr int64_t kScoreBytes = int64_t{256} << 20;  // memory for scores, unless one row needs more
constexpr unsigned kThreads = 128;

HeadMatrix head_matrix(const Tensor& t) {
  if (!t.defined()) return {};
  return {t.stride(0), t.stride(1), t.stride(2), t.stride(3)};
}

// Some rows of the scores of some matrices. A matrix is a key head of one image of the batch with one member of its
// group of query heads.
struct Part {
  int64_t first, count, member, first_row, rows;
};

// Row-major tensors of (batch, heads, length, width), and products of them for a part.
struct Products {
  const AttentionShape& s;

  // The rows of a part in a tensor of query heads.
  MatrixStrides queries(const Part& p, int64_t width) const {
    int64_t head = s.queries * width;
    return {s.group * head, width, 1, (p.first * s.group + p.member) * head + p.first_row * width};
  }
  // All rows in a tensor of key heads.
  MatrixStrides keys(const Part& p, int64_t width) const {
    return {s.keys * width, width, 1, p.first * s.keys * width};
  }
  MatrixStrides scores(const Part& p) const { return {p.rows * s.keys, s.keys, 1, 0}; }
  static MatrixStrides transposed(const MatrixStrides& m) { return {m.batch, m.column, m.row, m.offset}; }

  ScoreParams params(const Part& p, const Tensor& mask) const {
    return {p.first, s.heads / s.group, s.group,          p.member, s.heads, s.queries, p.first_row, p.rows,
            s.keys,  s.causal,          head_matrix(mask)};
  }
};

// Calls f(part, scores) for all parts; members of a group come one after the other.
template <class F>
void for_parts(const AttentionShape& s, const Tensor& like, F&& f) {
  int64_t matrices = s.batch * (s.heads / s.group), row_bytes = std::max<int64_t>(1, s.keys * like.itemsize());
  int64_t rows = std::clamp<int64_t>(kScoreBytes / row_bytes, 1, s.queries),
          count = std::clamp<int64_t>(kScoreBytes / (rows * row_bytes), 1, matrices);
  Tensor scores = empty_on_device_of(like, IntSpan({count, rows, s.keys}), like.dtype());
  for (int64_t first = 0; first < matrices; first += count)
    for (int64_t member = 0; member < s.group; member++)
      for (int64_t row = 0; row < s.queries; row += rows)
        f(Part{first, std::min(count, matrices - first), member, row, std::min(rows, s.queries - row)}, scores);
}

char* data_or_null(const Tensor& t) { return t.defined() ? t.data() : nullptr; }

DType wide_dtype(const Tensor& t) { return is_reduced_float(t.dtype()) ? DType::Float32 : t.dtype(); }

// Row-major memory in the wide dtype for a result, which is copied at the end if it is not the result itself.
Tensor wide_result(const Tensor& t) {
  if (t.is_contiguous() && t.dtype() == wide_dtype(t)) return t;
  return empty_on_device_of(t, t.sizes(), wide_dtype(t));
}
void finish(const Tensor& to, const Tensor& wide) {
  if (!to.is_same(wide)) copy(to, wide);
}

void forward_by_products(const Tensor& out, const Tensor& lse, const AttentionInputs& in) {
  const AttentionShape& s = in.shape;
  DType wide = wide_dtype(out);
  Tensor q = contiguous_as(in.query, wide), k = contiguous_as(in.key, wide), v = contiguous_as(in.value, wide),
         to = wide_result(out);
  Products at{s};
  Launcher on(out);
  for_parts(s, to, [&](const Part& p, const Tensor& scores) {
    multiply(scores, q, k,
             {p.count, p.rows, s.keys, s.width, at.queries(p, s.width), Products::transposed(at.keys(p, s.width)),
              at.scores(p)},
             Scalar(s.scale), Scalar(0));
    on.run(softmax_rows, {wide}, {.blocks = p.count * p.rows, .threads = kThreads}, scores.data(), lse.data(),
           data_or_null(in.mask), at.params(p, in.mask));
    multiply(to, scores, v,
             {p.count, p.rows, s.values, s.keys, at.scores(p), at.keys(p, s.values), at.queries(p, s.values)},
             Scalar(1), Scalar(0));
  });
  finish(out, to);
}

// dv = p^T dy, dp = dy v^T, ds = p (dp - delta), dq = scale ds k, dk = scale ds^T q.
void backward_by_products(const AttentionGrads& to, const Tensor& grad, const AttentionInputs& in, const Tensor& out,
                          const Tensor& lse) {
  const AttentionShape& s = in.shape;
  DType wide = wide_dtype(out);
  Tensor q = contiguous_as(in.query, wide), k = contiguous_as(in.key, wide), v = contiguous_as(in.value, wide),
         dy = contiguous_as(grad, wide);
  Tensor dq = wide_result(to.query), dk = wide_result(to.key), dv = wide_result(to.value),
         delta = empty_on_device_of(out, lse.sizes(), wide);
  dot_rows(delta, out, grad);
  Products at{s};
  Launcher on(out);
  Tensor grads;
  for_parts(s, dq, [&](const Part& p, const Tensor& scores) {
    if (!grads.defined()) grads = empty_on_device_of(scores, scores.sizes(), wide);
    MatrixStrides of_q = at.queries(p, s.width), of_y = at.queries(p, s.values), of_k = at.keys(p, s.width),
                  of_v = at.keys(p, s.values), of_scores = at.scores(p);
    // The first part of a key head writes its gradients, later ones add to them.
    Scalar beta(p.member == 0 && p.first_row == 0 ? 0 : 1);
    multiply(scores, q, k, {p.count, p.rows, s.keys, s.width, of_q, Products::transposed(of_k), of_scores},
             Scalar(s.scale), Scalar(0));
    multiply(grads, dy, v, {p.count, p.rows, s.keys, s.values, of_y, Products::transposed(of_v), of_scores}, Scalar(1),
             Scalar(0));
    on.run(differentiate_rows, {wide}, {.blocks = p.count * p.rows, .threads = kThreads}, scores.data(), grads.data(),
           lse.data(), delta.data(), data_or_null(in.mask), at.params(p, in.mask));
    multiply(dv, scores, dy, {p.count, s.keys, s.values, p.rows, Products::transposed(of_scores), of_y, of_v},
             Scalar(1), beta);
    multiply(dq, grads, k, {p.count, p.rows, s.width, s.keys, of_scores, of_k, of_q}, Scalar(s.scale), Scalar(0));
    multiply(dk, grads, q, {p.count, s.keys, s.width, p.rows, Products::transposed(of_scores), of_q, of_k},
             Scalar(s.scale), beta);
  });
  finish(to.query, dq);
  finish(to.key, dk);
  finish(to.value, dv);
}

void forward(const Tensor& out, const Tensor& lse, const Tensor& query, const Tensor& key, const Tensor& value,
             const Tensor& mask, const AttentionShape& shape) {
  AttentionInputs in{query, key, value, mask, shape};
  if (library_forward(out, lse, in) || flash_forward(out, lse, in)) return;
  forward_by_products(out, lse, in);
}

void backward(const Tensor& grad_query, const Tensor& grad_key, const Tensor& grad_value, const Tensor& grad,
              const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& out, const Tensor& lse,
              const Tensor& mask, const AttentionShape& shape) {
  AttentionInputs in{query, key, value, mask, shape};
  AttentionGrads to{grad_query, grad_key, grad_value};
  if (library_backward(to, grad, in, out, lse) || flash_backward(to, grad, in, out, lse)) return;
  backward_by_products(to, grad, in, out, lse);
}

}  // namespace

void dot_rows(const Tensor& delta, const Tensor& out, const Tensor& grad) {
  int64_t n = delta.numel();
  Launcher(delta).run(dot_head_rows, {delta.dtype(), out.dtype()},
                      {.blocks = blocks_for(n, kThreads / 32), .threads = kThreads}, delta.data(), out.data(),
                      grad.data(), head_matrix(out), head_matrix(grad), out.size(1), out.size(2), out.size(3), n);
}

const AttentionKernels attention_kernels = {.takes_half = true, .forward = forward, .backward = backward};

}  // namespace undertow::core::cuda
