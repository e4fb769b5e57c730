// pointwise.cpp: the general path: mixed dtypes, broadcasting, strides, outputs that exist.
#include "core/forward/pointwise.h"

#include "core/forward/copy.h"
#include "core/forward/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "core/tensor/promotion.h"

namespace undertow::fwd {

LoopFn PointwiseOp::checked_loop(DType t) const {
  LoopFn f = loop(t);
  UT_CHECK_AS(NotImplemented, f, "\"", name_, "\" not implemented for '", long_name(t), "'");
  return f;
}

DType PointwiseOp::compute_dtype(DType common) const {
  return promote_ == Promote::Float && is_integral(common) ? default_dtype() : common;
}
DType PointwiseOp::result_dtype(DType compute) const {
  return promote_ == Promote::Bool ? DType::Bool : promote_ == Promote::Real ? to_real(compute) : compute;
}

namespace {
struct alignas(16) Constant {
  char bytes[16];
  void set(const Scalar& s, DType t) {
    dispatch(t, [&](auto tag) {
      using T = typename decltype(tag)::type;
      *reinterpret_cast<T*>(bytes) = s.to<T>();
    });
  }
};

// The common case of `tensor op number` without the iterator.
Tensor with_number(const PointwiseOp& op, const Scalar* params, const Tensor& t, const Scalar& s, bool number_first) {
  DType compute = op.compute_dtype(result_type(t, s));
  LoopFn loop = op.loop(compute);
  if (UT_LIKELY(loop && compute == t.dtype() && t.is_contiguous() && t.numel() < 32768 && op.promote() <= Promote::Float)) {
    Constant c;
    c.set(s, compute);
    Tensor out = empty_same_shape(*t.impl(), compute);
    int64_t w = t.itemsize();
    char* p[3] = {out.data(), number_first ? c.bytes : t.data(), number_first ? t.data() : c.bytes};
    int64_t strides[3] = {w, number_first ? 0 : w, number_first ? w : 0};
    loop(p, strides, t.numel(), params);
    return out;
  }
  Operand operands[2] = {Operand(t), Operand(s)};
  if (number_first) std::swap(operands[0], operands[1]);
  return pointwise_slow(op, params, nullptr, operands);
}
}  // namespace

Tensor pointwise2(const PointwiseOp& op, const Scalar* params, const Tensor& a, const Scalar& b) { return with_number(op, params, a, b, false); }
Tensor pointwise2(const PointwiseOp& op, const Scalar* params, const Scalar& a, const Tensor& b) { return with_number(op, params, b, a, true); }

Tensor pointwise_slow(const PointwiseOp& op, const Scalar* params, const Tensor* out, std::span<const Operand> operands) {
  Promoter promoter;
  for (const Operand& o : operands) {
    if (o.tensor) promoter.add(*o.tensor);
    else promoter.add(*o.scalar);
  }
  DType compute = op.compute_dtype(promoter.result()), result = op.result_dtype(compute);
  LoopFn loop = op.checked_loop(compute);

  ElementwiseIter iter;
  Tensor target, staged;  // staged: when the output cannot be written directly
  SmallVector<Tensor, 4> inputs;
  SmallVector<Constant, 4> constants(operands.size());
  for (const Operand& o : operands) inputs.push_back(o.tensor ? (o.tensor->dtype() == compute ? *o.tensor : to_dtype(*o.tensor, compute)) : Tensor());
  if (out) {
    Dims shape;
    bool first = true;
    for (const Tensor& t : inputs) {
      if (!t.defined()) continue;
      shape = first ? Dims(t.sizes().begin(), t.sizes().end()) : broadcast_sizes(shape, t.sizes());
      first = false;
    }
    bool in_place = false;
    for (const Operand& o : operands) in_place |= o.tensor && o.tensor->is_same(*out);
    if (in_place) {
      UT_CHECK(same(out->sizes(), shape), "output with shape ", ShapeText{out->sizes()}, " doesn't match the broadcast shape ", ShapeText{shape});
    } else {
      resize_output(*out, shape);
    }
    UT_CHECK(can_cast(result, out->dtype()), "result type ", long_name(result), " can't be cast to the desired output type ", long_name(out->dtype()));
    for (const Operand& o : operands)
      if (o.tensor && !o.tensor->is_same(*out)) check_no_partial_overlap(*out, *o.tensor);
    bool direct = out->dtype() == result;
    for (const Tensor& t : inputs) direct &= !t.defined() || !partial_overlap(*out, t);
    if (direct) target = *out;
    else check_no_internal_overlap(*out);
  }
  iter.add_output(target, result);
  for (size_t i = 0; i < operands.size(); i++) {
    if (inputs[i].defined()) {
      iter.add_input(inputs[i]);
    } else {
      constants[i].set(*operands[i].scalar, compute);
      iter.add_constant(constants[i].bytes);
    }
  }
  iter.build();
  iter.for_each([&](char* const* p, const int64_t* s, int64_t n) { loop(p, s, n, params); });
  if (out && !target.defined()) {
    copy_into(*out, iter.output());
    return *out;
  }
  return iter.output();
}

void resize_output(const Tensor& out, IntSpan sizes) {
  if (same(out.sizes(), sizes)) return;
  if (out.numel() != 0)
    warn(str("An output with one or more elements was resized since it had shape ", ShapeText{out.sizes()},
             ", which does not match the required output shape ", ShapeText{sizes},
             ". This behavior is deprecated, and in a future release outputs will not be resized unless they have zero elements. "
             "You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0)."));
  TensorImpl* impl = out.impl();
  size_t need = static_cast<size_t>((product(sizes) + impl->offset) * out.itemsize());
  if (impl->storage->nbytes() < need) impl->storage->resize(need);
  impl->set_sizes(sizes);
}

}  // namespace undertow::fwd
