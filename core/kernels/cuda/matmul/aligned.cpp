// aligned.cpp: see aligned.h.
#include "core/kernels/cuda/matmul/aligned.h"

#include <algorithm>

#include "core/kernels/cuda/matmul/precision.h"
#include "core/kernels/cuda/settings.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate copy_kernel("matmul/lines.cuh", "copy_lines");

constexpr int64_t kAlignment = 16;
// Slow kernels reach a fourth to a third of the fast ones' rate. A copy is repaid by about 150 multiplications per
// element; small products are over before it matters.
constexpr int64_t kLeastUses = 256, kLeastProduct = int64_t{1} << 32;
constexpr unsigned kThreads = 256;
constexpr int64_t kEach = 8;  // elements of a thread, as in lines.cuh

std::atomic<bool> any_size{false};  // tests align small products
NamedSwitch align_any_size("matmul.align_any_size", any_size);

bool has_fast_kernels(DType t) {
  return is_reduced_float(t) || (t == DType::Float32 && product_precision().tf32.load(std::memory_order_relaxed));
}

}  // namespace

std::optional<AlignedProduct::Lines> AlignedProduct::lines_of(const MatrixStrides& s, int64_t rows, int64_t columns) {
  if (s.column == 1 && s.row >= columns) return Lines{rows, columns, s.row};
  if (s.row == 1 && s.column >= rows) return Lines{columns, rows, s.column};
  return {};
}

AlignedProduct::AlignedProduct(const Launcher& on, const Product& p) : on_(on), product_(p) {
  if (p.batch != 1 || !has_fast_kernels(p.dtype)) return;
  const bool any = any_size.load(std::memory_order_relaxed);
  if (!any && (p.m < kLeastUses || p.n < kLeastUses || p.k < kLeastUses || p.m * p.n < kLeastProduct / p.k)) return;
  const int64_t width = itemsize(p.dtype);
  auto is_aligned = [&](const char* data, const Lines& l) {
    return reinterpret_cast<uintptr_t>(data) % kAlignment == 0 && l.distance * width % kAlignment == 0;
  };
  std::optional<Lines> a = lines_of(p.a_strides, p.m, p.k), b = lines_of(p.b_strides, p.k, p.n),
                       c = lines_of(p.c_strides, p.m, p.n);
  if (!a || !b || !c) return;
  const bool moves_c = !is_aligned(p.c, *c);
  // What is added to the product would have to be copied too.
  if (moves_c && !p.beta.equals(0)) return;
  if (!is_aligned(p.a, *a)) align(a_, product_.a, product_.a_strides, *a, true);
  if (!is_aligned(p.b, *b)) align(b_, product_.b, product_.b_strides, *b, true);
  if (!moves_c) return;
  result_ = c;
  result_data_ = p.c;
  align(c_, product_.c, product_.c_strides, *c, false);
  product_.d = product_.c;
  product_.d_strides = product_.c_strides;
}

void AlignedProduct::align(std::optional<Workspace>& memory, char*& data, MatrixStrides& s, const Lines& lines,
                           bool with_content) {
  const int64_t width = itemsize(product_.dtype), in_line = kAlignment / width,
                distance = (lines.length + in_line - 1) / in_line * in_line;
  memory.emplace(on_.device(), static_cast<size_t>(lines.count * distance * width));
  if (with_content) copy_lines(memory->data(), distance, data, lines.distance, lines);
  data = memory->data();
  (s.column == 1 ? s.row : s.column) = distance;
}

void AlignedProduct::copy_lines(char* to, int64_t to_distance, const char* from, int64_t from_distance,
                                const Lines& lines) const {
  on_.run(copy_kernel, {same_width(product_.dtype)},
          {.blocks = lines.count,
           .threads = kThreads,
           .blocks_y = static_cast<unsigned>(blocks_for(lines.length, kThreads * kEach))},
          to, from, lines.length, to_distance, from_distance);
}

void AlignedProduct::finish() const {
  if (!result_) return;
  const MatrixStrides& s = product_.c_strides;
  copy_lines(result_data_, result_->distance, c_->data(), s.column == 1 ? s.row : s.column, *result_);
}

}  // namespace undertow::core::cuda
