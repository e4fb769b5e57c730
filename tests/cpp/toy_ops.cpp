// toy_ops.cpp: the operators of graph/tensor_ops.h for builds of the engine alone: float32, row-major, never recorded.
#include <algorithm>
#include <cmath>

#include "core/graph/autograd_meta.h"
#include "core/graph/engine/aggregate.h"
#include "core/graph/tensor_ops.h"
#include "core/tensor/layout.h"
#include "core/tensor/storage/device_memory.h"

namespace undertow::core {

namespace graph_ops {

namespace {
void check_plain(const Tensor& t) { UT_ASSERT(t.dtype() == DType::Float32 && t.is_contiguous()); }
}  // namespace

Tensor clone(const Tensor& t) {
  check_plain(t);
  Tensor out = empty(t.sizes(), t.dtype());
  std::copy_n(t.data_as<float>(), t.numel(), out.data_as<float>());
  return out;
}
void add_in_place(const Tensor& a, const Tensor& b) {
  check_plain(a);
  check_plain(b);
  UT_ASSERT(a.numel() == b.numel());
  for (int64_t i = 0; i < a.numel(); i++) a.data_as<float>()[i] += b.data_as<float>()[i];
  a.bump_version("add_");
}
Tensor add(const Tensor& a, const Tensor& b) {
  Tensor out = clone(a);
  add_in_place(out, b);
  return out;
}
Tensor add_n(std::span<const Tensor> terms) {
  Tensor out = clone(terms[0]);
  for (const Tensor& t : terms.subspan(1)) add_in_place(out, t);
  return out;
}
Tensor sum_to(const Tensor& t, IntSpan sizes) {
  check_plain(t);
  Tensor out = empty(sizes, t.dtype());
  UT_ASSERT(out.numel() == 1);  // the tests need no more
  out.data_as<float>()[0] = 0;
  for (int64_t i = 0; i < t.numel(); i++) out.data_as<float>()[0] += t.data_as<float>()[i];
  return out;
}
Tensor cast(const Tensor& t, DType dtype) {
  UT_ASSERT(t.dtype() == dtype);
  return t;
}
Tensor real(const Tensor& t) { return t; }
Tensor clone_into_layout_of(const Tensor& t, const TensorImpl*) { return clone(t); }
bool is_exclusive_sparse(const Tensor&) { return false; }
Tensor detach(const Tensor& t) { return alias(t); }
bool has_nan(const Tensor& t) {
  return std::any_of(t.data_as<float>(), t.data_as<float>() + t.numel(), [](float x) { return std::isnan(x); });
}

ValueKind classify(const Tensor& t) {
  if (!t.defined()) return ValueKind::Undefined;
  ValueKind worst = ValueKind::Zero;
  for (const float* x = t.data_as<float>(); x < t.data_as<float>() + t.numel(); x++)
    worst = std::max(worst, std::isnan(*x)   ? ValueKind::Nan
                            : std::isinf(*x) ? ValueKind::Infinite
                            : *x != 0        ? ValueKind::Finite
                                             : ValueKind::Zero);
  return worst;
}

}  // namespace graph_ops

const DeviceMemory& device_memory(Device) { UT_FAIL("toy tensors are on the CPU"); }
void regenerate_view_grad_fn(const Tensor&) { UT_ASSERT(false, "toy tensors are no views"); }

}  // namespace undertow::core
