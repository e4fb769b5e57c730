"""Products of matrices and vectors on a GPU agree with the CPU's."""
from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import undertow as ut
from tests.cuda.compare import HALF, close, numbers, same_on_both
from undertow.cuda._library import functions

pytestmark = pytest.mark.cuda
FLOATS = (ut.float32, ut.float64, *HALF)
Layout = Callable[[ut.Tensor], ut.Tensor]
INTEGERS = (ut.uint8, ut.int8, ut.int16, ut.int32, ut.int64)
# Rows, columns and depth: within one tile, several tiles, vectors on either side, a long sum, no depth.
SIZES = [(3, 4, 5), (33, 70, 65), (130, 64, 40), (1, 40, 300), (40, 1, 300), (1, 1, 5000), (9, 8, 0)]


def integers(*shape: int, dtype: ut.dtype) -> ut.Tensor:
    g = ut.Generator().manual_seed(sum(shape))
    return ut.randint(0, 100, shape, generator=g, dtype=dtype)


def complex_numbers(*shape: int, dtype: ut.dtype) -> ut.Tensor:
    real = ut.float32 if dtype == ut.complex64 else ut.float64
    return ut.complex(numbers(*shape, dtype=real), numbers(*shape, dtype=real, seed=1))


def as_real(t: ut.Tensor) -> ut.Tensor:
    return ut.view_as_real(t.cpu())


def column_major(t: ut.Tensor) -> ut.Tensor:
    return t.t().contiguous().t()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("sizes", SIZES)
