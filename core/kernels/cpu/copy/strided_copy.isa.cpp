// strided_copy.isa.cpp: the loops of strided_copy_kernels.h. See Note [One Namespace Per Instruction Set] in simd.h.
#include "core/kernels/cpu/copy/strided_copy_kernels.h"

#include <cstring>

#include "core/kernels/cpu/simd.h"

namespace undertow::core::cpu {
namespace {

struct Pair {
  uint64_t low, high;
};

// Keeps the compiler from recognizing a copy and calling memcpy.
inline void opaque() { asm volatile("" ::: "memory"); }

void copy_bytes(char* to, const char* from, int64_t count) {
  constexpr int64_t v = kVectorBytes;
  if (count < v) {
    std::memcpy(to, from, static_cast<size_t>(count));
    return;
  }
  auto at = [&](int64_t i) {
    auto* t = reinterpret_cast<uint8_t*>(to) + i;
    store(t, load(reinterpret_cast<const uint8_t*>(from) + i));
  };
  if (count < 8 * v) {
    for (int64_t i = 0; i + v <= count; i += v) {
      at(i);
      opaque();
    }
    at(count - v);
    return;
  }
  at(0);
  int64_t i = v - static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) & (v - 1));  // stores are aligned from here on
  for (; i + 4 * v <= count; i += 4 * v) {
    auto* f = reinterpret_cast<const uint8_t*>(from) + i;
    auto* t = reinterpret_cast<uint8_t*>(to) + i;
    Vec<uint8_t> a = load(f), b = load(f + v), c = load(f + 2 * v), d = load(f + 3 * v);
    store(t, a);
    store(t + v, b);
    store(t + 2 * v, c);
    store(t + 3 * v, d);
    opaque();
  }
  for (; i + v <= count; i += v) {
    at(i);
    opaque();
  }
  at(count - v);
}

template <class W>
inline void copy_word(char* to, const char* from) {
  W word;
  std::memcpy(&word, from, sizeof(W));
  std::memcpy(to, &word, sizeof(W));
}
struct Words32 {
  uint64_t word[4];
};

// Rows of sizeof(W) to twice as many bytes: two overlapping words each.
template <class W>
void short_rows(const MovePlane& p, int64_t bytes) {
  int64_t second = bytes - static_cast<int64_t>(sizeof(W));
  char* to = p.to;
  const char* from = p.from;
  if (second == 0) {
    for (int64_t r = 0; r < p.rows; r++, to += p.to_row, from += p.from_row) copy_word<W>(to, from);
    return;
  }
  for (int64_t r = 0; r < p.rows; r++, to += p.to_row, from += p.from_row) {
    copy_word<W>(to, from);
    copy_word<W>(to + second, from + second);
  }
}

void contiguous_rows(const MovePlane& p, int64_t bytes) {
  if (bytes == 1) return short_rows<uint8_t>(p, bytes);
  if (bytes == 2 || bytes == 3) return short_rows<uint16_t>(p, bytes);
  if (bytes < 8) return short_rows<uint32_t>(p, bytes);
  if (bytes < 16) return short_rows<uint64_t>(p, bytes);
  if (bytes < 32) return short_rows<Pair>(p, bytes);
  if (bytes <= 64) return short_rows<Words32>(p, bytes);
  for (int64_t r = 0; r < p.rows; r++) copy_bytes(p.to + r * p.to_row, p.from + r * p.from_row, bytes);
}

// A run in the source is a column in the destination: squares of lanes are transposed in registers, the rest is copied
// element by element.
template <class T>
void copy_transposed(const MovePlane& p) {
  constexpr int64_t w = sizeof(T);
  auto by_element = [&](int64_t i0, int64_t i1, int64_t r0, int64_t r1) {
    for (int64_t r = r0; r < r1; r++) {
      auto* to = reinterpret_cast<T*>(p.to + r * p.to_row);
      const char* from = p.from + r * w;
      for (int64_t i = i0; i < i1; i++) to[i] = *reinterpret_cast<const T*>(from + i * p.from_step);
    }
  };
  int64_t rows = 0, columns = 0;
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
    constexpr int64_t lanes = kLanes<T>;
    rows = p.rows / lanes * lanes;
    columns = p.n / lanes * lanes;
    for (int64_t i = 0; i < columns; i += lanes)
      for (int64_t r = 0; r < rows; r += lanes) {
        Vec<T> square[lanes];
        for (int64_t k = 0; k < lanes; k++)
          square[k] = load(reinterpret_cast<const T*>(p.from + (i + k) * p.from_step + r * w));
        transpose<T>(square);
        for (int64_t k = 0; k < lanes; k++) store(reinterpret_cast<T*>(p.to + (r + k) * p.to_row + i * w), square[k]);
      }
  } else {
    constexpr int64_t side = 16;
    rows = p.rows / side * side;
    columns = p.n / side * side;
    for (int64_t i = 0; i < columns; i += side)
      for (int64_t r = 0; r < rows; r += side) by_element(i, i + side, r, r + side);
  }
  by_element(columns, p.n, 0, rows);
  by_element(0, p.n, rows, p.rows);
}

