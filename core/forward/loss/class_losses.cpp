// class_losses.cpp: classification losses: forward functions of ops/loss.toml. The elementwise ones are in
// elementwise_losses.cpp.
#include "core/forward/loss/loss.h"

#include "core/forward/copy/copy.h"
#include "core/kernels/backend.h"
#include "core/tensor/layout.h"
#include "generated/fwd.h"

namespace undertow::core::fwd {

namespace {

ClassGeometry check_nll(IntSpan sizes, const Tensor& target, const Tensor& weight, bool spatial) {
  int64_t dim = static_cast<int64_t>(sizes.size());
  if (!spatial) {
    UT_CHECK(dim > 0 && dim <= 2, "input tensor should be 1D or 2D, got shape ", ShapeText{sizes});
    UT_CHECK(target.dim() <= 1, "0D or 1D target tensor expected, multi-target not supported");
    UT_CHECK(dim == 1 || (target.dim() == 1 && target.size(0) == sizes[0]),
             "size mismatch (got input: ", ShapeText{sizes}, " , target: ", ShapeText{target.sizes()}, ")");
    UT_CHECK(dim != 1 || target.dim() == 0 || target.numel() == 1, "size mismatch (got input: ", ShapeText{sizes},
             " , target: ", ShapeText{target.sizes()}, ")");
  } else {
    UT_CHECK(target.dim() == dim - 1,
             "only batches of spatial targets supported (3D tensors) but got targets of dimension: ", target.dim());
    bool match = sizes[0] == target.size(0);
    for (int64_t d = 2; d < dim; d++) match &= sizes[static_cast<size_t>(d)] == target.size(d - 1);
    UT_CHECK(match, "size mismatch (got input: ", ShapeText{sizes}, " , target: ", ShapeText{target.sizes()}, ")");
  }
  int64_t c = dim == 1 ? sizes[0] : sizes[1];
  UT_CHECK(!weight.defined() || (weight.dim() == 1 && weight.numel() == c),
           "weight tensor should be defined either for all ", c,
           " classes or no classes but got weight tensor of shape: ",
           ShapeText{weight.defined() ? weight.sizes() : IntSpan()});
  UT_CHECK(target.dtype() == DType::Int64 || target.dtype() == DType::UInt8,
           "expected target dtype to be Long or Byte, but got ", long_name(target.dtype()));
  return {dim == 1 ? 1 : sizes[0], c, spatial ? product(sizes.subspan(2)) : 1};
}

std::tuple<Tensor, Tensor> nll(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                               int64_t ignore, bool spatial) {
  ClassGeometry g = check_nll(self.sizes(), target, weight, spatial);
  UT_CHECK(!weight.defined() || weight.dtype() == self.dtype(), "expected scalar type ", long_name(self.dtype()),
           " but found ", long_name(weight.defined() ? weight.dtype() : self.dtype()), " of the weight");
  if (!is_floating(self.dtype())) throw_not_implemented("nll_loss_out_frame", self.dtype());
  DType wide = is_reduced_float(self.dtype()) ? DType::Float32 : self.dtype();
  const bool fused = backend_of(self).fuses_reductions;  // such a kernel converts only the one score of each item
  Tensor in = contiguous(fused ? self : to_dtype(self, wide)), at = contiguous(to_dtype(target, DType::Int64));
  Tensor w = weight.defined() ? contiguous(to_dtype(weight, wide)) : Tensor();
  if (fused && reduction != kNone) {
    Tensor out = empty_on_device_of(self, {}, self.dtype()), total = empty_on_device_of(self, {}, self.dtype());
    backend_of(self).loss->nll_total(out, total, in, at, w, g, ignore, reduction == kMean);
    return {out, total};
  }
  Tensor each = empty_on_device_of(self, self.dim() == 1 ? IntSpan() : target.sizes(), wide),
         total = zeros_on_device_of(self, {}, wide);
  backend_of(self).loss->nll(each, total, in, at, w, g, ignore, reduction != kNone);
  if (reduction == kNone) return {to_dtype(each, self.dtype()), to_dtype(total, self.dtype())};
  Tensor out = sum(each, std::nullopt);
  if (reduction == kMean) out = div(out, total);
  return {to_dtype(out, self.dtype()), to_dtype(total, self.dtype())};
}

}  // namespace

std::tuple<Tensor, Tensor> nll_loss_forward(const Tensor& self, const Tensor& target, const Tensor& weight,
                                            int64_t reduction, int64_t ignore_index) {
  return nll(self, target, weight, reduction, ignore_index, self.dim() > 2);
}
std::tuple<Tensor, Tensor> nll_loss2d_forward(const Tensor& self, const Tensor& target, const Tensor& weight,
                                              int64_t reduction, int64_t ignore_index) {
  return nll(self, target, weight, reduction, ignore_index, true);
}

Tensor nll_loss_backward(const Tensor& grad_output, IntSpan sizes, const Tensor& target, const Tensor& weight,
                         int64_t reduction, int64_t ignore_index, const Tensor& total_weight) {
  if (!is_floating(grad_output.dtype())) throw_not_implemented("nll_loss_backward_out_frame", grad_output.dtype());
  ClassGeometry g = check_nll(sizes, target, weight, sizes.size() > 2);
  int64_t wanted = reduction == kNone ? g.n * g.space : 1;
  UT_CHECK(grad_output.numel() == wanted && total_weight.numel() == 1, "Expected ", wanted,
           " elements in grad_output and one in total_weight, got ", grad_output.numel(), " and ",
           total_weight.numel());
  const DType given = grad_output.dtype(), wide = is_reduced_float(given) ? DType::Float32 : given,
              computed = backend_of(grad_output).fuses_reductions ? given : wide;
  Tensor grad = contiguous(to_dtype(grad_output, computed)), at = contiguous(to_dtype(target, DType::Int64)),
         out = zeros_on_device_of(grad, sizes, computed);
  Tensor w = weight.defined() ? contiguous(to_dtype(weight, wide)) : Tensor(), total = to_dtype(total_weight, computed);
  backend_of(grad).loss->nll_backward(out, grad, at, w, total, g, ignore_index, reduction);
  return to_dtype(out, given);
}

}  // namespace undertow::core::fwd
