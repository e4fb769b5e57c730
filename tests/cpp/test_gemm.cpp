// test_gemm.cpp: every matrix product against a triple loop: shapes, strides, alpha and beta, types, batches, threads.
// CMakeLists.txt runs it once per instruction set, through UNDERTOW_ISA. With "quick" as an argument it tests a tenth
// of the shapes, as every build does.
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "core/base/parallel.h"
#include "core/kernels/cpu/isa.h"
#include "core/kernels/cpu/matmul/gemm.h"
#include "core/kernels/cpu/matmul/gemm_panels.h"
#include "tests/cpp/check.h"

namespace {

using undertow::core::cpu::gemm;

std::mt19937_64 random_bits(20240607);
int64_t random_int(int64_t low, int64_t high) { return low + int64_t(random_bits() % uint64_t(high - low + 1)); }
double random_real() { return double(random_int(-1000, 1000)) / 500; }

template <class T>
struct IsComplex : std::false_type {};
template <class R>
struct IsComplex<std::complex<R>> : std::true_type {};

// How a type is stored, filled with random values, and computed with negligible error.
struct Bf16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};

double to_double(F16 h) {
  int exponent = h.bits >> 10 & 31, fraction = h.bits & 1023;
  double magnitude = exponent == 0    ? std::ldexp(fraction, -24)
                     : exponent == 31 ? (fraction ? NAN : INFINITY)
                                      : std::ldexp(1024 + fraction, exponent - 25);
  return h.bits & 0x8000 ? -magnitude : magnitude;
}
double to_double(Bf16 h) {
  uint32_t bits = uint32_t(h.bits) << 16;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

template <class T>
using Wide = std::conditional_t<IsComplex<T>::value, std::complex<long double>,
                                std::conditional_t<std::is_integral_v<T>, uint64_t, long double>>;
template <class T>
Wide<T> widen(T x) {
  if constexpr (std::is_same_v<T, Bf16> || std::is_same_v<T, F16>) {
    return to_double(x);
  } else if constexpr (IsComplex<T>::value) {
    return {x.real(), x.imag()};
  } else {
    return static_cast<Wide<T>>(x);
  }
}

template <class T>
T draw() {
  if constexpr (std::is_same_v<T, Bf16>) {
    return {uint16_t((random_bits() & 0x807f) | uint64_t(random_int(120, 129)) << 7)};
  } else if constexpr (std::is_same_v<T, F16>) {
    return {uint16_t((random_bits() & 0x83ff) | uint64_t(random_int(9, 17)) << 10)};
  } else if constexpr (IsComplex<T>::value) {
    return {typename T::value_type(random_real()), typename T::value_type(random_real())};
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(random_bits());
  } else {
    return static_cast<T>(random_real());
  }
}

template <class T>
double epsilon() {
  if constexpr (std::is_same_v<T, Bf16>)
    return 1.0 / 256;
  else if constexpr (std::is_same_v<T, F16>)
    return 1.0 / 2048;
  else if constexpr (IsComplex<T>::value)
    return std::numeric_limits<typename T::value_type>::epsilon();
  else
    return std::numeric_limits<T>::epsilon();
}

template <class T>
using Scalar = std::conditional_t<std::is_same_v<T, Bf16> || std::is_same_v<T, F16>, float, T>;

template <class T>
struct Matrix {
  int64_t rows, cols, rs, cs, offset = 0;
  std::vector<T> data;

  // layout: 0 row-major, 1 column-major, 2 no stride is one, 3 rows in reverse order, 4 row-major with a gap, 5 rows a
  // multiple of 4096 bytes apart
  Matrix(int64_t rows, int64_t cols, int layout) : rows(rows), cols(cols) {
    switch (layout) {
      case 0:
        rs = cols, cs = 1;
        break;
      case 1:
        rs = 1, cs = rows;
        break;
      case 2:
        rs = 3 * cols + 1, cs = 3;
        break;
      case 3:
        rs = -cols, cs = 1, offset = (rows - 1) * cols;
        break;
      case 5:
        rs = (cols + 1023) / 1024 * 1024, cs = 1;
        break;
      default:
        rs = cols + 5, cs = 1;
        break;
    }
    data.resize(size_t(std::max(std::max<int64_t>(rows * cols, 1) * 4, rows * rs) + 64 + 5 * rows));
    for (T& x : data) x = draw<T>();
    if (rows == 0) offset = 0;
  }
  T* begin() { return data.data() + offset; }
  T& at(int64_t i, int64_t j) { return begin()[i * rs + j * cs]; }
};

template <class T>
void call(int64_t m, int64_t n, int64_t k, Scalar<T> alpha, Matrix<T>& a, Matrix<T>& b, Scalar<T> beta, Matrix<T>& c) {
  if constexpr (std::is_same_v<T, Bf16> || std::is_same_v<T, F16>) {
    auto* f = std::is_same_v<T, Bf16> ? undertow::core::cpu::gemm_bf16 : undertow::core::cpu::gemm_f16;
    f(m, n, k, alpha, &a.begin()->bits, a.rs, a.cs, &b.begin()->bits, b.rs, b.cs, beta, &c.begin()->bits, c.rs, c.cs);
  } else {
    gemm<T>(m, n, k, alpha, a.begin(), a.rs, a.cs, b.begin(), b.rs, b.cs, beta, c.begin(), c.rs, c.cs);
  }
}

template <class T>
bool element_is_right(T got, Wide<T> sum, long double size, Scalar<T> alpha, Scalar<T> beta, Wide<T> before,
                      int64_t k) {
  Wide<T> expected = widen<Scalar<T>>(alpha) * sum;
  if (beta != Scalar<T>{}) expected += widen<Scalar<T>>(beta) * before;
  if constexpr (std::is_integral_v<T>) {
    (void)size, (void)k;
    return got == static_cast<T>(expected);
  } else {
    double steps = std::is_same_v<T, Bf16> || std::is_same_v<T, F16> ? 2 : 4 + double(k);
    long double allowed = epsilon<T>() * steps * (size * std::abs(alpha) + std::abs(before) * std::abs(beta) + 1e-3);
    return std::abs(widen(got) - expected) <= allowed;
  }
}

template <class T>
void test_one(const char* name, int64_t m, int64_t n, int64_t k, int a_layout, int b_layout, int c_layout,
              Scalar<T> alpha, Scalar<T> beta) {
  Matrix<T> a(m, k, a_layout), b(k, n, b_layout), c(m, n, c_layout);
  if constexpr (std::is_floating_point_v<T>) {
    if (beta == 0) {
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) c.at(i, j) = std::numeric_limits<T>::quiet_NaN();
      }
    }
  }
  Matrix<T> before = c;
  call<T>(m, n, k, alpha, a, b, beta, c);
  int64_t step = 1 + m * n * k / 100000;  // for a large product a sample is enough, and keeps this test short
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = random_int(0, step - 1); j < n; j += step) {
      Wide<T> sum{};
      long double size = 0;
      for (int64_t p = 0; p < k; ++p) {
        Wide<T> product = widen(a.at(i, p)) * widen(b.at(p, j));
        sum += product;
        if constexpr (!std::is_integral_v<T>) size += std::abs(product);
      }
      Wide<T> old = beta == Scalar<T>{} ? Wide<T>{} : widen(before.at(i, j));
      if (element_is_right<T>(c.at(i, j), sum, size, alpha, beta, old, k)) continue;
      std::printf("%s %ld x %ld x %ld layouts %d %d %d at %ld, %ld\n", name, long(m), long(n), long(k), a_layout,
                  b_layout, c_layout, long(i), long(j));
      CHECK(!"product differs from the triple loop");
      return;
    }
  }
  // Only the elements of C may have been written.
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) c.at(i, j) = before.at(i, j);
  }
  CHECK(std::memcmp(c.data.data(), before.data.data(), c.data.size() * sizeof(T)) == 0);
}

