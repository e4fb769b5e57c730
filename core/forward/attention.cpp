// attention.cpp: scaled dot-product attention over tiles of scores, forward and backward, so that the whole matrix of
// scores never exists; and softmax for rows that may be masked entirely.
// build: small
#include <cmath>
#include <limits>

#include "core/base/parallel.h"
#include "core/forward/copy/copy.h"
#include "core/forward/create/create.h"
#include "core/kernels/cpu/attention/attention_kernels.h"
#include "core/kernels/cpu/matmul/gemm.h"
#include "core/kernels/cpu/matmul/gemm_panels.h"
#include "core/kernels/cpu/scratch.h"
#include "core/tensor/layout.h"
#include "generated/fwd.h"

namespace undertow::fwd {

namespace {

template <class T>
const cpu::AttentionKernels<T>& kernels() {
  using namespace cpu;
  if constexpr (std::is_same_v<T, float>)
    return UNDERTOW_CHOOSE_ISA(attention_float());
  else
    return UNDERTOW_CHOOSE_ISA(attention_double());
}

// A tile of scores has whole rows, and as many of them as stay in the second cache beside a tile of gradients.
constexpr int64_t kTileScores = 32768;
constexpr int64_t kMostRows = 64, kLeastRows = 16;
// Tasks enough to keep a few threads evenly busy.
constexpr int64_t kEnoughTasks = 16;

// Columns that a panel of packed keys may have; products with part of the panels take whole ones.
constexpr int64_t kPanelAtMost = 32;

struct Shape {
  int64_t batch, heads, queries, keys, width, values, group;  // group: query heads that share a key head
  int64_t rows, span;                                         // queries in a tile, and in a task: several tiles
  int64_t stride;                                             // of a row of scores
  bool causal;
  double scale;
};

Shape shape_of(const Tensor& q, const Tensor& k, const Tensor& v, bool causal, std::optional<double> scale) {
  UT_CHECK(q.dim() == 4 && k.dim() == 4 && v.dim() == 4,
           "scaled_dot_product_attention: expected query, key and value of 4 dimensions, got ", q.dim(), ", ", k.dim(),
           " and ", v.dim());
  Shape s{q.size(0), q.size(1), q.size(2), k.size(2),
          q.size(3), v.size(3), 1,         0,
          0,         0,         causal,    scale.value_or(1 / std::sqrt(static_cast<double>(q.size(3))))};
  bool fit = k.size(0) == s.batch && v.size(0) == s.batch && k.size(3) == s.width && v.size(2) == s.keys &&
             k.size(1) == v.size(1) && k.size(1) > 0 && s.heads % k.size(1) == 0;
  UT_CHECK(fit, "scaled_dot_product_attention: query ", ShapeText{q.sizes()}, ", key ", ShapeText{k.sizes()},
           " and value ", ShapeText{v.sizes()}, " do not fit each other");
  s.group = s.heads / k.size(1);
  s.rows = std::clamp(kTileScores / std::max<int64_t>(1, s.keys), kLeastRows, kMostRows);
  // A task turns the keys once for all its tiles.
  int64_t tiles = (s.queries + s.rows - 1) / s.rows,
          cuts = std::max<int64_t>(1, kEnoughTasks / std::max<int64_t>(1, s.batch * s.heads));
  s.span = std::max<int64_t>(1, (tiles + cuts - 1) / cuts) * s.rows;
  // Whole panels, and rows that do not share the sets of a cache.
  s.stride = (s.keys + kPanelAtMost - 1) / kPanelAtMost * kPanelAtMost + 16;
  return s;
}

// One head's matrix: rows and columns by strides.
template <class T>
struct Matrix {
  T* data;
  int64_t row, column;
  Matrix from(int64_t r) const { return {data + r * row, row, column}; }
  Matrix turned() const { return {data, column, row}; }
};
template <class T>
Matrix<T> head(const Tensor& t, int64_t b, int64_t h) {
  return {t.data_as<T>() + b * t.stride(0) + h * t.stride(1), t.stride(2), t.stride(3)};
}
// c = alpha * a b, on this thread where a task calls it.
template <class T>
void times(int64_t m, int64_t n, int64_t k, double alpha, const Matrix<T>& a, const Matrix<T>& b, T beta,
           const Matrix<T>& c) {
  cpu::gemm<T>(m, n, k, static_cast<T>(alpha), a.data, a.row, a.column, b.data, b.row, b.column, beta, c.data, c.row,
               c.column);
}

// The rows of one head's keys or values as columns, packed for products. See Note [Packed Panels].
template <class T>
struct Turned {
  T* panels;
  int64_t width, count;
  template <class Purpose>
  static Turned of(const Matrix<T>& m, int64_t width, int64_t count) {
    T* panels = cpu::Scratch<Purpose>::template get<T>(cpu::panel_elements<T>(width, count));
    cpu::pack_panels<T>(width, count, m.data, m.column, m.row, panels);
    return {panels, width, count};
  }
  // c = alpha * a times the first n columns or a few more, whose place in c counts for nothing.
  void multiply(int64_t m, int64_t n, double alpha, const Matrix<T>& a, T* c, int64_t stride) const {
    int64_t panel = cpu::panel_columns<T>(), whole = std::min(count, (n + panel - 1) / panel * panel);
    cpu::multiply_panels<T>(
        {m, whole, width, static_cast<T>(alpha), a.data, a.row, a.column, panels, 0, 0, T(0), c, stride, 1});
  }
};

// The mask as numbers to add, and its strides over (batch, heads, queries, keys), zero where it broadcasts.
struct Mask {
  Tensor values;
  int64_t strides[4] = {};
  template <class T>
  const T* at(int64_t b, int64_t h, int64_t row) const {
    return values.defined() ? values.data_as<T>() + b * strides[0] + h * strides[1] + row * strides[2] : nullptr;
  }
};
Mask mask_of(const Tensor& mask, const Shape& s, DType wide) {
  Mask m;
  if (!mask.defined()) return m;
  if (mask.dtype() == DType::Bool) {
    m.values = full(mask.sizes(), Scalar(-std::numeric_limits<double>::infinity()), wide);
    m.values = where(mask, zeros(mask.sizes(), wide), m.values);
  } else {
    m.values = to_dtype(mask, wide);
  }
  const int64_t whole[4] = {s.batch, s.heads, s.queries, s.keys};
  UT_CHECK(mask.dim() <= 4 && is_expandable_to(mask.sizes(), IntSpan(whole, 4)),
           "scaled_dot_product_attention: a mask of ", ShapeText{mask.sizes()}, " does not broadcast to ",
           ShapeText{IntSpan(whole, 4)});
  int64_t lead = 4 - mask.dim();
  for (int64_t d = lead; d < 4; d++) m.strides[d] = m.values.size(d - lead) == 1 ? 0 : m.values.stride(d - lead);
  return m;
}

// Columns that any of the rows [first, first + rows) looks at.
int64_t columns_of(const Shape& s, int64_t first, int64_t rows) {
  return s.causal ? std::min(s.keys, first + rows) : s.keys;
}

template <class T>
cpu::ScoreTile<T> tile_of(const Shape& s, const Mask& m, T* scores, int64_t b, int64_t h, int64_t first, int64_t rows) {
  return {
      scores,       s.stride,    rows, columns_of(s, first, rows), s.causal ? first + 1 : s.keys, m.at<T>(b, h, first),
      m.strides[2], m.strides[3]};
}

template <class T>
void scale_rows(const Matrix<T>& m, int64_t rows, int64_t n, const T* factors) {
  if (m.column == 1) return kernels<T>().scale_rows(m.data, m.row, rows, n, factors);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < n; j++) m.data[i * m.row + j * m.column] *= factors[i];
}
template <class T>
void row_dots(const Matrix<T>& a, const Matrix<T>& b, int64_t rows, int64_t n, T* dots) {
  if (a.column == 1 && b.column == 1) return kernels<T>().row_dots(a.data, a.row, b.data, b.row, rows, n, dots);
  for (int64_t i = 0; i < rows; i++) {
    dots[i] = 0;
    for (int64_t j = 0; j < n; j++) dots[i] += a.data[i * a.row + j * a.column] * b.data[i * b.row + j * b.column];
  }
}
// to[i][j] = from[j * stride + i]
template <class T>
void turn_into(const Matrix<T>& to, int64_t rows, int64_t n, const T* from, int64_t stride) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < n; j++) to.data[i * to.row + j * to.column] = from[j * stride + i];
}

