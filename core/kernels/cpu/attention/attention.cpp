// attention.cpp: the CPU's AttentionKernels: scaled dot-product attention over tiles of scores, forward and backward,
// so that the whole score matrix is never stored.
// build: small
#include "core/kernels/attention.h"

#include <algorithm>

#include "core/base/parallel.h"
#include "core/kernels/cpu/attention/attention_kernels.h"
#include "core/kernels/cpu/cpu_backend.h"
#include "core/kernels/cpu/matmul/gemm.h"
#include "core/kernels/cpu/matmul/gemm_panels.h"
#include "core/kernels/cpu/redundant_chunks.h"
#include "core/kernels/cpu/scratch.h"

namespace undertow::core::cpu {

namespace {

template <class T>
const AttentionLoops<T>& loops() {
  if constexpr (std::is_same_v<T, float>)
    return UNDERTOW_CHOOSE_ISA(attention_float());
  else
    return UNDERTOW_CHOOSE_ISA(attention_double());
}

// A tile of scores has whole rows, and as many as fit the L2 cache together with a tile of gradients.
constexpr int64_t kTileScores = 32768;
constexpr int64_t kMaxRows = 64, kMinRows = 16;
// Enough tasks for 16 threads of a backward pass, whose sums depend on this number; and the least number of queries
// that makes the preparation of a task cheap.
constexpr int64_t kEnoughGradTasks = 16;
constexpr int64_t kTaskQueries = 128;

// Maximum columns of a panel of packed keys; products with some of the panels use whole ones.
constexpr int64_t kPanelAtMost = 32;

struct Tiling : AttentionShape {
  int64_t rows, span;  // queries in a tile, and in a task, which has several tiles
  int64_t stride;      // of a row of scores
  int64_t shares;      // tasks of the backward pass that share a key head
};
Tiling tiling_of(const AttentionShape& shape) {
  Tiling s{shape, 0, 0, 0, 1};
  s.rows = std::clamp(kTileScores / std::max<int64_t>(1, s.keys), kMinRows, kMaxRows);
  // A task transposes the keys once for all its tiles.
  auto cuts = [&](int64_t tasks, int64_t heads, int64_t queries) {
    int64_t most = std::max<int64_t>(1, queries / kTaskQueries);
    return std::clamp<int64_t>((tasks + heads) / std::max<int64_t>(1, heads), 1, most);
  };
  int64_t tiles = (s.queries + s.rows - 1) / s.rows,
          parts = cuts(std::max<int64_t>(16, enough_chunks(4)) - 1, s.batch * s.heads, s.queries);
  s.span = std::max<int64_t>(1, (tiles + parts - 1) / parts) * s.rows;
  s.shares = cuts(kEnoughGradTasks - 1, s.batch * s.heads / s.group, s.queries * s.group);
  // Whole panels, and rows that do not map to the same cache sets.
  s.stride = (s.keys + kPanelAtMost - 1) / kPanelAtMost * kPanelAtMost + 16;
  return s;
}

// One head's matrix with row and column strides.
template <class T>
struct Matrix {
  T* data;
  int64_t row, column;
  Matrix from(int64_t r) const { return {data + r * row, row, column}; }
  Matrix transposed() const { return {data, column, row}; }
};
template <class T>
Matrix<T> head(const Tensor& t, int64_t b, int64_t h) {
  return {t.data_as<T>() + b * t.stride(0) + h * t.stride(1), t.stride(2), t.stride(3)};
}
// c = alpha * a b + beta * c, on the calling thread if called from a task.
template <class T>
void times(int64_t m, int64_t n, int64_t k, double alpha, const Matrix<T>& a, const Matrix<T>& b, T beta,
           const Matrix<T>& c) {
  gemm<T>(m, n, k, static_cast<T>(alpha), a.data, a.row, a.column, b.data, b.row, b.column, beta, c.data, c.row,
          c.column);
}

// The rows of one head's keys or values as columns, packed for products. See Note [Packed Panels].
template <class T>
struct Transposed {
  T* panels;
  int64_t width, count;
  template <class Purpose>
  static Transposed of(const Matrix<T>& m, int64_t width, int64_t count) {
    T* panels = Scratch<Purpose>::template get<T>(panel_elements<T>(width, count));
    pack_panels<T>(width, count, m.data, m.column, m.row, panels);
    return {panels, width, count};
  }
  // c = alpha * a times the first n columns, and possibly a few more, whose results in c are ignored.
  void multiply(int64_t m, int64_t n, double alpha, const Matrix<T>& a, T* c, int64_t stride) const {
    int64_t panel = panel_columns<T>(), whole = std::min(count, (n + panel - 1) / panel * panel);
    multiply_panels<T>(
        {m, whole, width, static_cast<T>(alpha), a.data, a.row, a.column, panels, 0, 0, T(0), c, stride, 1});
  }
};

template <class T>
const T* mask_at(const Tensor& mask, int64_t b, int64_t h, int64_t row) {
  if (!mask.defined()) return nullptr;
  return mask.data_as<T>() + b * mask.stride(0) + h * mask.stride(1) + row * mask.stride(2);
}

// The columns used by any of the rows [first, first + rows).
int64_t columns_of(const Tiling& s, int64_t first, int64_t rows) {
  return s.causal ? std::min(s.keys, first + rows) : s.keys;
}

template <class T>
ScoreTile<T> tile_of(const Tiling& s, const Tensor& m, T* scores, int64_t b, int64_t h, int64_t first, int64_t rows) {
  return {scores,
          s.stride,
          rows,
          columns_of(s, first, rows),
          s.causal ? first + 1 : s.keys,
          mask_at<T>(m, b, h, first),
          m.defined() ? m.stride(2) : 0,
          m.defined() ? m.stride(3) : 0};
}

template <class T>
void scale_rows(const Matrix<T>& m, int64_t rows, int64_t n, const T* factors) {
  if (m.column == 1) return loops<T>().scale_rows(m.data, m.row, rows, n, factors);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < n; j++) m.data[i * m.row + j * m.column] *= factors[i];
}
template <class T>
void row_dots(const Matrix<T>& a, const Matrix<T>& b, int64_t rows, int64_t n, T* dots) {
  if (a.column == 1 && b.column == 1) return loops<T>().row_dots(a.data, a.row, b.data, b.row, rows, n, dots);
  for (int64_t i = 0; i < rows; i++) {
    dots[i] = 0;
    for (int64_t j = 0; j < n; j++) dots[i] += a.data[i * a.row + j * a.column] * b.data[i * b.row + j * b.column];
  }
}
// to[i][j] = from[j * stride + i]
template <class T>
void transpose_into(const Matrix<T>& to, int64_t rows, int64_t n, const T* from, int64_t stride) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < n; j++) to.data[i * to.row + j * to.column] = from[j * stride + i];
}