template <class T>
void test_shapes_and_strides(const char* name, int rounds) {
  const int64_t odd[] = {0, 1, 2, 3, 5, 7, 8, 13, 15, 16, 17, 29, 31, 33, 47, 64, 65, 97};
  auto pick = [&] { return odd[random_int(0, std::size(odd) - 1)]; };
  for (int round = 0; round < rounds; ++round) {
    auto alpha = round % 3 ? Scalar<T>(1) : draw<Scalar<T>>();
    auto beta = round % 4 == 0 ? draw<Scalar<T>>() : round % 4 == 1 ? Scalar<T>(1) : Scalar<T>(0);
    test_one<T>(name, pick(), pick(), pick(), int(random_int(0, 4)), int(random_int(0, 4)), int(random_int(0, 4)),
                alpha, beta);
  }
  // Deeper than one packed block, wider than one tile, and thin in both directions.
  for (int layout = 0; layout < 8; layout += rounds < 200 ? 3 : 1) {
    int a = layout & 1, b = layout >> 1 & 1, c = layout >> 2;
    test_one<T>(name, 37, 75, 803, a, b, c, Scalar<T>(2), Scalar<T>(1));
    test_one<T>(name, 191, 300, 33, a, b, c, Scalar<T>(1), Scalar<T>(0));
    for (int64_t thin : {1, 2, 5, 8}) {
      test_one<T>(name, thin, 1111, 301, a, b, c, Scalar<T>(1), Scalar<T>(1));
      test_one<T>(name, 1111, thin, 301, a, b, c, Scalar<T>(1), Scalar<T>(0));
    }
  }
}

