// aligned.cpp: see aligned.h.
#include "core/kernels/cuda/matmul/aligned.h"

#include <algorithm>
#include <optional>

#include "core/kernels/cuda/matmul/lines_params.h"
#include "core/kernels/cuda/matmul/precision.h"
#include "core/kernels/cuda/runtime/workspace.h"
#include "core/kernels/cuda/settings.h"

namespace undertow::core::cuda {

namespace {

using undertow::CopiedLines;

KernelTemplate copy_kernel("matmul/lines.cuh", "copy_lines");

constexpr int64_t kAlignment = 16;
// Slow kernels reach a fifth of the fast ones' rate. A copy is repaid by about 150 multiplications per element; small
// products are over before it matters.
constexpr int64_t kLeastUses = 256, kLeastProduct = int64_t{1} << 32;

std::atomic<bool> any_size{false};  // tests align small products
NamedSwitch align_any_size("matmul.align_any_size", any_size);

bool has_fast_kernels(DType t) {
  return is_reduced_float(t) || (t == DType::Float32 && product_precision().tf32.load(std::memory_order_relaxed));
}

// --- Lines: the rows of a row-major matrix, the columns of a column-major one

struct Lines {
  int64_t count, length, distance;
};
bool has_rows(const MatrixStrides& s, int64_t columns) { return s.column == 1 && s.row >= columns; }
bool has_columns(const MatrixStrides& s, int64_t rows) { return s.row == 1 && s.column >= rows; }
bool has_lines(const MatrixStrides& s, int64_t rows, int64_t columns) {
  return has_rows(s, columns) || has_columns(s, rows);
}
Lines lines_of(const MatrixStrides& s, int64_t rows, int64_t columns) {
  return s.column == 1 ? Lines{rows, columns, s.row} : Lines{columns, rows, s.column};
}
int64_t& distance_in(MatrixStrides& s) { return s.column == 1 ? s.row : s.column; }

int64_t rounded_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// --- What must change

struct Plan {
  int64_t m, n, k;  // of the product that the library computes: m and n rounded down, k rounded up
  bool copies_a, copies_b, moves_c;
};

std::optional<Plan> plan_for(const Product& p) {
  if (p.batch != 1 || !has_fast_kernels(p.dtype)) return {};
  if (!has_lines(p.a_strides, p.m, p.k) || !has_lines(p.b_strides, p.k, p.n) || !has_lines(p.c_strides, p.m, p.n))
    return {};
  const int64_t width = itemsize(p.dtype), whole = kAlignment / width;
  auto begins_elsewhere = [&](const char* data, MatrixStrides s) {
    return reinterpret_cast<uintptr_t>(data) % kAlignment != 0 || distance_in(s) % whole != 0;
  };
  // Is a dimension along the lines of a matrix, and no multiple?
  const bool a_rows = p.a_strides.column == 1, b_rows = p.b_strides.column == 1, c_rows = p.c_strides.column == 1;
  const bool splits_m = (!a_rows || !c_rows) && p.m % whole, splits_n = (b_rows || c_rows) && p.n % whole,
             pads_k = (a_rows || !b_rows) && p.k % whole;
  Plan plan{splits_m ? p.m / whole * whole : p.m,         splits_n ? p.n / whole * whole : p.n,
            pads_k ? rounded_up(p.k, whole) : p.k,        pads_k || begins_elsewhere(p.a, p.a_strides),
            pads_k || begins_elsewhere(p.b, p.b_strides), begins_elsewhere(p.c, p.c_strides)};
  if (plan.m == 0 || plan.n == 0) return {};
  if (!splits_m && !splits_n && !plan.copies_a && !plan.copies_b && !plan.moves_c) return {};
  // What is added to the product would have to be copied too.
  if (plan.moves_c && !p.beta.equals(0)) return {};
  if (any_size.load(std::memory_order_relaxed)) return plan;
  // How often is an element of a copy used? The last rows and columns read all of one factor once more.
  if ((plan.copies_a || splits_n) && p.n < kLeastUses) return {};
  if ((plan.copies_b || splits_m) && p.m < kLeastUses) return {};
  if (plan.moves_c && p.k < kLeastUses) return {};
  if (p.m * p.n < kLeastProduct / p.k) return {};
  return plan;
}

// --- Copies

// `lines` and zeros, as `count` lines of `filled` elements.
void copy_lines(const Launcher& on, DType t, char* to, int64_t to_distance, const char* from, const Lines& lines,
                int64_t count, int64_t filled) {
  const int64_t width = itemsize(t);
  const bool is_aligned = reinterpret_cast<uintptr_t>(to) % kAlignment == 0 && to_distance * width % kAlignment == 0;
  // A line that begins anywhere may share its first and its last pack with its neighbours.
  const int64_t before = is_aligned ? 0 : kAlignment - width;
  const int64_t packs = rounded_up(before + filled * width, kAlignment) / kAlignment;
  // The kernel's numbers of packs have 31 bits.
  const int64_t most = (int64_t{1} << 30) / packs;
  for (int64_t first = 0; first < count; first += most) {
    const int64_t part = std::min(most, count - first);
    on.run(copy_kernel, {same_width(t)},
           {.blocks = blocks_for(part * packs, int64_t{undertow::kLineThreads} * undertow::kLinePacks),
            .threads = undertow::kLineThreads},
           to + first * to_distance * width, from + first * lines.distance * width,
           CopiedLines{lines.count - first, lines.length, filled, lines.distance, to_distance,
                       static_cast<uint32_t>(part * packs), undertow::divisor_of(packs)});
  }
}

// Replaces a factor by a copy with aligned lines; rows and columns beyond those that it has are zeros.
void copy_factor(const Launcher& on, DType t, std::optional<Workspace>& memory, char*& data, MatrixStrides& s,
                 const Lines& has, const Lines& wanted) {
  const int64_t width = itemsize(t), distance = rounded_up(wanted.length, kAlignment / width);
  memory.emplace(on.device(), static_cast<size_t>(wanted.count * distance * width));
  copy_lines(on, t, memory->data(), distance, data, has, wanted.count, distance);
  data = memory->data();
  distance_in(s) = distance;
}

// --- The last rows and columns

Product rows_from(Product p, int64_t first) {
  const int64_t width = itemsize(p.dtype);
  p.m -= first;
  p.a += first * p.a_strides.row * width;
  p.c += first * p.c_strides.row * width;
  p.d += first * p.d_strides.row * width;
  return p;
}
Product columns_from(Product p, int64_t first) {
  const int64_t width = itemsize(p.dtype);
  p.n -= first;
  p.b += first * p.b_strides.column * width;
  p.c += first * p.c_strides.column * width;
  p.d += first * p.d_strides.column * width;
  return p;
}
// Of a few rows or columns.
void multiply_rest(const Launcher& on, Product p, const char* bias, LibraryProduct multiply) {
  if (p.m != 1 && p.n != 1 && multiply(on, p, bias)) return;
  if (bias) {
    p.d = const_cast<char*>(bias);
    p.d_strides = {0, 0, 1, 0};
    p.beta = Scalar(1);
  }
  multiply_by_kernel(on, p);
}

}  // namespace

bool multiply_aligned(const Launcher& on, const Product& p, const char* bias, LibraryProduct multiply) {
  const std::optional<Plan> plan = plan_for(p);
  if (!plan) return multiply(on, p, bias);
  Product main = p;
  main.m = plan->m;
  main.n = plan->n;
  main.k = plan->k;
  std::optional<Workspace> a, b, c;
  if (plan->copies_a)
    copy_factor(on, p.dtype, a, main.a, main.a_strides, lines_of(p.a_strides, main.m, p.k),
                lines_of(p.a_strides, main.m, main.k));
  if (plan->copies_b)
    copy_factor(on, p.dtype, b, main.b, main.b_strides, lines_of(p.b_strides, p.k, main.n),
                lines_of(p.b_strides, main.k, main.n));
  const Lines result = lines_of(p.c_strides, main.m, main.n);
  if (plan->moves_c) {
    const int64_t width = itemsize(p.dtype);
    Lines moved = result;
    moved.distance = rounded_up(result.length, kAlignment / width);
    c.emplace(on.device(), static_cast<size_t>(moved.count * moved.distance * width));
    main.c = main.d = c->data();
    distance_in(main.c_strides) = moved.distance;
    main.d_strides = main.c_strides;
    if (!multiply(on, main, bias)) return false;
    copy_lines(on, p.dtype, p.c, result.distance, main.c, moved, result.count, result.length);
  } else if (!multiply(on, main, bias)) {
    return false;
  }
  if (main.m < p.m) multiply_rest(on, rows_from(p, main.m), bias, multiply);
  Product upper = p;
  upper.m = main.m;
  if (main.n < p.n)
    multiply_rest(on, columns_from(upper, main.n), bias ? bias + main.n * itemsize(p.dtype) : nullptr, multiply);
  return true;
}

}  // namespace undertow::core::cuda
