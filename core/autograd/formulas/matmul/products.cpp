// products.cpp: operators that are compositions of products: outer, tensordot, linear, multi_dot and so on.
// build: small
#include "core/autograd/delegated/dispatched.h"
#include "core/autograd/formulas/formulas.h"
#include "core/forward/create/create.h"
#include "core/tensor/layout.h"

namespace undertow::core::ops {

Tensor outer_composite(const Tensor& self, const Tensor& vec2) {
  UT_CHECK(self.dim() == 1, "outer: Expected 1-D argument self, but got ", self.dim(), "-D");
  UT_CHECK(vec2.dim() == 1, "outer: Expected 1-D argument vec2, but got ", vec2.dim(), "-D");
  return reshape(self, Dims{self.size(0), 1}) * vec2;
}

Tensor inner_composite(const Tensor& self, const Tensor& other) {
  if (self.dim() == 0 || other.dim() == 0) return self * other;
  UT_CHECK(self.size(-1) == other.size(-1),
           "inner() the last dimension must match on both input tensors but got shapes ", ShapeText{self.sizes()},
           " and ", ShapeText{other.sizes()});
  return tensordot(self, other, Dims{-1}, Dims{-1});
}

Tensor tensordot_composite(const Tensor& self, const Tensor& other, IntSpan dims_self, IntSpan dims_other) {
  UT_CHECK(dims_self.size() == dims_other.size(), "both dimension lists should have same length, got ",
           ShapeText{dims_self}, " and ", ShapeText{dims_other});
  UT_CHECK(self.dtype() == other.dtype(), "both inputs should have same dtype, got ", self.dtype(), " and ",
           other.dtype());
  Tensor a = self, b = other;
  int64_t summed = 1, na = a.dim(), nb = b.dim();
  uint64_t in_a = dim_mask(dims_self, na, false), in_b = dim_mask(dims_other, nb, false);
  for (size_t i = 0; i < dims_self.size(); i++) {
    int64_t da = wrap_dim(dims_self[i], na), db = wrap_dim(dims_other[i], nb), sa = self.size(da), sb = other.size(db);
    if (sb == 1) {
      a = sum(a, IntSpan(Dims{da}), true, a.dtype());
    } else if (sa == 1) {
      b = sum(b, IntSpan(Dims{db}), true, b.dtype());
    } else {
      UT_CHECK(sa == sb, "contracted dimensions need to match, but first has size ", sa, " in dim ", dims_self[i],
               " and second has size ", sb, " in dim ", dims_other[i]);
      summed *= sa;
    }
  }
  Dims order_a, order_b, shape;
  int64_t rows = 1, columns = 1;
  for (int64_t d = 0; d < na; d++) {
    if (in_a >> d & 1) continue;
    order_a.push_back(d);
    rows *= a.size(d);
    shape.push_back(a.size(d));
  }
  for (int64_t d : dims_self) order_a.push_back(wrap_dim(d, na));
  for (int64_t d : dims_other) order_b.push_back(wrap_dim(d, nb));
  for (int64_t d = 0; d < nb; d++) {
    if (in_b >> d & 1) continue;
    order_b.push_back(d);
    columns *= b.size(d);
    shape.push_back(b.size(d));
  }
  if (na == 1 && nb == 1 && dims_self.size() == 1) return reshape(dot(permute(a, order_a), permute(b, order_b)), shape);
  return reshape(
      mm(reshape(permute(a, order_a), Dims{rows, summed}), reshape(permute(b, order_b), Dims{summed, columns})), shape);
}

Tensor kron_composite(const Tensor& self, const Tensor& other) {
  int64_t n = std::max(self.dim(), other.dim());
  Dims a(static_cast<size_t>(2 * n), 1), b(static_cast<size_t>(2 * n), 1), shape(static_cast<size_t>(n), 1);
  for (int64_t d = 0; d < n; d++) {
    size_t at = static_cast<size_t>(n - 1 - d);
    int64_t sa = d < self.dim() ? self.size(-1 - d) : 1, sb = d < other.dim() ? other.size(-1 - d) : 1;
    a[2 * at] = sa;
    b[2 * at + 1] = sb;
    shape[at] = sa * sb;
  }
  Tensor left = _unsafe_view(self, a), right = _unsafe_view(other, b), product = left * right;
  // The product has the layout of its operands, which the result keeps where it can.
  Dims strides;
  if (!view_strides(product.sizes(), product.strides(), shape, strides))
    product = clone(product, MemoryFormat::Contiguous);
  return _unsafe_view(product, shape);
}

Tensor linear_composite(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  int64_t d = input.dim();
  UT_CHECK(d != 0 && weight.dim() != 0, "both arguments to linear need to be at least 1D, but they are ", d, "D and ",
           weight.dim(), "D");
  if (!bias.defined()) return matmul(input, t(weight));
  if (d == 2) return addmm(bias, input, t(weight), Scalar(1), Scalar(1));
  if (input.is_contiguous()) {
    Dims shape(input.sizes());
    int64_t k = shape.back();
    shape.pop_back();
    Tensor rows = reshape(input, Dims{product(shape), k});
    Tensor flat = addmm(bias, rows, t(weight), Scalar(1), Scalar(1));
    shape.push_back(flat.size(1));
    return view(flat, shape);
  }
  Tensor out = matmul(input, t(weight));
  return bias.impl()->has(kDelegated) || is_dispatched(out, bias) ? out + bias : add_(out, bias, Scalar(1));
}

// y[n, k] = sum over i, j of a[n, i] w[k, i, j] b[n, j]: first over i as one product, then over j for each n.
Tensor bilinear_composite(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias) {
  UT_CHECK(weight.dim() == 3, "bilinear(): weight must be 3D, got shape ", ShapeText{weight.sizes()});
  UT_CHECK(input1.dim() == input2.dim(), "bilinear(): input dimensions do not match: got ", input1.dim(), " and ",
           input2.dim());
  for (int64_t d = 0; d + 1 < input1.dim(); d++)
    UT_CHECK(input1.size(d) == input2.size(d), "bilinear(): input batch dimensions do not match at dim ", d, ": got ",
             input1.size(d), " and ", input2.size(d));
  UT_CHECK(input1.size(-1) == weight.size(1), "bilinear(): input1 size does not match weight size: got ",
           input1.size(-1), " but expected ", weight.size(1));
  UT_CHECK(input2.size(-1) == weight.size(2), "bilinear(): input2 size does not match weight size: got ",
           input2.size(-1), " but expected ", weight.size(2));
  UT_CHECK(!bias.defined() || bias.size(0) == weight.size(0), "bilinear(): bias size does not match weight size: got ",
           bias.defined() ? bias.size(0) : 0, " but expected ", weight.size(0));
  int64_t k = weight.size(0), i = weight.size(1), j = weight.size(2);
  Dims shape(input1.sizes());
  shape.back() = k;
  int64_t n = i ? input1.numel() / i : product(IntSpan(shape).first(shape.size() - 1));
  // The second input first: the weight need not be transposed, and its gradient is row-major.
  Tensor right = reshape(mm(reshape(input2, Dims{n, j}), t(reshape(weight, Dims{k * i, j}))), Dims{n, k, i});
  Tensor out = reshape(bmm(right, reshape(input1, Dims{n, i, 1})), shape);
  return bias.defined() ? out + bias : out;
}

Tensor cross_composite(const Tensor& self, const Tensor& other, std::optional<int64_t> dim) {
  if (dim) return linalg_cross(self, other, *dim);
  for (int64_t d = 0; d < self.dim(); d++)
    if (self.size(d) == 3) return linalg_cross(self, other, d);
  UT_FAIL("no dimension of size 3 in input of shape ", ShapeText{self.sizes()});
}

Tensor vecdot_composite(const Tensor& x, const Tensor& y, int64_t dim) {
  UT_CHECK(is_differentiable(x.dtype()), "linalg.vecdot: Expected a floating point or complex tensor as input. Got ",
           long_name(x.dtype()));
  UT_CHECK(x.dtype() == y.dtype(), "linalg.vecdot: Expected x and y to have the same dtype, but found x of type ",
           long_name(x.dtype()), " and y of type ", long_name(y.dtype()), " instead");
  if (x.dim() == 1 && y.dim() == 1) return vdot(x, y);
  return sum(conj(x) * y, IntSpan(Dims{dim}), false, std::nullopt);
}

namespace {

void check_chain(TensorSpan tensors) {
  size_t n = tensors.size();
  UT_CHECK(n >= 2, "multi_dot(): expected at least 2 tensors but got ", n);
  const Tensor &first = tensors.front(), &last = tensors.back();
  UT_CHECK(first.dim() == 1 || first.dim() == 2, "multi_dot(): the first tensor must be 1D or 2D but got ", first.dim(),
           "D");
  UT_CHECK(last.dim() == 1 || last.dim() == 2, "multi_dot(): the last tensor must be 1D or 2D but got ", last.dim(),
           "D");
  for (size_t i = 1; i + 1 < n; i++)
    UT_CHECK(tensors[i].dim() == 2, "multi_dot(): tensor ", i, " must be 2D but got ", tensors[i].dim(), "D");
  for (size_t i = 1; i < n; i++)
    UT_CHECK(tensors[i].dtype() == first.dtype(),
             "multi_dot(): all tensors must have be the same dtype but tensor 0 is ", fwd::meta_name(first.dtype()),
             " and tensor ", i, " ", fwd::meta_name(tensors[i].dtype()));
  for (size_t i = 0; i + 1 < n; i++)
    UT_CHECK(tensors[i].size(-1) == tensors[i + 1].size(0), "multi_dot(): tensors ", i, " and ", i + 1, " with shapes ",
             ShapeText{tensors[i].sizes()}, " and ", ShapeText{tensors[i + 1].sizes()}, " cannot be multiplied");
}

// split[i][j]: the matrix after which to split the product of i..j; the textbook dynamic programming.
std::vector<std::vector<size_t>> best_splits(const std::vector<Tensor>& m) {
  size_t n = m.size();
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  std::vector<std::vector<size_t>> split(n, std::vector<size_t>(n, 0));
  for (size_t length = 1; length < n; length++)
    for (size_t i = 0; i + length < n; i++) {
      size_t j = i + length;
      cost[i][j] = std::numeric_limits<double>::infinity();
      for (size_t k = i; k < j; k++) {
        double c =
            cost[i][k] + cost[k + 1][j] +
            static_cast<double>(m[i].size(0)) * static_cast<double>(m[k].size(1)) * static_cast<double>(m[j].size(1));
        if (c < cost[i][j] || (n == 3 && c == cost[i][j])) {  // of equals torch takes (AB)C
          cost[i][j] = c;
          split[i][j] = k;
        }
      }
    }
  return split;
}
Tensor multiply_chain(const std::vector<Tensor>& m, const std::vector<std::vector<size_t>>& split, size_t i, size_t j) {
  if (i == j) return m[i];
  return mm(multiply_chain(m, split, i, split[i][j]), multiply_chain(m, split, split[i][j] + 1, j));
}

}  // namespace

Tensor multi_dot_composite(TensorSpan tensors) {
  check_chain(tensors);
  std::vector<Tensor> m(tensors.begin(), tensors.end());
  Dims shape;
  if (m.front().dim() == 1)
    m.front() = unsqueeze(m.front(), 0);
  else
    shape.push_back(m.front().size(0));
  if (m.back().dim() == 1)
    m.back() = unsqueeze(m.back(), -1);
  else
    shape.push_back(m.back().size(1));
  return view(multiply_chain(m, best_splits(m), 0, m.size() - 1), shape);
}

Tensor matrix_power_composite(const Tensor& self, int64_t n) {
  UT_CHECK(self.dim() >= 2, "linalg.matrix_power: The input tensor A must have at least 2 dimensions.");
  UT_CHECK(self.size(-1) == self.size(-2), "linalg.matrix_power: A must be batches of square matrices, but they are ",
           self.size(-2), " by ", self.size(-1), " matrices");
  if (n == 0) {
    Tensor out = clone(self, MemoryFormat::Contiguous);
    return copy_(out, expand(eye(self.size(-1), self.dtype(), self.device()), self.sizes(), false), false);
  }
  Tensor a = n < 0 ? inv_composite(self) : self;
  uint64_t times = n < 0 ? 0 - static_cast<uint64_t>(n) : static_cast<uint64_t>(n);
  if (times == 1) return n < 0 ? a : clone(a, MemoryFormat::Contiguous);
  if (times == 3) return matmul(matmul(a, a), a);
  Tensor power = a, out;
  for (; times; times /= 2) {
    if (times % 2) out = out.defined() ? matmul(out, power) : power;
    if (times > 1) power = matmul(power, power);
  }
  return out;
}

}  // namespace undertow::core::ops