// Sizes around the boundaries of tiles, panels, depths and chunks, for products that read one or both sides in place.
template <class T>
void test_moderate_sizes(const char* name, int step) {
  const int64_t sizes[][3] = {{100, 100, 100}, {81, 97, 65},    {14, 513, 129}, {169, 33, 513},
                              {29, 640, 1025}, {640, 29, 1025}, {300, 10, 90},  {10, 900, 40}};
  int count = 0;
  for (const auto& [m, n, k] : sizes) {
    for (int a : {0, 1, 5}) {
      for (int b : {0, 1, 2, 5}) {
        for (int c : {0, 1, 2}) {
          if (count++ % step == 0) test_one<T>(name, m, n, k, a, b, c, Scalar<T>(count % 2 + 1), Scalar<T>(count % 3));
        }
      }
    }
  }
}

template <class T>
void test_panels() {
  for (int64_t k : {0, 1, 40, 513, 1200}) {
    for (int64_t n : {1, 16, 17, 64, 75}) {
      for (int64_t m : {1, 14, 15, 40}) {
        Matrix<T> a(m, k, k % 2), b(k, n, 1), c(m, n, 0), expected = c;
        std::vector<T> packed(size_t(undertow::core::cpu::panel_elements<T>(k, n)));
        undertow::core::cpu::pack_panels<T>(k, n, b.begin(), b.rs, b.cs, packed.data());
        undertow::core::cpu::multiply_panels<T>(
            {m, n, k, T(2), a.begin(), a.rs, a.cs, packed.data(), 0, 0, T(1), c.begin(), c.rs, c.cs});
        gemm<T>(m, n, k, T(2), a.begin(), a.rs, a.cs, b.begin(), b.rs, b.cs, T(1), expected.begin(), expected.rs,
                expected.cs);
        double worst = 0;
        for (size_t i = 0; i < c.data.size(); ++i)
          worst = std::max(worst, double(std::abs(c.data[i] - expected.data[i])));
        CHECK(worst <= 1e-5 * double(k));
      }
    }
  }
}

template <class T>
void test_batches(int64_t batch, int64_t m, int64_t n, int64_t k, int64_t b_repeats) {
  std::vector<T> a(size_t(batch * m * k)), b(size_t(batch * k * n)), c(size_t(batch * m * n)), expected(c.size());
  for (T& x : a) x = draw<T>();
  for (T& x : b) x = draw<T>();
  int64_t b_bs = b_repeats ? 0 : k * n;
  undertow::core::cpu::bgemm<T>(batch, m, n, k, T(1), a.data(), m * k, k, 1, b.data(), b_bs, n, 1, T(0), c.data(),
                                m * n, n, 1);
  for (int64_t i = 0; i < batch; ++i) {
    gemm<T>(m, n, k, T(1), &a[size_t(i * m * k)], k, 1, &b[size_t(i * b_bs)], n, 1, T(0), &expected[size_t(i * m * n)],
            n, 1);
  }
  double worst = 0;
  for (size_t i = 0; i < c.size(); ++i) worst = std::max(worst, double(std::abs(c[i] - expected[i])));
  CHECK(worst <= 1e-4 * double(k));
}

template <class T>
void test_threads_do_not_change_bits(int64_t m, int64_t n, int64_t k, int a_layout, int b_layout) {
  Matrix<T> a(m, k, a_layout), b(k, n, b_layout), c(m, n, 0);
  std::vector<T> serial;
  for (int threads : {1, 2, 3, 7}) {
    undertow::core::set_num_threads(threads);
    call<T>(m, n, k, Scalar<T>(1), a, b, Scalar<T>(0), c);
    if (threads == 1) serial = c.data;
    CHECK(std::memcmp(serial.data(), c.data.data(), serial.size() * sizeof(T)) == 0);
  }
  undertow::core::set_num_threads(2);
}

