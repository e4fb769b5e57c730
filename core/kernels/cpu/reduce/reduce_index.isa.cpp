// reduce_index.isa.cpp: see reduce_index.h and Note [One Namespace Per Instruction Set] in simd.h.
// build: scalar_tails
#include "core/kernels/cpu/reduce/reduce_index.h"

namespace undertow::core::cpu {
namespace {

template <class T>
inline bool is_nan(T x) {
  return x != x;
}
// Half dtypes are compared by their bits: the value is one of the elements, but zero has two representations.
template <uint16_t kInf>
struct HalfValue {
  uint16_t bits;
  bool operator==(HalfValue o) const { return ((bits == o.bits) & !nan()) | (((bits | o.bits) & 0x7fff) == 0); }
  bool operator!=(HalfValue o) const { return !(*this == o); }
  bool nan() const { return (bits & 0x7fff) > kInf; }
};

template <class T>
void find(const char* in, const char* value, int64_t n, int64_t inner, int64_t* at) {
  const T* p = reinterpret_cast<const T*>(in);
  const T* v = reinterpret_cast<const T*>(value);
  if (inner == 1) {
    T want = v[0];
    int64_t i = 0;
    if (is_nan(want)) {
      while (p[i] == p[i]) i++;
    } else {
      // Blocks without an early exit vectorise.
      for (; i + 64 <= n; i += 64) {
        int hits = 0;
        for (int k = 0; k < 64; k++) hits += p[i + k] == want;
        if (hits) break;
      }
      while (p[i] != want) i++;
    }
    at[0] = i;
    return;
  }
  for (int64_t j = 0; j < inner; j++) at[j] = 0;
  for (int64_t i = n - 1; i >= 0; i--) {
    const T* row = p + i * inner;
    for (int64_t j = 0; j < inner; j++) at[j] = ((row[j] == v[j]) | (is_nan(row[j]) & is_nan(v[j]))) ? i : at[j];
  }
}

}  // namespace

namespace UNDERTOW_ISA_NS {
FindFn find_for(DType t) {
  switch (t) {
    case DType::Bool:
    case DType::UInt8:
    case DType::Int8:
      return find<uint8_t>;
    case DType::Int16:
      return find<int16_t>;
    case DType::Int32:
      return find<int32_t>;
    case DType::Int64:
      return find<int64_t>;
    case DType::Float16:
      return find<HalfValue<0x7c00>>;
    case DType::BFloat16:
      return find<HalfValue<0x7f80>>;
    case DType::Float32:
      return find<float>;
    case DType::Float64:
      return find<double>;
    default:
      return nullptr;
  }
}
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
