// product_params.h: the parameters of the kernels for products. Included by the host and by device code, so it uses no
// other header; the includer has defined int64_t.
#pragma once

namespace undertow {

// Strides in elements. A batch stride of 0 repeats the matrix.
struct BatchedMatrix {
  int64_t batch, row, column;
};
// A factor of the product, in the form that the kernel's dtype needs.
struct ProductFactor {
  double real, imag;
  int64_t integer;
};
// c = alpha * a b + beta * d for `batch` products of an m by k and a k by n matrix. If beta is 0, d is not read.
struct ProductParams {
  int64_t batch, m, n, k;
  BatchedMatrix a, b, d, c;
  ProductFactor alpha, beta;
  bool beta_is_zero;
};

}  // namespace undertow
