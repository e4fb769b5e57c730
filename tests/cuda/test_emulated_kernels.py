"""Kernels on the emulated CUDA driver: compiled by the emulated NVRTC, they compute what they should, and name themselves when they fail."""

from __future__ import annotations

from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint64, c_void_p

import numpy as np
import pytest
from emulated_cuda import CompilationError, CudaError, Driver, run
from scipy import special

NOT_FOUND, ILLEGAL_ADDRESS, ASSERT, ILLEGAL_INSTRUCTION, LAUNCH_FAILED = 500, 700, 710, 715, 719

KERNELS = r"""
#include "sums.h"

template <class T, int factor>
__global__ void add_scaled(const T* a, const T* b, T* c, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) c[i] = a[i] + factor * b[i];
}

extern "C" __global__ void __launch_bounds__(256) scale(float* x, float factor, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) x[i] *= factor;
}

__constant__ int offsets[2];
__global__ void add_offset(int* x) { x[0] += offsets[0] + offsets[1]; }

__global__ void positions(unsigned* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 1000 + thread;
}

__global__ void histogram(const int* x, int* bins, double* sum, unsigned long long* largest, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  atomicAdd(&bins[x[i]], 1);
  atomicAdd(sum, double(x[i]));
  atomicMax(largest, (unsigned long long)x[i]);
}
"""

WAITING_KERNELS = r"""
#include "sums.h"

template <class T>
__global__ void block_sum(const T* x, T* out) {
  const T sum = sum_of_block(x[blockIdx.x * blockDim.x + threadIdx.x]);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

__global__ void reversed(int* x) {
  UT_DYNAMIC_SHARED(int, copy);
  copy[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = copy[blockDim.x - 1 - threadIdx.x];
}

// Threads that return early do not keep the others at a barrier.
__global__ void votes(int* out, int leave) {
  if (threadIdx.x >= leave) return;
  const int odd = __syncthreads_count(threadIdx.x % 2);
  const int any = __syncthreads_or(threadIdx.x == 3);
  const int all = __syncthreads_and(threadIdx.x < 3);
  if (threadIdx.x == 0) out[0] = odd, out[1] = any, out[2] = all;
}

__global__ void warp_functions(unsigned* out) {
  const unsigned lane = threadIdx.x, full = 0xffffffffu;
  unsigned* row = out + lane * 12;
  row[0] = __shfl_sync(full, lane * lane, 5);
  row[1] = __shfl_up_sync(full, lane, 3);
  row[2] = __shfl_down_sync(full, lane, 3, 16);
  row[3] = __shfl_xor_sync(full, lane, 1);
  row[4] = __ballot_sync(full, lane % 3 == 0);
  row[5] = __any_sync(full, lane == 31) + 2 * __all_sync(full, lane < 31);
  row[6] = __match_any_sync(full, lane / 8);
  row[7] = __reduce_add_sync(full, lane);
  row[8] = __reduce_max_sync(full, int(lane) - 40);
  // Two halves of the warp that branch apart, with masks of their own.
  if (lane < 16) row[9] = __reduce_min_sync(0x0000ffffu, lane + 7);
  else row[9] = __reduce_min_sync(0xffff0000u, lane + 7);
  row[10] = __shfl_sync(full, double(lane) / 4, 7) == 1.75;
  row[11] = __popc(__activemask());
}
"""

SUMS = r"""#pragma once
template <class T>
__device__ __forceinline__ T sum_of_warp(T x) {
  for (int step = 16; step; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}
template <class T>
__device__ T sum_of_block(T x) {
  __shared__ T parts[32];
  x = sum_of_warp(x);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
  __syncthreads();
  if (threadIdx.x < 32) x = sum_of_warp(threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : T(0));
  return x;
}
__device__ void nobody_calls_this() { __syncthreads(); }
"""

MARK_OF_WAITING = b"undertow_emulated_threads_wait"


@pytest.fixture(scope="module")
def cuda():
    return Driver()