struct Scores;  // scratch
struct ScoreGrads;
struct TransposedKeys;
struct TransposedValues;
struct KeyGrads;

template <class T>
void forward_of(const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k, const Tensor& v,
                const Tensor& mask, const Tiling& s) {
  int64_t spans = (s.queries + s.span - 1) / s.span;
  int64_t grain = std::max<int64_t>(1, (1 << 18) / std::max<int64_t>(1, s.span * s.keys * s.width));
  parallel_for(0, s.batch * s.heads * spans, grain, [&](int64_t begin, int64_t end) {
    T *scores = Scratch<Scores>::get<T>(s.rows * s.stride + s.rows), *inverse_sums = scores + s.rows * s.stride;
    Matrix<T> p{scores, s.stride, 1};
    for (int64_t i = begin; i < end; i++) {
      int64_t b = i / spans / s.heads, h = i / spans % s.heads, start = i % spans * s.span,
              stop = std::min(s.queries, start + s.span);
      Matrix<T> values = head<T>(v, b, h / s.group);
      auto keys = Transposed<T>::template of<TransposedKeys>(head<T>(k, b, h / s.group), s.width,
                                                             columns_of(s, start, stop - start));
      for (int64_t first = start; first < stop; first += s.rows) {
        int64_t rows = std::min(s.rows, stop - first);
        ScoreTile<T> tile = tile_of(s, mask, scores, b, h, first, rows);
        keys.multiply(rows, tile.n, s.scale, head<T>(q, b, h).from(first), scores, s.stride);
        loops<T>().softmax(tile, lse.data_as<T>() + (b * s.heads + h) * s.queries + first, inverse_sums);
        Matrix<T> to = head<T>(out, b, h).from(first);
        times(rows, s.values, tile.n, 1, p, values, T(0), to);
        scale_rows(to, rows, s.values, inverse_sums);
      }
    }
  });
}

void forward(const Tensor& out, const Tensor& lse, const Tensor& query, const Tensor& key, const Tensor& value,
             const Tensor& mask, const AttentionShape& shape) {
  auto* run = out.dtype() == DType::Float32 ? forward_of<float> : forward_of<double>;
  run(out, lse, query, key, value, mask, tiling_of(shape));
}

