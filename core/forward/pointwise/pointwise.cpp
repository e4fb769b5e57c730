// pointwise.cpp: the general path: mixed dtypes, broadcasting, strides, given outputs.
#include "core/forward/pointwise/pointwise.h"

#include "core/forward/copy/copy.h"
#include "core/kernels/backend.h"
#include "core/tensor/dtype/promotion.h"
#include "core/tensor/dtype/storage_dtypes.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "core/tensor/storage/storage_size.h"

namespace undertow::core::fwd {

namespace {
struct alignas(16) Constant {
  char bytes[16];
  void set(const Scalar& s, DType t) {
    dispatch(t, [&](auto tag) {
      using T = typename decltype(tag)::type;
      *reinterpret_cast<T*>(bytes) = s.to<T>();
    });
  }
  // Sets it to the only element of a tensor, converted.
  void set(const Tensor& value, DType t) {
    if (UT_UNLIKELY(is_storage(value.dtype()))) return set(to_dtype(value, carrier_from(value.dtype(), t)), t);
    dispatch(value.dtype(), [&](auto from) {
      auto v = *value.data_as<typename decltype(from)::type>();
      dispatch(t, [&](auto to) {
        using T = typename decltype(to)::type;
        *reinterpret_cast<T*>(bytes) = convert<T>(v);
      });
    });
  }
};

// Computes `tensor op number` without the iterator, if the tensor is contiguous and small.
bool is_plain(const Tensor& t, DType compute) {
  return t.dtype() == compute && t.is_contiguous() && t.is_cpu() && t.numel() < kDirectLoop;
}
Tensor with_constant(const PointwiseOp& op, LoopFn loop, const Scalar* params, const Tensor& t, Constant& c,
                     bool constant_first) {
  Tensor out = empty_same_shape(*t.impl(), op.result_dtype(t.dtype()));
  int64_t w = t.itemsize();
  char* p[3] = {out.data(), constant_first ? c.bytes : t.data(), constant_first ? t.data() : c.bytes};
  int64_t strides[3] = {out.itemsize(), constant_first ? 0 : w, constant_first ? w : 0};
  loop(p, strides, t.numel(), params);
  return out;
}
Tensor with_number(const PointwiseOp& op, const Scalar* params, const Tensor& t, const Scalar& s, bool number_first) {
  DType compute = op.compute_dtype(result_type(t, s));
  LoopFn loop = op.loop(compute);
  if (UT_LIKELY(loop && is_plain(t, compute))) {
    Constant c;
    c.set(s, compute);
    return with_constant(op, loop, params, t, c, number_first);
  }
  Operand operands[2] = {Operand(t), Operand(s)};
  if (number_first) std::swap(operands[0], operands[1]);
  return pointwise_slow(op, params, nullptr, operands);
}
}  // namespace

Tensor pointwise2(const PointwiseOp& op, const Scalar* params, const Tensor& a, const Scalar& b) {
  return with_number(op, params, a, b, false);
}
Tensor pointwise2(const PointwiseOp& op, const Scalar* params, const Scalar& a, const Tensor& b) {
  return with_number(op, params, b, a, true);
}

Tensor pointwise2_mixed(const PointwiseOp& op, const Scalar* params, const Tensor& a, const Tensor& b) {
  if ((a.dim() == 0) != (b.dim() == 0)) {
    bool first = a.dim() == 0;
    const Tensor &t = first ? b : a, &value = first ? a : b;
    DType compute = op.compute_dtype(result_type(a, b));
    LoopFn loop = op.loop(compute);
    if (loop && is_plain(t, compute) && value.is_cpu()) {
      Constant c;
      c.set(value, compute);
      return with_constant(op, loop, params, t, c, first);
    }
  }
  Operand operands[] = {a, b};
  return pointwise_slow(op, params, nullptr, operands);
}

namespace {
// Computes with the storage dtype `compute` in its carrier. See Note [Storage DTypes].
[[gnu::cold]] Tensor carried(const PointwiseOp& op, const Scalar* params, const Tensor* out,
                             std::span<const Operand> operands, DType compute) {
  DType carrier = op.carrier(compute, operands.size()), result = op.result_dtype(compute);
  // As in torch, whose loops of a tensor and a number know fewer dtypes.
  for (const Operand& o : operands)
    if (!o.tensor && is_float8(result)) throw_not_implemented(op.name(), compute);
  SmallVector<Tensor, 4> values(operands.size());
  SmallVector<Operand, 4> wide;
  for (size_t i = 0; i < operands.size(); i++) {
    Tensor value;
    if (operands[i].tensor) {
      value = to_dtype(*operands[i].tensor, compute);
    } else {
      value = empty({}, compute, kCpu);
      write_element(compute, *operands[i].scalar, value.data());
    }
    values[i] = to_dtype(value, carrier);
    if (!operands[i].tensor) values[i].impl()->set(kWrappedNumber);
    wide.push_back(Operand(values[i]));
  }
  Tensor made = to_dtype(pointwise_slow(op, params, nullptr, wide), result);
  if (!out) return made;
  if (std::none_of(operands.begin(), operands.end(),
                   [&](const Operand& o) { return o.tensor && o.tensor->is_same(*out); }))
    resize_output(*out, made.sizes());
  UT_CHECK(can_cast(result, out->dtype()), "result type ", long_name(result),
           " can't be cast to the desired output type ", long_name(out->dtype()));
  copy_into(*out, made);
  return *out;
}
}  // namespace

Tensor pointwise_slow(const PointwiseOp& op, const Scalar* params, const Tensor* out,
                      std::span<const Operand> operands) {
  Promoter promoter;
  for (const Operand& o : operands) {
    if (o.tensor)
      promoter.add(*o.tensor);
    else
      promoter.add(*o.scalar);
  }
  DType compute = op.compute_dtype(promoter.result()), result = op.result_dtype(compute);
  if (UT_UNLIKELY(is_storage(compute))) return carried(op, params, out, operands, compute);
  op.check_dtype(compute);
  ElementwiseIter iter;
  Tensor target;
  SmallVector<Tensor, 4> inputs;
  SmallVector<Constant, 4> constants(operands.size());
  bool dimensioned = false, elsewhere = false;
  for (const Operand& o : operands) {
    dimensioned |= o.tensor && o.tensor->dim() > 0;
    elsewhere |= o.tensor && !o.tensor->is_cpu();
  }
  for (size_t i = 0; i < operands.size(); i++) {
    const Tensor* t = operands[i].tensor;
    inputs.push_back(Tensor());
    if (!t)
      constants[i].set(*operands[i].scalar, compute);
    else if (t->dim() == 0 && t->is_cpu() && (elsewhere || (dimensioned && t->dtype() != compute)))
      constants[i].set(*t, compute);
    else if (t->dtype() == compute)
      inputs.back() = *t;
    else
      inputs.back() = to_dtype(*t, compute);
  }
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
      UT_CHECK(same(out->sizes(), shape), "output with shape ", ShapeText{out->sizes()},
               " doesn't match the broadcast shape ", ShapeText{shape});
    } else {
      resize_output(*out, shape);
    }
    UT_CHECK(can_cast(result, out->dtype()), "result type ", long_name(result),
             " can't be cast to the desired output type ", long_name(out->dtype()));
    for (const Operand& o : operands)
      if (o.tensor && !o.tensor->is_same(*out)) check_no_partial_overlap(*out, *o.tensor);
    bool direct = out->dtype() == result;
    for (const Tensor& t : inputs) direct &= !t.defined() || !partial_overlap(*out, t);
    if (direct)
      target = *out;
    else
      check_no_internal_overlap(*out);
  }
  iter.add_output(target, result);
  for (size_t i = 0; i < operands.size(); i++) {
    if (inputs[i].defined())
      iter.add_input(inputs[i]);
    else
      iter.add_constant(constants[i].bytes);
  }
  iter.build();
  backend_of(iter.device()).pointwise->run(op, compute, iter, params);
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
             ". This behavior is deprecated, and in a future release outputs will not be resized unless they have zero "
             "elements. "
             "You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0)."));
  TensorImpl* impl = out.impl();
  size_t need = storage_bytes(sizes, impl->offset, out.itemsize());
  if (impl->storage->nbytes() < need) impl->storage->resize(need);
  impl->set_sizes(sizes);
}

}  // namespace undertow::core::fwd