@pytest.fixture(scope="module")
def kernels(cuda):
    return cuda.compile(KERNELS, ["add_scaled<float, 2>", "add_scaled<double, 3>", "add_offset", "positions", "histogram"], headers={"sums.h": SUMS})


@pytest.fixture(scope="module")
def waiting_kernels(cuda):
    return cuda.compile(WAITING_KERNELS, ["block_sum<float>", "block_sum<double>", "reversed", "votes", "warp_functions"], headers={"sums.h": SUMS})


@pytest.mark.parametrize(("kernel", "dtype", "factor"), [("add_scaled<float, 2>", np.float32, 2), ("add_scaled<double, 3>", np.float64, 3)])
def test_instances_of_a_template_are_found_by_name_expressions(cuda, kernels, kernel, dtype, factor):
    a, b = np.arange(1000, dtype=dtype), np.arange(1000, dtype=dtype)[::-1].copy()
    c = cuda.put(np.zeros_like(a))
    kernels.launch(kernel, 4, 256, cuda.put(a), cuda.put(b), c, c_int(1000))
    assert np.array_equal(cuda.get(c, a), a + factor * b)


def test_a_kernel_with_c_linkage_is_found_by_its_name(cuda, kernels):
    x = np.arange(300, dtype=np.float32)
    pointer = cuda.put(x)
    kernels.launch("scale", 2, 256, pointer, c_float(1.5), c_int(300))
    assert np.array_equal(cuda.get(pointer, x), x * np.float32(1.5))


def test_indices_count_in_three_dimensions(cuda, kernels):
    out = cuda.put(np.zeros((24, 24), np.uint32))
    kernels.launch("positions", (2, 3, 4), (4, 3, 2), out)
    expected = np.arange(24)[:, None] * 1000 + np.arange(24)
    assert np.array_equal(cuda.get(out, np.zeros((24, 24), np.uint32)), expected)


def test_atomics_count_every_thread(cuda, kernels):
    x = np.random.default_rng(0).integers(0, 10, 2000).astype(np.int32)
    bins, total, largest = cuda.put(np.zeros(10, np.int32)), cuda.put(np.zeros(1)), cuda.put(np.zeros(1, np.uint64))
    kernels.launch("histogram", 8, 256, cuda.put(x), bins, total, largest, c_int(2000))
    assert np.array_equal(cuda.get(bins, np.zeros(10, np.int32)), np.bincount(x, minlength=10))
    assert cuda.get(total, np.zeros(1))[0] == x.sum()
    assert cuda.get(largest, np.zeros(1, np.uint64))[0] == x.max()


def test_constant_memory_can_be_written(cuda, kernels):
    address, size = c_uint64(), c_size_t()
    cuda.cuModuleGetGlobal_v2(byref(address), byref(size), kernels.handle, c_char_p(b"offsets"))
    assert size.value == 8
    values, x = np.array([30, 4], np.int32), cuda.put(np.array([1], np.int32))
    cuda.cuMemcpyHtoD_v2(address, c_void_p(values.ctypes.data), 8)
    kernels.launch("add_offset", 1, 1, x)
    assert cuda.get(x, np.zeros(1, np.int32))[0] == 35


def test_only_modules_that_wait_need_fibers(kernels, waiting_kernels):
    # A function that waits, in a header that both include, does not count where no kernel calls it.
    assert MARK_OF_WAITING not in bytes(kernels.image)
    assert MARK_OF_WAITING in bytes(waiting_kernels.image)


@pytest.mark.parametrize("threads", [32, 96, 1024])
def test_a_block_adds_by_shuffles_and_shared_memory(cuda, waiting_kernels, threads):
    x = np.random.default_rng(1).integers(0, 100, (5, threads)).astype(np.float64)
    out = cuda.put(np.zeros(5))
    waiting_kernels.launch("block_sum<double>", 5, threads, cuda.put(x), out)
    assert np.array_equal(cuda.get(out, np.zeros(5)), x.sum(1))