// n elements of one value.
template <class T>
inline void repeat(T* to, T value, int64_t n) {
  int64_t i = 0;
  if constexpr (sizeof(T) < sizeof(Pair)) {
    constexpr int64_t lanes = kLanes<T>;
    if (n >= lanes) {
      const Vec<T> v = broadcast(value);
      for (; i + 4 * lanes <= n; i += 4 * lanes)
        for (int64_t k = 0; k < 4; k++) store(to + i + k * lanes, v);
      for (; i + lanes <= n; i += lanes) store(to + i, v);
      return store(to + n - lanes, v);
    }
  }
  for (; i < n; i++) to[i] = value;
}

// Short rows of one value each, one after the other: a vector per row, whose end the next rows overwrite.
template <class T>
void repeat_short_rows(const MovePlane& p) {
  auto* to = reinterpret_cast<T*>(p.to);
  const char* from = p.from;
  int64_t r = 0;
  if constexpr (sizeof(T) < sizeof(Pair)) {
    const int64_t last = p.rows - (kLanes<T> + p.n - 1) / p.n;
    for (; r < last; r++, to += p.n, from += p.from_row) store(to, broadcast(*reinterpret_cast<const T*>(from)));
  }
  for (; r < p.rows; r++, to += p.n, from += p.from_row)
    for (int64_t i = 0; i < p.n; i++) to[i] = *reinterpret_cast<const T*>(from);
}

template <int kLaneCount>
constexpr int reversed_lane(int i) {
  return kLaneCount - 1 - i;
}

// to[i] = in[-i]. Bytes and 16-bit words have no shuffle across a whole vector in every instruction set.
template <class T>
void copy_reversed(T* to, const T* in, int64_t n) {
  int64_t i = 0;
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
    constexpr int64_t lanes = kLanes<T>;
    for (; i + lanes <= n; i += lanes) {
      const Vec<T> v = load(in - i - (lanes - 1));
      store(to + i, shuffle<T, reversed_lane<kLanes<T>>>(v, v));
    }
  }
#pragma GCC ivdep
  for (; i < n; i++) to[i] = in[-i];
}

template <class T>
void move_plane(const MovePlane& p) {
  constexpr int64_t w = sizeof(T);
  if (p.from_step == 0 && p.to_step == w && p.to_row == p.n * w && p.n * w <= kVectorBytes)
    return repeat_short_rows<T>(p);
  if (p.to_step == w && p.from_step == w) return contiguous_rows(p, p.n * w);
  if (p.to_step == w && p.from_step != 0 && p.from_row == w && p.n >= 8 && p.rows >= 8) return copy_transposed<T>(p);
  // A few elements in many rows: make the rows the inner loop.
  if (p.n < 8 && p.rows > p.n) {
    for (int64_t i = 0; i < p.n; i++) {
      char* to = p.to + i * p.to_step;
      const char* from = p.from + i * p.from_step;
      if (p.from_row == w) {
        auto* in = reinterpret_cast<const T*>(from);
        for (int64_t r = 0; r < p.rows; r++, to += p.to_row) *reinterpret_cast<T*>(to) = in[r];
      } else {
        for (int64_t r = 0; r < p.rows; r++, to += p.to_row, from += p.from_row)
          *reinterpret_cast<T*>(to) = *reinterpret_cast<const T*>(from);
      }
    }
    return;
  }
  for (int64_t r = 0; r < p.rows; r++) {
    char* to = p.to + r * p.to_row;
    const char* from = p.from + r * p.from_row;
    if (p.to_step == w && p.from_step == 0) {
      repeat(reinterpret_cast<T*>(to), *reinterpret_cast<const T*>(from), p.n);
    } else if (p.to_step == w && p.from_step == -w) {
      copy_reversed(reinterpret_cast<T*>(to), reinterpret_cast<const T*>(from), p.n);
    } else if (p.to_step == w && p.from_step == 2 * w) {
      auto* in = reinterpret_cast<const T*>(from);
#pragma GCC ivdep
      for (int64_t i = 0; i < p.n - 1; i++) reinterpret_cast<T*>(to)[i] = in[2 * i];
      reinterpret_cast<T*>(to)[p.n - 1] = in[2 * (p.n - 1)];
    } else {
      for (int64_t i = 0; i < p.n; i++, to += p.to_step, from += p.from_step)
        *reinterpret_cast<T*>(to) = *reinterpret_cast<const T*>(from);
    }
  }
}

