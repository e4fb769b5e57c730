// sort.cpp: the CPU's SortKernels; implements sort.
// build: small
#include "core/kernels/sort.h"

#include "core/kernels/cpu/cpu_backend.h"
#include "core/kernels/cpu/sort/keys.h"
#include "core/kernels/cpu/sort/rows.h"
#include "core/kernels/cpu/sort/search.h"
#include "core/kernels/cpu/sort/topk.h"
#include "core/kernels/cpu/sort/unique.h"

namespace undertow::core::cpu {

namespace {

void sort(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, bool descending) {
  int64_t n = in.size(d);
  dispatch_real(in.dtype(), "sort", [&](auto tag) {
    using T = typename decltype(tag)::type;
    along(d, in, values, indices, [&](const Tensor& from, const Tensor& v, const Tensor& i) {
      for_rows<T>(from, v, i, [&](const Line<T>& x, T* to, int64_t* order) {
        sort_positions(LineKeys<T>(x, n, descending).get(), n, order);
        for (int64_t r = 0; r < n; r++) to[r] = x[order[r]];
      });
    });
  });
}

}  // namespace

constinit const SortKernels sort_kernels = {
    .sort = sort,
    .topk = topk,
    .searchsorted = searchsorted,
    .histc = histc,
    .extent = extent,
    .bincount = bincount,
    .unique = unique,
    .unique_rows = unique_rows,
    .isin = isin,
};

}  // namespace undertow::core::cpu
