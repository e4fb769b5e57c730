// tensor_core.cuh: products of small matrices of half dtypes by one warp, and the copies that feed them. PTX
// instructions; on the host (UNDERTOW_EMULATED) the same results come from exchanges between the lanes.
//
// Note [Warp Fragments]
// A warp holds matrices in parts ("fragments"). Lane l has, in a 16 by 8 matrix of sums, c[0] and c[1] at row l / 4,
// columns l % 4 * 2 and + 1, and c[2] and c[3] eight rows below. A left factor of 16 by 16 is four registers of two
// neighbouring elements in a row: rows l / 4 and + 8, columns l % 4 * 2 and + 8, rows first. A right factor of 16 by 8
// is two registers of two neighbouring elements in a column: rows l % 4 * 2 and + 8, column l / 4. So the sums of two
// neighbouring 16 by 8 matrices, packed in pairs, are a left factor of the next product.
#pragma once
#include "device/prelude.cuh"

namespace undertow {

// Two elements in one register.
template <class T>
UT_DEVICE uint32_t pack_pair(float low, float high) {
#ifndef UNDERTOW_EMULATED
  uint32_t pair;
  if constexpr (kSame<T, Half>)
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return static_cast<uint32_t>(T(low).bits) | static_cast<uint32_t>(T(high).bits) << 16;
#endif
}

#ifdef UNDERTOW_EMULATED
template <class T>
UT_DEVICE float element_of(uint32_t pair, int which) {
  T t;
  t.bits = static_cast<uint16_t>(which ? pair >> 16 : pair & 0xffff);
  return static_cast<float>(t);
}
#endif

// c += a b. See Note [Warp Fragments].
template <class T>
UT_DEVICE void multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
#ifndef UNDERTOW_EMULATED
  if constexpr (kSame<T, Half>)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
  constexpr unsigned kAll = 0xffffffffu;
  int lane = threadIdx.x % 32, row = lane / 4, column = lane % 4 * 2;
  for (int pair = 0; pair < 8; pair++) {  // of the depth
    int quarter = pair % 4;
    bool late = pair >= 4;
    uint32_t upper = __shfl_sync(kAll, late ? a[2] : a[0], row * 4 + quarter),
             lower = __shfl_sync(kAll, late ? a[3] : a[1], row * 4 + quarter),
             left = __shfl_sync(kAll, late ? b1 : b0, column * 4 + quarter),
             right = __shfl_sync(kAll, late ? b1 : b0, (column + 1) * 4 + quarter);
    for (int i = 0; i < 2; i++) {
      c[0] += element_of<T>(upper, i) * element_of<T>(left, i);
      c[1] += element_of<T>(upper, i) * element_of<T>(right, i);
      c[2] += element_of<T>(lower, i) * element_of<T>(left, i);
      c[3] += element_of<T>(lower, i) * element_of<T>(right, i);
    }
  }
#endif
}

#ifndef UNDERTOW_EMULATED
UT_DEVICE uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
#endif

// Four 8 by 8 matrices from shared memory: lane l gives the address of row l % 8 of matrix l / 8, and receives from
// each matrix two neighbours of row l / 4, columns l % 4 * 2 and + 1; or, if transposed, of column l / 4.
template <bool transposed>
UT_DEVICE void load_matrices(uint32_t (&to)[4], const void* row) {
#ifndef UNDERTOW_EMULATED
  if constexpr (transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(row)));
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(row)));
#else
  int lane = threadIdx.x % 32, at = lane / 4, pair = lane % 4 * 2;
  auto address = reinterpret_cast<uintptr_t>(row);
  for (int m = 0; m < 4; m++) {
    auto row_of = [&](int r) {
      return reinterpret_cast<const uint16_t*>(__shfl_sync(0xffffffffu, address, m * 8 + r));
    };
    if constexpr (transposed) {
      const uint16_t *first = row_of(pair), *second = row_of(pair + 1);
      to[m] = first[at] | static_cast<uint32_t>(second[at]) << 16;
    } else {
      const uint16_t* mine = row_of(at);
      to[m] = mine[pair] | static_cast<uint32_t>(mine[pair + 1]) << 16;
    }
  }
#endif
}

// 16 bytes from global to shared memory, or zeros if not `inside`; complete after wait_for_copies.
UT_DEVICE void copy_16_bytes(void* to, const void* from, bool inside) {
#ifndef UNDERTOW_EMULATED
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(inside ? 16 : 0));
#else
  *static_cast<uint4*>(to) = inside ? *static_cast<const uint4*>(from) : uint4{0, 0, 0, 0};
#endif
}
// Copies belong to groups; `pending` of the newest groups may still be on their way when wait_for_copies returns.
UT_DEVICE void end_copy_group() {
#ifndef UNDERTOW_EMULATED
  asm volatile("cp.async.commit_group;");
#endif
}
template <int pending>
UT_DEVICE void wait_for_copies() {
#ifndef UNDERTOW_EMULATED
  asm volatile("cp.async.wait_group %0;" ::"n"(pending));
#endif
}

// A tile of `rows` rows of `width` elements in shared memory. The rows are 8 elements apart from a multiple of 128
// bytes, so that load_matrices reads from different banks.
template <class T, int rows, int width>
struct SharedTile {
  static constexpr int kStride = width + 8, kElements = rows * kStride;
  T* data;

  // Starts copying; rows from `count` on and columns from `columns` on are zero.
  UT_DEVICE void copy_from(const T* from, int64_t stride, int64_t count, int columns, int thread, int threads) const {
    constexpr int kPacks = width / 8;
    for (int i = thread; i < rows * kPacks; i += threads) {
      int row = i / kPacks, column = i % kPacks * 8;
      bool inside = row < count && column < columns;
      copy_16_bytes(data + row * kStride + column, inside ? from + row * stride + column : from, inside);
    }
  }
  // A left factor: 16 rows from `row` on, 16 columns from `column` on.
  UT_DEVICE void left(uint32_t (&to)[4], int row, int column) const {
    int lane = threadIdx.x % 32;
    load_matrices<false>(to, data + (row + lane % 16) * kStride + column + lane / 16 * 8);
  }
  // Two right factors of a product with the transposed tile: its columns are 16 rows from `row` on, its depth is 16
  // columns from `column` on. to[0], to[1]: the first 8 rows.
  UT_DEVICE void right_of_rows(uint32_t (&to)[4], int row, int column) const {
    int lane = threadIdx.x % 32;
    load_matrices<false>(to, data + (row + lane / 16 * 8 + lane % 8) * kStride + column + lane / 8 % 2 * 8);
  }
  // Two right factors of a product with the tile: its depth is 16 rows from `row` on, its columns 16 from `column` on.
  UT_DEVICE void right_of_columns(uint32_t (&to)[4], int row, int column) const {
    int lane = threadIdx.x % 32;
    load_matrices<true>(to, data + (row + lane % 16) * kStride + column + lane / 16 * 8);
  }
};

}  // namespace undertow