void test_half_rounding() {
  // Every float16 and bfloat16 times one is itself; ties round to even.
  uint16_t one_f16 = 0x3c00, one_bf16 = 0x3f80;
  std::vector<uint16_t> all(65536), out(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = uint16_t(i);
  undertow::core::cpu::gemm_f16(1, 65536, 1, 1, &one_f16, 1, 1, all.data(), 65536, 1, 0, out.data(), 65536, 1);
  for (size_t i = 0; i < all.size(); ++i) {
    bool nan = (i & 0x7fff) > 0x7c00;
    CHECK(nan ? (out[i] & 0x7fff) > 0x7c00 : out[i] == all[i] || (i & 0x7fff) == 0);
  }
  undertow::core::cpu::gemm_bf16(1, 65536, 1, 1, &one_bf16, 1, 1, all.data(), 65536, 1, 0, out.data(), 65536, 1);
  for (size_t i = 0; i < all.size(); ++i) {
    bool nan = (i & 0x7fff) > 0x7f80;
    CHECK(nan ? (out[i] & 0x7fff) > 0x7f80 : out[i] == all[i] || (i & 0x7fff) == 0);
  }
  uint16_t parts[2] = {0x6800, 0x3c00}, ones[2] = {0x3c00, 0x3c00}, sum;  // 2048 + 1: a tie, rounds to 2048
  undertow::core::cpu::gemm_f16(1, 1, 2, 1, parts, 2, 1, ones, 1, 1, 0, &sum, 1, 1);
  CHECK(sum == 0x6800);
  uint16_t large[2] = {0x7bff, 0x4c00};  // 65504 + 16: a tie, rounds to infinity
  undertow::core::cpu::gemm_f16(1, 1, 2, 1, large, 2, 1, ones, 1, 1, 0, &sum, 1, 1);
  CHECK(sum == 0x7c00);
}

int test_products(int share) {
  undertow::core::set_num_threads(2);
  test_shapes_and_strides<float>("float", 1500 / share);
  test_shapes_and_strides<double>("double", 1500 / share);
  test_shapes_and_strides<std::complex<float>>("complex float", 200 / share);
  test_shapes_and_strides<std::complex<double>>("complex double", 200 / share);
  test_shapes_and_strides<int8_t>("int8", 300 / share);
  test_shapes_and_strides<uint8_t>("uint8", 300 / share);
  test_shapes_and_strides<int16_t>("int16", 300 / share);
  test_shapes_and_strides<int32_t>("int32", 300 / share);
  test_shapes_and_strides<int64_t>("int64", 300 / share);
  test_shapes_and_strides<Bf16>("bfloat16", 300 / share);
  test_shapes_and_strides<F16>("float16", 300 / share);
  test_half_rounding();
  test_moderate_sizes<float>("float", share);
  test_moderate_sizes<double>("double", 3 * share);
  test_moderate_sizes<std::complex<float>>("complex float", 5 * share);
  test_moderate_sizes<int32_t>("int32", 8 * share);
  test_panels<float>();
  test_panels<double>();
  for (int64_t k : {65535, 65536, 65537, 200001}) test_one<float>("float", 1, 1, k, 0, 1, 0, 2.0f, 1.0f);
  test_batches<float>(7, 33, 17, 40, 0);
  test_batches<float>(300, 8, 8, 8, 0);
  test_batches<float>(12, 5, 64, 64, 1);
  test_batches<double>(3, 260, 260, 260, 0);
  test_batches<std::complex<float>>(5, 9, 9, 9, 0);
  for (int layout = 0; layout < 4; ++layout) {
    test_threads_do_not_change_bits<float>(513, 301, 777, layout & 1, layout >> 1);
    test_threads_do_not_change_bits<float>(100, 100, 100, layout & 1, layout >> 1);
    test_threads_do_not_change_bits<float>(64, 300, 512, layout & 1, layout >> 1);
    test_threads_do_not_change_bits<double>(400, 130, 600, layout & 1, layout >> 1);
    test_threads_do_not_change_bits<std::complex<float>>(90, 80, 70, layout & 1, layout >> 1);
    test_threads_do_not_change_bits<float>(1, 1, 300001, layout & 1, layout >> 1);
    test_threads_do_not_change_bits<float>(1, 4000, 777, layout & 1, layout >> 1);
    test_threads_do_not_change_bits<double>(3000, 3, 777, layout & 1, layout >> 1);
    test_threads_do_not_change_bits<Bf16>(300, 200, 400, layout & 1, layout >> 1);
  }
  return report((std::string("test_gemm ") + undertow::core::cpu::isa_name(undertow::core::cpu::isa())).c_str());
}

}  // namespace

int main(int argc, char** argv) { return test_products(argc > 1 && std::strcmp(argv[1], "quick") == 0 ? 10 : 1); }
