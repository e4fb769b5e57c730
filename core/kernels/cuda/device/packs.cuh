// packs.cuh: several neighbouring elements loaded and stored by one instruction.
#pragma once
#include "device/prelude.cuh"

namespace undertow {

template <class T, int n>
struct alignas(sizeof(T) * n <= 16 ? sizeof(T) * n : 16) Pack {
  T at[n];
};

template <int n, class T>
UT_DEVICE Pack<T, n> load_pack(const T* p) {
  return *reinterpret_cast<const Pack<T, n>*>(p);
}
template <int n, class T>
UT_DEVICE void store_pack(T* p, const Pack<T, n>& v) {
  *reinterpret_cast<Pack<T, n>*>(p) = v;
}

// How many elements of T fill 16 bytes.
template <class T>
inline constexpr int kPackOf = 16 / static_cast<int>(sizeof(T));

// The block's threads walk n elements from p: pack(i) for i with p + i aligned to 16 bytes, one(i) for the others.
template <int n_pack, class T, class P, class O>
UT_DEVICE void walk_row(const T* p, int64_t n, P&& pack, O&& one) {
  const int lane = threadIdx.x, lanes = blockDim.x;
  int64_t head = (16 - static_cast<int>(reinterpret_cast<uintptr_t>(p) & 15)) & 15;
  head /= sizeof(T);
  if (n_pack == 1) head = 0;
  if (head > n) head = n;
  for (int64_t i = lane; i < head; i += lanes) one(i);
  const int64_t packs = (n - head) / n_pack;
#pragma unroll 2
  for (int64_t i = lane; i < packs; i += lanes) pack(head + i * n_pack);
  for (int64_t i = head + packs * n_pack + lane; i < n; i += lanes) one(i);
}

}  // namespace undertow
