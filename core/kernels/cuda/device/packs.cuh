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

// The numbers rounded to T: two at once where one instruction does that.
template <class T, class M, int n>
UT_DEVICE Pack<T, n> rounded_pack(const M (&x)[n]) {
  Pack<T, n> v;
#if !defined(UNDERTOW_EMULATED) && __CUDA_ARCH__ >= 800
  if constexpr (kSame<T, BFloat16> && kSame<M, float> && n % 2 == 0) {
#pragma unroll
    for (int k = 0; k < n; k += 2) {
      uint32_t two;
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(x[k + 1]), "f"(x[k]));
      v.at[k].bits = static_cast<uint16_t>(two);
      v.at[k + 1].bits = static_cast<uint16_t>(two >> 16);
    }
    return v;
  }
#endif
#pragma unroll
  for (int k = 0; k < n; k++) v.at[k] = static_cast<T>(x[k]);
  return v;
}

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

// The same where `ahead` packs of a thread are under way at once: load(i, number) reads pack `number`, which begins at
// element i, and use(i, number, loaded) takes it. (The compiler must not move a load before a store, so walk_row loads
// one pack at a time where packs are also written.)
template <int n_pack, int ahead, class T, class L, class U, class O>
UT_DEVICE void walk_row_ahead(const T* p, int64_t n, L&& load, U&& use, O&& one) {
  const int lane = threadIdx.x, lanes = blockDim.x;
  int64_t head = (16 - static_cast<int>(reinterpret_cast<uintptr_t>(p) & 15)) & 15;
  head /= sizeof(T);
  if (n_pack == 1) head = 0;
  if (head > n) head = n;
  if (lane < head) one(static_cast<int64_t>(lane));  // fewer than a pack, and a block has at least a warp
  const int packs = static_cast<int>((n - head) / n_pack);
  int number = lane;
  for (; number + (ahead - 1) * lanes < packs; number += ahead * lanes) {
    decltype(load(int64_t(0), 0)) loaded[ahead];
#pragma unroll
    for (int k = 0; k < ahead; k++)
      loaded[k] = load(head + static_cast<int64_t>(number + k * lanes) * n_pack, number + k * lanes);
#pragma unroll
    for (int k = 0; k < ahead; k++)
      use(head + static_cast<int64_t>(number + k * lanes) * n_pack, number + k * lanes, loaded[k]);
  }
  for (; number < packs; number += lanes) {
    const int64_t i = head + static_cast<int64_t>(number) * n_pack;
    use(i, number, load(i, number));
  }
  const int64_t last = head + static_cast<int64_t>(packs) * n_pack + lane;
  if (last < n) one(last);
}

}  // namespace undertow