// dv = p^T dy, dp = dy v^T, ds = p (dp - rowsum(dy out)), dq = scale ds k, dk = scale ds^T q. A task accumulates dk^T
// and dv^T of a key head tile by tile, since those products read p and ds in place. With few heads, several tasks share
// one: each takes every `shares`-th tile, because the tiles of a causal mask differ in size, and has sums of its own,
// which are added in order afterwards.
template <class T>
void backward_of(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& g, const Tensor& q,
                 const Tensor& k, const Tensor& v, const Tensor& o, const Tensor& l, const Tensor& mask,
                 const Tiling& s) {
  const int64_t key_heads = s.heads / s.group, all_heads = s.batch * key_heads;
  const int64_t tiles = (s.queries + s.rows - 1) / s.rows, sums = (s.width + s.values) * s.stride;
  Tensor shared = s.shares > 1 ? empty(Dims{all_heads, s.shares, sums}, dq.dtype(), kCpu) : Tensor();
  auto store = [&](int64_t head_at, const T* from) {
    int64_t b = head_at / key_heads, kh = head_at % key_heads;
    transpose_into(head<T>(dk, b, kh), s.keys, s.width, from, s.stride);
    transpose_into(head<T>(dv, b, kh), s.keys, s.values, from + s.width * s.stride, s.stride);
  };
  parallel_for(0, all_heads * s.shares, 1, [&](int64_t begin, int64_t end) {
    T *scores = Scratch<Scores>::get<T>(s.rows * s.stride),
      *grads = Scratch<ScoreGrads>::get<T>(s.rows * s.stride + s.rows), *delta = grads + s.rows * s.stride;
    Matrix<T> p{scores, s.stride, 1}, dp{grads, s.stride, 1};
    for (int64_t task = begin; task < end; task++) {
      int64_t head_at = task / s.shares, b = head_at / key_heads, kh = head_at % key_heads;
      T* own = s.shares > 1 ? shared.data_as<T>() + task * sums : Scratch<KeyGrads>::get<T>(sums);
      Matrix<T> to_keys{own, s.stride, 1}, to_values{own + s.width * s.stride, s.stride, 1};
      std::fill_n(own, sums, T(0));
      Matrix<T> keys = head<T>(k, b, kh);
      auto transposed_keys = Transposed<T>::template of<TransposedKeys>(keys, s.width, s.keys);
      auto transposed_values = Transposed<T>::template of<TransposedValues>(head<T>(v, b, kh), s.values, s.keys);
      for (int64_t at = task % s.shares; at < s.group * tiles; at += s.shares) {
        int64_t h = kh * s.group + at / tiles, first = at % tiles * s.rows, rows = std::min(s.rows, s.queries - first);
        ScoreTile<T> tile = tile_of(s, mask, scores, b, h, first, rows);
        Matrix<T> mine = head<T>(q, b, h).from(first), dys = head<T>(g, b, h).from(first),
                  outs = head<T>(o, b, h).from(first);
        transposed_keys.multiply(rows, tile.n, s.scale, mine, scores, s.stride);
        loops<T>().softmax_from_lse(tile, l.data_as<T>() + (b * s.heads + h) * s.queries + first);
        row_dots(dys, outs, rows, s.values, delta);
        times(s.values, tile.n, rows, 1, dys.transposed(), p, T(1), to_values);
        transposed_values.multiply(rows, tile.n, 1, dys, grads, s.stride);
        loops<T>().softmax_backward(scores, grads, s.stride, rows, tile.n, delta);
        times(rows, s.width, tile.n, s.scale, dp, keys, T(0), head<T>(dq, b, h).from(first));
        times(s.width, tile.n, rows, s.scale, mine.transposed(), dp, T(1), to_keys);
      }
      if (s.shares == 1) store(head_at, own);
    }
  });
  if (s.shares == 1) return;
  parallel_for(0, all_heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t head_at = begin; head_at < end; head_at++) {
      T* total = shared.data_as<T>() + head_at * s.shares * sums;
      for (int64_t share = 1; share < s.shares; share++)
        for (int64_t i = 0; i < sums; i++) total[i] += total[share * sums + i];
      store(head_at, total);
    }
  });
}

void backward(const Tensor& grad_query, const Tensor& grad_key, const Tensor& grad_value, const Tensor& grad,
              const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& out, const Tensor& lse,
              const Tensor& mask, const AttentionShape& shape) {
  auto* run = out.dtype() == DType::Float32 ? backward_of<float> : backward_of<double>;
  run(grad_query, grad_key, grad_value, grad, query, key, value, out, lse, mask, tiling_of(shape));
}

}  // namespace

constinit const AttentionKernels attention_kernels = {.forward = forward, .backward = backward};

}  // namespace undertow::core::cpu