def test_products_of_matrices_in_all_layouts(dtype: ut.dtype, sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    a, b = numbers(m, k, dtype=dtype, grad=True), numbers(k, n, dtype=dtype, grad=True, seed=1)
    same_on_both(ut.mm, a, b)
    same_on_both(lambda x, y: ut.mm(column_major(x), y), a.detach(), b.detach())
    same_on_both(lambda x, y: ut.mm(x, column_major(y)), a.detach(), b.detach())
    same_on_both(lambda x, y: ut.mm(column_major(x), column_major(y)), a.detach(), b.detach())


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("sizes", [(3, 4, 5), (40, 70, 33), (1, 9, 200)])
def test_products_of_integers_wrap_around(dtype: ut.dtype, sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    same_on_both(ut.mm, integers(m, k, dtype=dtype), integers(k, n, dtype=dtype))


@pytest.mark.parametrize("dtype", [ut.complex64, ut.complex128])
@pytest.mark.parametrize("sizes", [(3, 4, 5), (40, 70, 33), (1, 9, 200)])
def test_products_of_complex_matrices(dtype: ut.dtype, sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    a, b = complex_numbers(m, k, dtype=dtype), complex_numbers(k, n, dtype=dtype)
    close(as_real(ut.mm(a.to("cuda"), b.to("cuda"))), as_real(ut.mm(a, b)))


@pytest.mark.parametrize("dtype", [ut.float32, ut.bfloat16])
@pytest.mark.parametrize("shapes", [((6, 9, 8), (8, 5)), ((2, 3, 40, 33), (3, 33, 50)), ((4, 1, 34, 40), (5, 40, 34)), ((7, 33, 40), (40,)), ((40,), (7, 40, 35))])
def test_batches_broadcast(dtype: ut.dtype, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    same_on_both(ut.matmul, numbers(*shapes[0], dtype=dtype, grad=True), numbers(*shapes[1], dtype=dtype, grad=True, seed=1))


def test_a_matrix_without_a_unit_stride_is_copied() -> None:
    a, b = numbers(80, 90), numbers(90, 80, seed=1)
    same_on_both(lambda x, y: ut.mm(x[::2, ::2], y[::2, ::2]), a, b)
    same_on_both(lambda x, y: ut.mm(x[:1].expand(40, 90), y), a, b)


def test_a_result_with_gaps_is_written() -> None:
    def product(a: ut.Tensor, b: ut.Tensor, c: ut.Tensor) -> ut.Tensor:
        c = c.clone()
        c[::2, ::2].addmm_(a, b, beta=0.5)
        return c
    same_on_both(product, numbers(40, 70), numbers(70, 50, seed=1), numbers(80, 100, seed=2))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("sizes", [(3, 4, 5), (48, 70, 65), (1, 80, 40)])
@pytest.mark.parametrize("added", ["row", "column", "matrix", "number"])
def test_addmm(dtype: ut.dtype, sizes: tuple[int, int, int], added: str) -> None:
    m, n, k = sizes
    shape = {"row": (n,), "column": (m, 1), "matrix": (m, n), "number": ()}[added]
    c, a, b = numbers(*shape, dtype=dtype), numbers(m, k, dtype=dtype), numbers(k, n, dtype=dtype, seed=1)
    same_on_both(ut.addmm, c, a, b)
    same_on_both(lambda x, y, z: ut.addmm(x, y, z, beta=0.5, alpha=-2), c, a, b)
    same_on_both(lambda x, y, z: ut.addmm(x, y, z, beta=0), ut.full_like(c, float("nan")), a, b)


@pytest.mark.parametrize("dtype", FLOATS)
def test_linear_and_its_gradients(dtype: ut.dtype) -> None:
    x, w, b = numbers(4, 30, 48, dtype=dtype, grad=True), numbers(64, 48, dtype=dtype, grad=True, seed=1), numbers(64, dtype=dtype, grad=True, seed=2)
    same_on_both(ut.nn.functional.linear, x, w, b)


@pytest.mark.parametrize("dtype", [ut.float32, ut.float64, ut.bfloat16])
def test_long_vectors(dtype: ut.dtype) -> None:
    v, w = numbers(100_003, dtype=dtype), numbers(100_003, dtype=dtype, seed=1)
    same_on_both(ut.dot, v, w, tol=2e-2 if dtype == ut.bfloat16 else 1e-5)
    matrix = numbers(5, 20_001, dtype=dtype)
    same_on_both(ut.mv, matrix, v[:20_001])
    same_on_both(lambda m, x: ut.mv(m.t().contiguous().t(), x), matrix, v[:20_001])


@pytest.mark.parametrize("dtype", [*FLOATS, ut.int32])
def test_a_vector_with_many_columns(dtype: ut.dtype) -> None:
    v = numbers(70, dtype=ut.float32).mul(10).to(dtype)
    for columns in (2056, 2051):
        matrix = numbers(70, columns).mul(10).to(dtype)
        same_on_both(ut.matmul, v, matrix)
        same_on_both(lambda x, m: ut.matmul(x[::2], m[::2]), v, matrix)
    batch = numbers(3, 2056, 70).mul(10).to(dtype)
    same_on_both(ut.matmul, batch, v)
    same_on_both(lambda m, x: ut.matmul(m[:, :, 1:], x[1:]), batch, v)


def test_trace_and_cross() -> None:
    for dtype in (ut.float32, ut.bfloat16, ut.int32):
        t = integers(300, 310, dtype=dtype) if dtype == ut.int32 else numbers(300, 310, dtype=dtype)
        same_on_both(ut.trace, t)
        same_on_both(lambda x: ut.trace(x.t()[:7]), t)
        x, y = t[:3, :30].reshape(5, 3, 6), t[3:6, :30].reshape(5, 3, 6)
        same_on_both(lambda a, b: ut.linalg.cross(a, b, dim=1), x, y)


def test_float32_products_are_exact_unless_tf32_is_allowed() -> None:
    a, b = numbers(200, 300), numbers(300, 100, seed=1)
    exact = (a.double() @ b.double()).float()
    there = a.to("cuda"), b.to("cuda")
    close(ut.mm(*there), exact, 1e-6)
    ut.backends.cuda.matmul.allow_tf32 = True
    try:
        close(ut.mm(*there), exact, 1e-2)
    finally:
        ut.backends.cuda.matmul.allow_tf32 = False
    close(ut.mm(*there), exact, 1e-6)


@pytest.fixture
def aligned() -> Iterator[None]:
    """Products of any size get matrices with aligned lines."""
    functions().set_switch("matmul.align_any_size", True)
    yield
    functions().set_switch("matmul.align_any_size", False)


# Rows, columns and depth of whole 16 bytes or not; fewer than 16 bytes in some direction.
@pytest.mark.parametrize("sizes", [(40, 71, 72), (40, 72, 71), (41, 64, 80), (39, 51, 73), (46, 49, 64), (7, 72, 73)])
def test_products_with_lines_that_are_not_aligned(sizes: tuple[int, int, int], aligned: None) -> None:
    m, n, k = sizes
    a, b = numbers(m, k, dtype=ut.bfloat16, grad=True), numbers(k, n, dtype=ut.bfloat16, grad=True, seed=1)
    same_on_both(ut.mm, a, b)
    same_on_both(lambda a, b: a @ b.t(), a, numbers(n, k, dtype=ut.bfloat16, grad=True, seed=1))
    same_on_both(lambda a, b, c: ut.addmm(c, a, b), a, b, numbers(n, dtype=ut.bfloat16, grad=True, seed=2))
    same_on_both(lambda a, b, c: ut.addmm(c, a, b, beta=2), a, b, numbers(m, n, dtype=ut.bfloat16, grad=True, seed=2))
    same_on_both(lambda a, b: a[1:, 1:] @ b[1:, 1:], a.detach(), b.detach())


@pytest.mark.parametrize("of_a", [ut.Tensor.contiguous, column_major])
@pytest.mark.parametrize("of_b", [ut.Tensor.contiguous, column_major])
@pytest.mark.parametrize("of_c", [ut.Tensor.contiguous, column_major])
def test_aligned_products_in_all_layouts_write_and_read_nothing_else(of_a: Layout, of_b: Layout, of_c: Layout, aligned: None) -> None:
    """What lies around the matrices is NaN, and stays what it is."""
    def inside(t: ut.Tensor, layout: Layout, around: float) -> tuple[ut.Tensor, ut.Tensor]:
        rows, columns = t.shape
        memory = layout(ut.full((rows + 4, columns + 4), around, dtype=t.dtype, device="cuda"))
        view = memory[2:-2, 2:-2]
        view.copy_(t)
        return view, memory
    m, n, k = 43, 53, 75
    a, b, c = numbers(m, k, dtype=ut.bfloat16), numbers(k, n, dtype=ut.bfloat16, seed=1), numbers(m, n, dtype=ut.bfloat16, seed=2)
    expected = a.double() @ b.double()
    (x, _), (y, _) = inside(a, of_a, float("nan")), inside(b, of_b, float("nan"))
    for beta in (0, 0.5):
        z, memory = inside(ut.full_like(c, float("nan")) if beta == 0 else c, of_c, 7.0)
        z.addmm_(x, y, beta=beta, alpha=2)
        close(z, (2 * expected + (beta * c.double() if beta else 0)).to(ut.bfloat16))
        z.fill_(7)
        assert ut.equal(memory, ut.full_like(memory, 7))


def test_aligned_products_in_tf32(aligned: None) -> None:
    ut.backends.cuda.matmul.allow_tf32 = True
    try:
        for m, n, k in [(9, 11, 13), (50, 35, 41)]:
            same_on_both(ut.addmm, numbers(n, grad=True, seed=2), numbers(m, k, grad=True), numbers(k, n, grad=True, seed=1), tol=1e-2)
    finally:
        ut.backends.cuda.matmul.allow_tf32 = False