struct Scores;  // the purposes of borrowed memory
struct ScoreGrads;
struct TurnedKeys;
struct TurnedValues;
struct KeyGrads;
struct ValueGrads;

}  // namespace

std::tuple<Tensor, Tensor> _scaled_dot_product_flash_attention_for_cpu(const Tensor& query, const Tensor& key,
                                                                       const Tensor& value, double dropout_p,
                                                                       bool is_causal, const Tensor& attn_mask,
                                                                       std::optional<double> scale) {
  UT_CHECK(dropout_p == 0, "_scaled_dot_product_flash_attention_for_cpu: dropout is not supported, got ", dropout_p);
  UT_CHECK(is_floating(query.dtype()), "expected scalar type Float but found ", long_name(query.dtype()));
  Shape s = shape_of(query, key, value, is_causal, scale);
  DType wide = is_reduced_float(query.dtype()) ? DType::Float32 : query.dtype();
  Tensor q = to_dtype(query, wide), k = to_dtype(key, wide), v = to_dtype(value, wide);
  Dims sizes{s.batch, s.heads, s.queries, s.values};
  Tensor out = s.values == s.width ? allocate_like(q, wide) : empty(sizes, wide);
  Tensor lse = empty(IntSpan(sizes).first(3), wide);
  Mask mask = mask_of(attn_mask, s, wide);
  auto run = [&](auto tag) {
    using T = typename decltype(tag)::type;
    int64_t spans = (s.queries + s.span - 1) / s.span;
    int64_t grain = std::max<int64_t>(1, (1 << 18) / std::max<int64_t>(1, s.span * s.keys * s.width));
    parallel_for(0, s.batch * s.heads * spans, grain, [&](int64_t begin, int64_t end) {
      T *scores = cpu::Scratch<Scores>::get<T>(s.rows * s.stride + s.rows), *shares = scores + s.rows * s.stride;
      Matrix<T> p{scores, s.stride, 1};
      for (int64_t i = begin; i < end; i++) {
        int64_t b = i / spans / s.heads, h = i / spans % s.heads, start = i % spans * s.span,
                stop = std::min(s.queries, start + s.span);
        Matrix<T> values = head<T>(v, b, h / s.group);
        auto keys =
            Turned<T>::template of<TurnedKeys>(head<T>(k, b, h / s.group), s.width, columns_of(s, start, stop - start));
        for (int64_t first = start; first < stop; first += s.rows) {
          int64_t rows = std::min(s.rows, stop - first);
          cpu::ScoreTile<T> tile = tile_of(s, mask, scores, b, h, first, rows);
          keys.multiply(rows, tile.n, s.scale, head<T>(q, b, h).from(first), scores, s.stride);
          kernels<T>().softmax(tile, lse.data_as<T>() + (b * s.heads + h) * s.queries + first, shares);
          Matrix<T> to = head<T>(out, b, h).from(first);
          times(rows, s.values, tile.n, 1, p, values, T(0), to);
          scale_rows(to, rows, s.values, shares);
        }
      }
    });
  };
  if (out.numel()) {
    if (wide == DType::Float32)
      run(TypeTag<float>{});
    else
      run(TypeTag<double>{});
  }
  return {to_dtype(out, query.dtype()), lse};
}

