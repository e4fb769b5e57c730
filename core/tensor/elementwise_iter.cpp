// elementwise_iter.cpp: see elementwise_iter.h.
#include "core/tensor/elementwise_iter.h"

#include "core/tensor/layout.h"

namespace undertow::core {

void ElementwiseIter::add_output(const Tensor& t, DType dtype) {
  UT_ASSERT(count_ < kMaxOperands);
  operands_[count_++] = {t, nullptr, dtype, true, {}};
}
void ElementwiseIter::add_input(const Tensor& t) {
  UT_ASSERT(count_ < kMaxOperands);
  operands_[count_++] = {t, nullptr, t.dtype(), false, {}};
}
void ElementwiseIter::add_constant(const void* value) {
  UT_ASSERT(count_ < kMaxOperands);
  operands_[count_++] = {{}, value, DType::Float32, false, {}};
}

void ElementwiseIter::build() {
  bool first = true;
  for (size_t k = 0; k < count_; k++) {
    const Operand& o = operands_[k];
    if (o.is_output || o.constant) continue;
    if (first)
      shape_ = Dims(o.tensor.sizes().begin(), o.tensor.sizes().end());
    else if (!same(shape_, o.tensor.sizes()))
      shape_ = broadcast_sizes(shape_, o.tensor.sizes());
    first = false;
  }
  for (size_t k = 0; k < count_; k++)
    if (operands_[k].tensor.defined() && device_.is_cpu()) device_ = operands_[k].tensor.device();
  for (size_t k = 0; k < count_; k++) {
    const Operand& o = operands_[k];
    if (!o.is_output || !o.tensor.defined()) continue;
    if (first) shape_ = Dims(o.tensor.sizes().begin(), o.tensor.sizes().end());
    first = false;
    UT_CHECK(same(o.tensor.sizes(), shape_), "output with shape ", ShapeText{o.tensor.sizes()},
             " doesn't match the broadcast shape ", ShapeText{shape_});
    if (!allow_overlap_) check_no_internal_overlap(o.tensor);
  }
  numel_ = product(shape_);
  // Row-major operands of one shape are one loop. By far the most common case, so it is worth a test.
  bool dense = true;
  for (size_t k = 0; k < count_ && dense; k++) {
    const Tensor& t = operands_[k].tensor;
    dense = !t.defined() || (t.is_contiguous() && same(t.sizes(), shape_));
  }
  if (dense) {
    if (numel_ != 1) dims_.push_back(numel_);
    for (size_t k = 0; k < count_; k++) {
      Operand& o = operands_[k];
      if (o.is_output && !o.tensor.defined()) o.tensor = empty(shape_, o.dtype, device_);
      if (numel_ != 1) o.strides.push_back(o.constant ? 0 : o.tensor.itemsize());
    }
  } else {
    for (size_t k = 0; k < count_; k++) {
      Operand& o = operands_[k];
      o.strides = Dims(shape_.size(), 0);
      if (!o.tensor.defined()) continue;
      size_t shift = shape_.size() - o.tensor.sizes().size();
      for (size_t d = 0; d < o.tensor.sizes().size(); d++)
        o.strides[shift + d] =
            o.tensor.sizes()[d] == 1 && shape_[shift + d] != 1 ? 0 : o.tensor.strides()[d] * o.tensor.itemsize();
    }
    order_dimensions();
    allocate_outputs();
    merge_dimensions();
  }
  for (size_t k = 0; k < count_; k++)
    pointers_[k] = operands_[k].constant ? static_cast<char*>(const_cast<void*>(operands_[k].constant))
                                         : operands_[k].tensor.data();
}

// Orders the dimensions by ascending stride, innermost first. The first operand whose strides of two dimensions differ
// decides. Existing outputs come first, so that writes follow their layout. The sort is stable, so a contiguous tensor
// keeps its own order.
void ElementwiseIter::order_dimensions() {
  size_t n = shape_.size();
  perm_ = Dims(n);
  for (size_t i = 0; i < n; i++) perm_[i] = static_cast<int64_t>(n - 1 - i);
  // -1: a is already inside b; 1: swap them; 0: undecided.
  auto compare = [&](int64_t a, int64_t b) {
    for (size_t k = 0; k < count_; k++) {
      const Operand& o = operands_[k];
      if (!o.tensor.defined()) continue;
      int64_t sa = o.strides[a], sb = o.strides[b];
      if (sa == 0 || sb == 0) continue;
      if (sa < sb) return -1;
      if (sa > sb) return 1;
      if (shape_[a] > shape_[b]) return 1;
    }
    return 0;
  };
  for (size_t i = 1; i < n; i++) {
    size_t at = i;
    for (size_t j = i; j-- > 0;) {
      int c = compare(perm_[j], perm_[at]);
      if (c > 0) {
        std::swap(perm_[j], perm_[at]);
        at = j;
      } else if (c < 0) {
        break;
      }
    }
  }
}

void ElementwiseIter::allocate_outputs() {
  for (size_t k = 0; k < count_; k++) {
    Operand& o = operands_[k];
    if (!o.is_output || o.tensor.defined()) continue;
    Dims strides(shape_.size());
    int64_t stride = 1;
    for (int64_t d : perm_) {
      strides[d] = stride;
      stride *= shape_[d] > 1 ? shape_[d] : 1;
    }
    bool plain = true;
    for (size_t i = 0; i < perm_.size(); i++) plain &= perm_[i] == static_cast<int64_t>(perm_.size() - 1 - i);
    o.tensor = plain ? empty(shape_, o.dtype, device_) : empty_strided(shape_, strides, o.dtype, device_);
    for (size_t d = 0; d < shape_.size(); d++) o.strides[d] = o.tensor.strides()[d] * o.tensor.itemsize();
  }
}

void ElementwiseIter::merge_dimensions() {
  dims_.clear();
  Dims merged[kMaxOperands];
  for (int64_t d : perm_) {
    if (shape_[d] == 1) continue;
    bool joins = !dims_.empty();
    if (joins) {
      for (size_t k = 0; k < count_ && joins; k++) joins = operands_[k].strides[d] == merged[k].back() * dims_.back();
    }
    if (joins) {
      dims_.back() *= shape_[d];
      continue;
    }
    dims_.push_back(shape_[d]);
    for (size_t k = 0; k < count_; k++) merged[k].push_back(operands_[k].strides[d]);
  }
  for (size_t k = 0; k < count_; k++) operands_[k].strides = std::move(merged[k]);
}

namespace {
// The strides of dimensions of size 1 do not count.
bool same_layout(const Tensor& a, const Tensor& b) {
  if (!same(a.sizes(), b.sizes())) return false;
  for (int64_t d = 0; d < a.dim(); d++)
    if (a.size(d) != 1 && a.stride(d) != b.stride(d)) return false;
  return true;
}
}  // namespace

bool partial_overlap(const Tensor& a, const Tensor& b) {
  bool one_storage = &a.storage() == &b.storage();
  if (!one_storage && (a.storage().data() != b.storage().data() || !a.storage().data())) return false;
  if (a.numel() == 0 || b.numel() == 0) return false;
  if (a.data() == b.data() && same_layout(a, b)) return false;
  const char *a0 = a.data(), *a1 = a0 + storage_extent(a.sizes(), a.strides()) * a.itemsize();
  const char *b0 = b.data(), *b1 = b0 + storage_extent(b.sizes(), b.strides()) * b.itemsize();
  return a0 < b1 && b0 < a1;
}

namespace {

bool is_dense(const Tensor& t) { return is_non_overlapping_and_dense(t.sizes(), t.strides()); }

[[noreturn]] void raise_overlap(const Tensor& out, const Tensor& in) {
  UT_FAIL(
      "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
      "location. Please clone() the tensor before performing the operation. Shapes are ",
      ShapeText{in.sizes()}, " and ", ShapeText{out.sizes()});
}

}  // namespace

void check_no_partial_overlap(const Tensor& out, const Tensor& in) {
  if (UT_LIKELY(&out.storage() != &in.storage()) || !partial_overlap(out, in)) return;
  // Torch raises only for dense layouts. Other layouts are computed through a temporary.
  if (!is_dense(out) || !is_dense(in)) return;
  bool full = out.data() == in.data() && out.nbytes() == in.nbytes() && same(out.strides(), in.strides());
  if (!full) raise_overlap(out, in);
}

void check_no_overlap(const Tensor& out, const Tensor& in) {
  if (UT_LIKELY(&out.storage() != &in.storage()) || !out.numel() || !in.numel()) return;
  if (!is_dense(out) || !is_dense(in)) return;
  const char *a = out.data(), *b = in.data();
  if (a < b + in.nbytes() && b < a + out.nbytes()) raise_overlap(out, in);
}

void check_no_internal_overlap(const Tensor& t) {
  UT_CHECK(t.is_contiguous() || !has_internal_overlap(t.sizes(), t.strides()),
           "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
           "Please clone() "
           "the tensor before performing the operation. Its shape is ",
           ShapeText{t.sizes()}, " with strides ", ShapeText{t.strides()});
}

}  // namespace undertow::core
