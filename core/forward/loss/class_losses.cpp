// class_losses.cpp: losses of a class among several: forward functions of ops/loss.toml. The elementwise ones are
// elementwise_losses.cpp's.
#include "core/forward/loss/loss.h"

#include "core/forward/copy/copy.h"
#include "core/forward/reduce/lines.h"
#include "generated/fwd.h"

namespace undertow::fwd {

namespace {

// The geometry of a classification: n items of c classes at `space` points; a single item may come without its batch
// dim.
struct Classes {
  int64_t n, c, space;
};

Classes check_nll(IntSpan sizes, const Tensor& target, const Tensor& weight, bool spatial) {
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

int64_t checked_class(int64_t t, int64_t c) {
  UT_CHECK_INDEX(t >= 0 && t < c, "Target ", t, " is out of bounds.");
  return t;
}

std::tuple<Tensor, Tensor> nll(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                               int64_t ignore, bool spatial) {
  Classes g = check_nll(self.sizes(), target, weight, spatial);
  UT_CHECK(!weight.defined() || weight.dtype() == self.dtype(), "expected scalar type ", long_name(self.dtype()),
           " but found ", long_name(weight.defined() ? weight.dtype() : self.dtype()), " of the weight");
  UT_CHECK_AS(NotImplemented, is_floating(self.dtype()), "\"nll_loss_out_frame\" not implemented for '",
              long_name(self.dtype()), "'");
  DType wide = is_reduced_float(self.dtype()) ? DType::Float32 : self.dtype();
  Tensor in = contiguous(to_dtype(self, wide)), at = contiguous(to_dtype(target, DType::Int64));
  Tensor w = weight.defined() ? contiguous(to_dtype(weight, wide)) : Tensor();
  Tensor each = empty(self.dim() == 1 ? IntSpan() : target.sizes(), wide), total = zeros({}, wide);
  double weights = 0;
  auto run = [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *p = in.data_as<T>(), *wp = w.defined() ? w.data_as<T>() : nullptr;
    const int64_t* y = at.data_as<int64_t>();
    for (int64_t i = 0; i < g.n * g.space; i++) {
      if (y[i] == ignore) {
        each.data_as<T>()[i] = 0;
        continue;
      }
      int64_t c = checked_class(y[i], g.c);
      T scale = wp ? wp[c] : T(1);
      weights += static_cast<double>(scale);
      each.data_as<T>()[i] = -p[(i / g.space * g.c + c) * g.space + i % g.space] * scale;
    }
    *total.data_as<T>() = reduction == kNone ? T(0) : static_cast<T>(weights);
  };
  if (wide == DType::Float32)
    run(TypeTag<float>{});
  else
    run(TypeTag<double>{});
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
  UT_CHECK_AS(NotImplemented, is_floating(grad_output.dtype()), "\"nll_loss_backward_out_frame\" not implemented for '",
              long_name(grad_output.dtype()), "'");
  Classes g = check_nll(sizes, target, weight, sizes.size() > 2);
  int64_t wanted = reduction == kNone ? g.n * g.space : 1;
  UT_CHECK(grad_output.numel() == wanted && total_weight.numel() == 1, "Expected ", wanted,
           " elements in grad_output and one in total_weight, got ", grad_output.numel(), " and ",
           total_weight.numel());
  DType wide = is_reduced_float(grad_output.dtype()) ? DType::Float32 : grad_output.dtype();
  Tensor grad = contiguous(to_dtype(grad_output, wide)), at = contiguous(to_dtype(target, DType::Int64)),
         out = zeros(sizes, wide);
  Tensor w = weight.defined() ? contiguous(to_dtype(weight, wide)) : Tensor(), total = to_dtype(total_weight, wide);
  auto run = [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *gp = grad.data_as<T>(), *wp = w.defined() ? w.data_as<T>() : nullptr;
    const int64_t* y = at.data_as<int64_t>();
    T shared = reduction == kMean ? gp[0] / *total.data_as<T>() : reduction == kSum ? gp[0] : T(0);
    for (int64_t i = 0; i < g.n * g.space; i++) {
      if (y[i] == ignore_index) continue;
      int64_t c = checked_class(y[i], g.c);
      out.data_as<T>()[(i / g.space * g.c + c) * g.space + i % g.space] =
          -(reduction == kNone ? gp[i] : shared) * (wp ? wp[c] : T(1));
    }
  };
  if (wide == DType::Float32)
    run(TypeTag<float>{});
  else
    run(TypeTag<double>{});
  return to_dtype(out, grad_output.dtype());
}

}  // namespace undertow::fwd