// dv = p^T dy, dp = dy v^T, ds = p (dp - rowsum(dy out)), dq = scale ds k, dk = scale ds^T q: a task for each key head,
// which adds to its own dk^T and dv^T tile by tile, since those products read p and ds where they lie.
std::tuple<Tensor, Tensor, Tensor> _flash_attention_backward(const Tensor& dy, const Tensor& query, const Tensor& key,
                                                             const Tensor& value, const Tensor& out, const Tensor& lse,
                                                             bool is_causal, const Tensor& attn_mask,
                                                             std::optional<double> scale) {
  Shape s = shape_of(query, key, value, is_causal, scale);
  DType wide = is_reduced_float(query.dtype()) ? DType::Float32 : query.dtype();
  Tensor g = to_dtype(dy, wide), q = to_dtype(query, wide), k = to_dtype(key, wide), v = to_dtype(value, wide),
         o = to_dtype(out, wide);
  Tensor dq = allocate_like(q, wide), dk = allocate_like(k, wide), dv = allocate_like(v, wide),
         l = contiguous(to_dtype(lse, wide));
  if (!out.numel())
    for (const Tensor& t : {dq, dk, dv}) fill_into(t, Scalar(0));
  Mask mask = mask_of(attn_mask, s, wide);
  auto run = [&](auto tag) {
    using T = typename decltype(tag)::type;
    int64_t key_heads = s.heads / s.group;
    parallel_for(0, s.batch * key_heads, 1, [&](int64_t begin, int64_t end) {
      T *scores = cpu::Scratch<Scores>::get<T>(s.rows * s.stride),
        *grads = cpu::Scratch<ScoreGrads>::get<T>(s.rows * s.stride + s.rows);
      T *delta = grads + s.rows * s.stride, *dk_sums = cpu::Scratch<KeyGrads>::get<T>(s.width * s.stride),
        *dv_sums = cpu::Scratch<ValueGrads>::get<T>(s.values * s.stride);
      Matrix<T> p{scores, s.stride, 1}, dp{grads, s.stride, 1}, to_keys{dk_sums, s.stride, 1},
          to_values{dv_sums, s.stride, 1};
      for (int64_t task = begin; task < end; task++) {
        int64_t b = task / key_heads, kh = task % key_heads;
        Matrix<T> keys = head<T>(k, b, kh);
        auto turned_keys = Turned<T>::template of<TurnedKeys>(keys, s.width, s.keys);
        auto turned_values = Turned<T>::template of<TurnedValues>(head<T>(v, b, kh), s.values, s.keys);
        std::fill(dk_sums, dk_sums + s.width * s.stride, T(0));
        std::fill(dv_sums, dv_sums + s.values * s.stride, T(0));
        for (int64_t h = kh * s.group; h < (kh + 1) * s.group; h++) {
          for (int64_t first = 0; first < s.queries; first += s.rows) {
            int64_t rows = std::min(s.rows, s.queries - first);
            cpu::ScoreTile<T> tile = tile_of(s, mask, scores, b, h, first, rows);
            Matrix<T> mine = head<T>(q, b, h).from(first), dys = head<T>(g, b, h).from(first),
                      outs = head<T>(o, b, h).from(first);
            turned_keys.multiply(rows, tile.n, s.scale, mine, scores, s.stride);
            kernels<T>().softmax_again(tile, l.data_as<T>() + (b * s.heads + h) * s.queries + first);
            row_dots(dys, outs, rows, s.values, delta);
            times(s.values, tile.n, rows, 1, dys.turned(), p, T(1), to_values);
            turned_values.multiply(rows, tile.n, 1, dys, grads, s.stride);
            kernels<T>().softmax_backward(scores, grads, s.stride, rows, tile.n, delta);
            times(rows, s.width, tile.n, s.scale, dp, keys, T(0), head<T>(dq, b, h).from(first));
            times(s.width, tile.n, rows, s.scale, mine.turned(), dp, T(1), to_keys);
          }
        }
        turn_into(head<T>(dk, b, kh), s.keys, s.width, dk_sums, s.stride);
        turn_into(head<T>(dv, b, kh), s.keys, s.values, dv_sums, s.stride);
      }
    });
  };
  if (out.numel()) {
    if (wide == DType::Float32)
      run(TypeTag<float>{});
    else
      run(TypeTag<double>{});
  }
  return {to_dtype(dq, query.dtype()), to_dtype(dk, key.dtype()), to_dtype(dv, value.dtype())};
}

Tensor _safe_softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  Tensor p = softmax(self, dim, dtype);
  if (self.numel() == 0) return p;
  const int64_t dims[1] = {dim};
  Tensor nothing = eq(amax(self, IntSpan(dims, 1), true), Scalar(-std::numeric_limits<double>::infinity()));
  return where(nothing, zeros({}, p.dtype()), p);
}

}  // namespace undertow::fwd
