// uninitialized.cpp: see uninitialized.h.
// build: small
#include "core/forward/create/uninitialized.h"

#include <limits>

#include "core/forward/copy/copy.h"
#include "core/forward/copy/elements.h"

namespace undertow::core {

void set_fill_uninitialized(bool on) { fwd::fill_uninitialized.store(on, std::memory_order_relaxed); }

namespace fwd {

std::atomic<bool> fill_uninitialized{false};

void fill_unset(const Tensor& t) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (!has_elements(t)) return;
  if (is_complex(t.dtype())) return fill_into(t, std::complex<double>(nan, nan));
  if (is_floating(t.dtype())) return fill_into(t, nan);
  if (t.dtype() == DType::Bool) return fill_into(t, true);
  // All bits set are the largest unsigned integer; without the sign bit, the largest signed one.
  const bool is_signed = t.dtype() != DType::UInt8 && !is_wide_unsigned(t.dtype());
  const uint64_t bits = std::numeric_limits<uint64_t>::max() >> (64 - 8 * itemsize(t.dtype()));
  fill_into(t, Scalar(is_signed ? bits >> 1 : bits));
}

void fill_unset_bytes(const Tensor& t, size_t begin) {
  const int64_t size = itemsize(t.dtype()), first = static_cast<int64_t>(begin) / size;
  const int64_t n = static_cast<int64_t>(t.storage().nbytes()) / size - first;
  if (n > 0) fill_unset(alias(t, Dims{n}, Dims{1}, first, t.dtype()));
}

}  // namespace fwd

}  // namespace undertow::core
