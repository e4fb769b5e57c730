// flash.cpp: attention by tiles of scores that stay in registers, on tensor cores: which shapes it takes, and launches.
#include "core/kernels/cuda/attention/attention.h"
#include "core/kernels/cuda/attention/attention_params.h"
#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/cuda/copy/copy.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate flash_forward_kernel("attention/flash_forward.cuh", "flash_forward");
KernelTemplate flash_backward_keys("attention/flash_backward.cuh", "flash_backward_keys");
KernelTemplate flash_backward_queries("attention/flash_backward.cuh", "flash_backward_queries");

constexpr unsigned kThreads = 128;
constexpr int kMaxWidth = 128;

bool is_supported(const AttentionInputs& in) {
  const AttentionShape& s = in.shape;
  return is_reduced_float(in.query.dtype()) && s.width == s.values && s.width % 8 == 0 && s.width <= kMaxWidth &&
         s.width > 0 && s.queries <= INT32_MAX / 2 && s.keys <= INT32_MAX / 2 && s.batch * s.heads <= INT32_MAX / 2 &&
         device_state(in.query.device().index).capability >= 80;
}

// Rows that can be written 4 bytes at a time.
bool has_packed_rows(const Tensor& t) {
  bool packed = t.stride(3) == 1 && reinterpret_cast<uintptr_t>(t.data()) % 4 == 0;
  for (int64_t d = 0; d < 3; d++) packed = packed && (t.size(d) == 1 || t.stride(d) % 2 == 0);
  return packed;
}

HeadMatrix head_matrix(const Tensor& t) {
  if (!t.defined()) return {};
  return {t.stride(0), t.stride(1), t.stride(2), t.stride(3)};
}
char* data_or_null(const Tensor& t) { return t.defined() ? t.data() : nullptr; }

FlashParams params_of(const AttentionShape& s, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
  FlashParams p{};
  p.heads = static_cast<int>(s.heads);
  p.group = static_cast<int>(s.group);
  p.queries = static_cast<int>(s.queries);
  p.keys = static_cast<int>(s.keys);
  p.width = static_cast<int>(s.width);
  p.scale = static_cast<float>(s.scale);
  p.query = head_matrix(q);
  p.key = head_matrix(k);
  p.value = head_matrix(v);
  p.mask = head_matrix(mask);
  return p;
}

// The width of the kernel's tiles, and the bytes of a row of one: see SharedTile.
int tile_width(int64_t width) { return width <= 32 ? 32 : width <= 64 ? 64 : 128; }
unsigned row_bytes(int width) { return static_cast<unsigned>(width + 8) * 2; }

}  // namespace

bool has_aligned_rows(const Tensor& t) {
  bool aligned = t.stride(3) == 1 && reinterpret_cast<uintptr_t>(t.data()) % 16 == 0;
  for (int64_t d = 0; d < 3; d++) aligned = aligned && (t.size(d) == 1 || (t.stride(d) > 0 && t.stride(d) % 8 == 0));
  return aligned;
}
Tensor with_aligned_rows(const Tensor& t) {
  if (has_aligned_rows(t)) return t;
  Tensor dense = empty_on_device_of(t, t.sizes(), t.dtype());
  copy(dense, t);
  return dense;
}

bool flash_forward(const Tensor& out, const Tensor& lse, const AttentionInputs& in) {
  if (!is_supported(in) || !has_packed_rows(out)) return false;
  const AttentionShape& s = in.shape;
  Tensor q = with_aligned_rows(in.query), k = with_aligned_rows(in.key), v = with_aligned_rows(in.value);
  FlashParams p = params_of(s, q, k, v, in.mask);
  p.out = head_matrix(out);
  // Tiles are as large as the registers allow.
  int width = tile_width(s.width), rows = 128, keys = width == 128 ? 32 : 64,
      matrices = static_cast<int>(s.batch * s.heads);
  Launcher(out).run(flash_forward_kernel, {out.dtype(), width, rows / 64, keys, in.mask.defined()},
                    {.blocks = blocks_for(s.queries, rows) * matrices,
                     .threads = kThreads,
                     .shared_bytes = static_cast<unsigned>(rows + 4 * keys) * row_bytes(width)},
                    out.data(), lse.data(), q.data(), k.data(), v.data(), data_or_null(in.mask), p, matrices, s.causal);
  return true;
}

bool flash_backward(const AttentionGrads& to, const Tensor& grad, const AttentionInputs& in, const Tensor& out,
                    const Tensor& lse) {
  if (!is_supported(in)) return false;
  for (const Tensor* t : {&to.query, &to.key, &to.value})
    if (!has_packed_rows(*t)) return false;
  const AttentionShape& s = in.shape;
  Tensor q = with_aligned_rows(in.query), k = with_aligned_rows(in.key), v = with_aligned_rows(in.value),
         dy = with_aligned_rows(grad), delta = empty_on_device_of(out, lse.sizes(), DType::Float32);
  dot_rows(delta, out, grad);
  FlashParams p = params_of(s, q, k, v, in.mask);
  p.grad = head_matrix(dy);
  p.grad_query = head_matrix(to.query);
  p.grad_key = head_matrix(to.key);
  p.grad_value = head_matrix(to.value);
  int width = tile_width(s.width), rows = width == 128 ? 64 : 128, step = 32;
  LaunchShape shape{.threads = kThreads, .shared_bytes = static_cast<unsigned>(2 * rows + 4 * step) * row_bytes(width)};
  Launcher on(out);
  int matrices = static_cast<int>(s.batch * s.heads / s.group);
  shape.blocks = blocks_for(s.keys, rows) * matrices;
  on.run(flash_backward_keys, {out.dtype(), width, rows / 64, step, in.mask.defined()}, shape, to.key.data(),
         to.value.data(), dy.data(), q.data(), k.data(), v.data(), lse.data(), delta.data(), data_or_null(in.mask), p,
         matrices, s.causal);
  matrices = static_cast<int>(s.batch * s.heads);
  shape.blocks = blocks_for(s.queries, rows) * matrices;
  on.run(flash_backward_queries, {out.dtype(), width, rows / 64, step, in.mask.defined()}, shape, to.query.data(),
         dy.data(), q.data(), k.data(), v.data(), lse.data(), delta.data(), data_or_null(in.mask), p, matrices,
         s.causal);
  return true;
}

}  // namespace undertow::core::cuda