MoveKernels::Plane plane_of(int64_t width) {
  switch (width) {
    case 1:
      return move_plane<uint8_t>;
    case 2:
      return move_plane<uint16_t>;
    case 4:
      return move_plane<uint32_t>;
    case 8:
      return move_plane<uint64_t>;
    default:
      return move_plane<Pair>;
  }
}

struct Truth {};  // bool as a byte of any value

template <class To, class From>
void convert_run(char* to, const char* from, int64_t n) {
  if constexpr (__is_same(To, Truth)) {
    auto* out = reinterpret_cast<uint8_t*>(to);
    auto* in = reinterpret_cast<const From*>(from);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) out[i] = in[i] != From(0);
  } else if constexpr (__is_same(From, Truth)) {
    auto* out = reinterpret_cast<To*>(to);
    auto* in = reinterpret_cast<const uint8_t*>(from);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) out[i] = static_cast<To>(in[i] != 0);
  } else if constexpr (__is_same(To, int32_t) && (__is_same(From, float) || __is_same(From, double))) {
    auto* out = reinterpret_cast<To*>(to);
    auto* in = reinterpret_cast<const From*>(from);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) out[i] = static_cast<int32_t>(static_cast<int64_t>(in[i]));
  } else {
    auto* out = reinterpret_cast<To*>(to);
    auto* in = reinterpret_cast<const From*>(from);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) out[i] = static_cast<To>(in[i]);
  }
}

template <class To>
MoveKernels::Convert convert_from(ConvertType from) {
  switch (from) {
    case ConvertType::Bool:
      if constexpr (!__is_same(To, Truth)) return convert_run<To, Truth>;
      break;
    case ConvertType::UInt8:
      return convert_run<To, uint8_t>;
    case ConvertType::Int32:
      return convert_run<To, int32_t>;
    case ConvertType::Int64:
      return convert_run<To, int64_t>;
    case ConvertType::Float32:
      return convert_run<To, float>;
    case ConvertType::Float64:
      return convert_run<To, double>;
    default:
      break;
  }
  return nullptr;
}

MoveKernels::Convert convert_of(ConvertType to, ConvertType from) {
  if (to == ConvertType::Int32 && from == ConvertType::Int8) return convert_run<int32_t, int8_t>;
  if (to == ConvertType::Int32 && from == ConvertType::Int16) return convert_run<int32_t, int16_t>;
  const bool narrow = from == ConvertType::Int32;
  switch (to) {
    case ConvertType::UInt8:
    case ConvertType::Int8:  // the lowest byte
      return narrow ? convert_run<uint8_t, int32_t> : nullptr;
    case ConvertType::Int16:
      return narrow ? convert_run<int16_t, int32_t> : nullptr;
    case ConvertType::Bool:
      return convert_from<Truth>(from);
    case ConvertType::Int32:
      return convert_from<int32_t>(from);
    case ConvertType::Int64:
      return convert_from<int64_t>(from);
    case ConvertType::Float32:
      return convert_from<float>(from);
    case ConvertType::Float64:
      return convert_from<double>(from);
    default:
      return nullptr;
  }
}

constexpr MoveKernels kKernels = {copy_bytes, plane_of, convert_of};

}  // namespace

namespace UNDERTOW_ISA_NS {
const MoveKernels& move_kernels() { return kKernels; }
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
