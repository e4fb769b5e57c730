// index_flat.cpp: a tensor seen as one dimension: take, put, unravel_index.
#include "core/forward/index/index_common.h"

#include "core/forward/copy/copy.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "generated/fwd_index.h"

namespace undertow::fwd {

namespace {
void check_positions(const Tensor& index, int64_t n) {
  if (auto bad = first_outside(index, -n, n))
    UT_FAIL_AS(Index, "out of range: tried to access index ", *bad, " on a tensor of ", n, " elements.");
}
}  // namespace

Tensor take(const Tensor& self, const Tensor& index) {
  UT_CHECK(index.dtype() == DType::Int64, "take(): Expected a long tensor for index, but got ",
           long_name(index.dtype()));
  UT_CHECK_INDEX(self.numel() > 0 || index.numel() == 0, "take(): tried to take from an empty tensor");
  Tensor from = contiguous(self), at = contiguous(index), out = empty(index.sizes(), self.dtype());
  cpu::Positions list{at.data_as<int64_t>(), self.numel(), self.itemsize(), true};
  if (UT_UNLIKELY(!cpu::read_rows({out.data(), from.data(), 1, 0, 1, self.itemsize()}, {&list, 1}, at.numel())))
    check_positions(at, self.numel());
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
  check_positions(index, out.numel());
  Tensor from = contiguous(source);
  if (out.numel() && &from.storage() == &out.storage()) from = clone_preserve(from);
  int64_t w = out.itemsize();
  Tensor offsets = byte_offsets(index, out.numel(), out.is_contiguous() ? w : 1);
  int64_t* o = offsets.data_as<int64_t>();
  if (!out.is_contiguous()) {
    for (int64_t k = 0; k < offsets.numel(); k++) {
      int64_t rest = o[k], at = 0;
      for (int64_t d = out.dim(); d-- > 0; rest /= out.size(d)) at += rest % out.size(d) * out.stride(d);
      o[k] = at * w;
    }
  }
  cpu::IndexUpdate u;
  u.dst = out.data();
  u.src = from.data();
  u.dst_offsets = o;
  u.src_step = w;
  u.count = offsets.numel();
  cpu::run_update(u, out.dtype(), accumulate ? Update::Add : Update::Set);
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
  for (size_t d = 0; d < shape.size(); d++) out.push_back(empty(indices.sizes(), DType::Int64));
  for (int64_t i = 0; i < in.numel(); i++) {
    int64_t rest = in.data_as<int64_t>()[i];
    for (size_t d = shape.size(); d-- > 0;) {
      int64_t n = std::max<int64_t>(shape[d], 1), r = rest % n;
      if (r < 0) r += n;  // positions before the first count from the end
      out[d].data_as<int64_t>()[i] = r;
      rest = (rest - r) / n;
    }
  }
  return out;
}

}  // namespace undertow::fwd
