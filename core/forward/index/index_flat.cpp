// index_flat.cpp: a tensor viewed as one dimension: take, put, unravel_index.
// build: small
#include "core/forward/index/index_common.h"

#include "core/forward/copy/copy.h"
#include "core/kernels/backend.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "generated/fwd_index.h"

namespace undertow::core::fwd {

namespace {
// t as one dimension, with elements `stride` bytes apart.
IndexedDim all_elements(const Tensor& t, int64_t stride) {
  return {0, t.numel(), stride, true, [](int64_t position, int64_t, int64_t size) {
            UT_FAIL_AS(Index, "out of range: tried to access index ", position, " on a tensor of ", size, " elements.");
          }};
}
Tensor flat(const Tensor& t) { return with_layout(t, Dims{t.numel()}, Dims{1}); }
}  // namespace

Tensor take(const Tensor& self, const Tensor& index) {
  if (is_storage(self.dtype())) throw_not_implemented("take_cpu", self.dtype());
  UT_CHECK(index.dtype() == DType::Int64, "take(): Expected a long tensor for index, but got ",
           long_name(index.dtype()));
  UT_CHECK_INDEX(self.numel() > 0 || index.numel() == 0, "take(): tried to take from an empty tensor");
  Tensor at = contiguous(index), out = empty_on_device_of(self, index.sizes(), self.dtype());
  IndexedDim dim = all_elements(self, self.itemsize());
  backend_of(self).index->read_rows(out, flat(contiguous(self)), 0, {&at, 1}, {&dim, 1});
  return out;
}

void put_out(const Tensor& out, const Tensor&, const Tensor& index, const Tensor& source, bool accumulate) {
  UT_CHECK(index.dtype() == DType::Int64, "put_(): Expected a long tensor for index, but got ",
           long_name(index.dtype()));
  UT_CHECK(out.dtype() == source.dtype(),
           "put_(): self and source expected to have the same dtype, but got self.dtype = ", long_name(out.dtype()),
           " and source.dtype = ", long_name(source.dtype()));
  UT_CHECK_INDEX(source.numel() == index.numel(),
                 "put_(): Expected source and index to have the same number of elements, but got source.numel() = ",
                 source.numel(), ", index.numel() = ", index.numel());
  UT_CHECK_INDEX(out.numel() > 0 || index.numel() == 0, "put_(): Tried to put elements into an empty tensor");
  check_no_internal_overlap(out);
  check_no_overlap(out, index);
  check_no_overlap(out, source);
  Tensor offsets = flat(byte_offsets(index, all_elements(out, out.is_contiguous() ? out.itemsize() : 1)));
  Tensor from = flat(copy_if_overlapping(out, contiguous(source)));
  const IndexKernels& kernels = *backend_of(out).index;
  if (!out.is_contiguous()) kernels.flat_to_offsets(offsets, out);
  kernels.write(with_layout(out, offsets.sizes(), Dims{0}), offsets, 0, from, accumulate ? Update::Add : Update::Set);
}
Tensor put(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  Tensor out = clone_preserve(self);
  put_out(out, self, index, source, accumulate);
  return out;
}

std::vector<Tensor> unravel_index(const Tensor& indices, IntSpan shape) {
  UT_CHECK_TYPE(is_integral(indices.dtype()) && indices.dtype() != DType::Bool,
                "expected 'indices' to be integer dtype, but got undertow.", name(indices.dtype()));
  for (int64_t s : shape) UT_CHECK_VALUE(s >= 0, "'shape' cannot have negative values, but got ", ShapeText{shape});
  Tensor in = contiguous(as_int64(indices));
  std::vector<Tensor> out;
  out.reserve(shape.size());
  for (size_t d = 0; d < shape.size(); d++) out.push_back(empty_on_device_of(in, indices.sizes(), DType::Int64));
  backend_of(in).index->unravel(out, in, shape);
  return out;
}

}  // namespace undertow::core::fwd