def test_dynamic_shared_memory_is_shared_by_the_block(cuda, waiting_kernels):
    x = np.arange(777, dtype=np.int32)
    pointer = cuda.put(x)
    waiting_kernels.launch("reversed", 1, 777, pointer, shared=777 * 4)
    assert np.array_equal(cuda.get(pointer, x), x[::-1])


def test_barriers_count_only_threads_that_have_not_returned(cuda, waiting_kernels):
    out = cuda.put(np.zeros(3, np.int32))
    waiting_kernels.launch("votes", 1, 100, out, c_int(41))
    assert list(cuda.get(out, np.zeros(3, np.int32))) == [20, 1, 0]


def test_lanes_of_a_warp_exchange_values(cuda, waiting_kernels):
    out = cuda.put(np.zeros((32, 12), np.uint32))
    waiting_kernels.launch("warp_functions", 1, 32, out)
    rows = cuda.get(out, np.zeros((32, 12), np.uint32))
    lane = np.arange(32)
    expected = [
        np.full(32, 25),
        np.where(lane < 3, lane, lane - 3),
        np.where(lane % 16 > 12, lane, lane + 3),
        lane ^ 1,
        np.full(32, sum(1 << k for k in range(0, 32, 3))),
        np.full(32, 1),
        np.left_shift(255, lane // 8 * 8),
        np.full(32, 496),
        np.full(32, (31 - 40) % 2**32),
        np.where(lane < 16, 7, 23),
        np.ones(32),
        np.full(32, 32),
    ]
    for column, values in enumerate(expected):
        assert np.array_equal(rows[:, column], values), f"column {column}"


SPECIAL_FUNCTIONS = {
    "erfinv": (special.erfinv, np.linspace(-0.9999, 0.9999, 101)),
    "erfcinv": (special.erfcinv, np.geomspace(1e-200, 1.9, 101)),
    "erfcx": (special.erfcx, np.linspace(-3, 60, 101)),
    "normcdf": (special.ndtr, np.linspace(-30, 8, 101)),
    "normcdfinv": (special.ndtri, np.geomspace(1e-200, 0.999, 101)),
    "cyl_bessel_i0": (special.i0, np.linspace(-30, 30, 101)),
    "cyl_bessel_i1": (special.i1, np.linspace(-30, 30, 101)),
    "sinpi": (lambda x: np.sin(np.pi * x), np.linspace(-7, 7, 113)),
    "cospi": (lambda x: np.cos(np.pi * x), np.linspace(-7, 7, 113)),
    "rsqrt": (lambda x: 1 / np.sqrt(x), np.linspace(0.1, 9, 101)),
    "rcbrt": (lambda x: 1 / np.cbrt(x), np.linspace(0.1, 9, 101)),
}


@pytest.fixture(scope="module")
def special_kernels(cuda):
    kernel = "__global__ void k_NAME(double* x, int n) { for (int i = 0; i < n; ++i) x[i] = NAME(x[i]); }"
    return cuda.compile("\n".join(kernel.replace("NAME", name) for name in SPECIAL_FUNCTIONS), [f"k_{name}" for name in SPECIAL_FUNCTIONS])


@pytest.mark.parametrize("name", list(SPECIAL_FUNCTIONS))
def test_special_functions_of_the_device_match_scipy(cuda, special_kernels, name):
    reference, x = SPECIAL_FUNCTIONS[name]
    pointer = cuda.put(x)
    special_kernels.launch(f"k_{name}", 1, 1, pointer, c_int(x.size))
    np.testing.assert_allclose(cuda.get(pointer, x), reference(x), rtol=2e-12, atol=1e-14 if name.endswith("pi") else 0)


def test_intrinsics_on_bits_and_conversions(cuda):
    cases = {
        "__brev(6u)": 0x60000000,
        "__clz(1)": 31,
        "__clzll(0)": 64,
        "__ffs(8)": 4,
        "__popcll(255ull << 30)": 8,
        "__umulhi(0xffffffffu, 16u)": 15,
        "__mulhi(-1, 5)": -1,
        "(long long)__umul64hi(1ull << 63, 6)": 3,
        "__byte_perm(0x33221100, 0x77665544, 0x7150)": 0x77115500,
        "__funnelshift_l(0x80000000u, 1u, 1)": 3,
        "__funnelshift_r(2u, 1u, 1)": 2**31 + 1,
        "__float2int_rn(2.5f)": 2,
        "__float2int_ru(2.1f)": 3,
        "__float2int_rz(1e20f)": 2**31 - 1,
        "__float2uint_rz(-3.0f)": 0,
        "__double2ll_rd(-2.5)": -3,
        "__float_as_int(1.0f)": 0x3F800000,
        "(long long)__hiloint2double(0x40080000, 0)": 3,
        "min(-1, 2u)": 2,
        "max(3.0f, __int_as_float(0x7fc00000))": 3,
        "(long long)__saturatef(7.0f)": 1,
    }
    stores = "".join(f"x[{i}] = (long long)({case});" for i, case in enumerate(cases))
    module = cuda.compile(f"__global__ void k(long long* x) {{ {stores} }}", ["k"])
    results = cuda.put(np.zeros(len(cases), np.int64))
    module.launch("k", 1, 1, results)
    assert dict(zip(cases, cuda.get(results, np.zeros(len(cases), np.int64)).tolist(), strict=True)) == cases


def test_errors_of_the_compiler_reach_the_log(cuda):
    with pytest.raises(CompilationError, match=r"test\.cu:2.*undeclared_name"):
        cuda.compile("__global__ void k(int* x) {\n  *x = undeclared_name;\n}", ["k"])


def test_device_code_sees_no_standard_library(cuda):
    with pytest.raises(CompilationError, match="std"):
        cuda.compile("__global__ void k(float* x) { *x = std::sqrt(*x); }", ["k"])


def test_options_reach_the_compiler_and_unknown_ones_are_refused(cuda):
    source = "__global__ void k(int* x) { *x = VALUE + __CUDA_ARCH__; }"
    module = cuda.compile(source, ["k"], ["--gpu-architecture=sm_80", "-DVALUE=7", "--std=c++17", "--use_fast_math"])
    x = cuda.put(np.zeros(1, np.int32))
    module.launch("k", 1, 1, x)
    assert cuda.get(x, np.zeros(1, np.int32))[0] == 807
    with pytest.raises(CompilationError, match="unknown option --strange"):
        cuda.compile(source, ["k"], ["--strange"])


def test_a_name_that_the_module_does_not_have_is_not_found(cuda, kernels):
    with pytest.raises(CudaError) as error:
        kernels.function("missing")
    assert error.value.code == NOT_FOUND


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ("__trap();", ILLEGAL_INSTRUCTION, "__trap"),
        ("assert(threadIdx.x < 3);", ASSERT, "threadIdx.x < 3"),
        ("x[1024] = 1;", ILLEGAL_ADDRESS, "wrong address"),  # in the page behind the allocation, which nothing else can have
        ("if (threadIdx.x < 3) __syncthreads(); else __syncwarp();", LAUNCH_FAILED, "wait forever"),
    ],
)
def test_a_kernel_that_fails_breaks_the_context_and_is_named(body, code, message):
    program = f"""
module = cuda.compile("__global__ void broken(int* x) {{{{ {body} }}}}", ["broken"])
x = cuda.put(np.zeros(4, np.int32))
module.launch("broken", 1, 8, x)  # the launch itself returns before the kernel runs
for call in ("cuCtxSynchronize", "cuCtxSynchronize"):
    try:
        getattr(cuda, call)()
    except CudaError as error:
        print(error.code)
""".replace("{{", "{").replace("}}", "}")
    result = run(program)
    assert result.stdout.split() == [str(code)] * 2, result.stderr
    assert "kernel broken" in result.stderr
    assert message in result.stderr
