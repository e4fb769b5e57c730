"""Operands repeated along a dimension, and rows of a few elements: the results of contiguous copies, on one thread and on two."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import undertow as ut

RNG = np.random.default_rng(3)
DTYPES = [ut.bool, ut.uint8, ut.int64, ut.bfloat16, ut.float32, ut.float64, ut.complex64, ut.complex128]
# Rows of one element, below and above what is computed in blocks, and several blocks long.
SHAPES = [(5, 1), (700, 2), (700, 3), (130, 15), (130, 16), (130, 17), (6, 513), (3, 1500), (4, 0), (40_000, 3)]


def column(rows, dtype):
    x = ut.from_numpy(RNG.integers(-9, 9, (rows, 1)) / 2).to(dtype)
    if dtype.is_floating_point:
        x[:1], x[1:2], x[2:3] = float("nan"), float("inf"), -0.0
    return x


def same(ours, theirs):
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    a, b = ours.contiguous(), theirs.contiguous()
    if a.dtype == ut.bfloat16:
        a, b = a.view(ut.int16), b.view(ut.int16)
    assert a.numpy().tobytes() == b.numpy().tobytes()


def layouts(shape, dtype):
    """A repeated column and row, a slice of wider rows, a column-major tensor; and their contiguous copies made without an operator."""
    rows, columns = shape
    wide = ut.from_numpy(RNG.integers(-9, 9, (rows, columns + 3)) / 4).to(dtype)
    views = [
        column(rows, dtype).expand(rows, columns),
        column(columns, dtype).t().expand(rows, columns),
        wide[:, 1 : columns + 1],
        ut.from_numpy(RNG.integers(-9, 9, (columns, rows)) / 4).to(dtype).t(),
        wide[:, :columns].contiguous(),
    ]
    return [(v, stacked(v)) for v in views]


def stacked(view):
    if not view.numel():
        return ut.empty(*view.shape, dtype=view.dtype)
    return ut.cat([row.reshape(1, -1) for row in view]) if view.shape[0] < 1000 else ut.cat([c.reshape(-1, 1) for c in view.t()], 1)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_copies_and_conversions_of_any_layout_are_those_of_the_elements(shape, dtype, threads):
    for view, plain in layouts(shape, dtype):
        same(view.clone(memory_format=ut.contiguous_format), plain)
        same(ut.zeros(*shape, dtype=dtype).copy_(view), plain)
        out = ut.zeros(shape[1], shape[0], dtype=dtype).t()
        same(out.copy_(view), plain)
        for to in (ut.float64, ut.bool, ut.float16):
            if not dtype.is_complex:
                same(view.to(to), plain.to(to))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_operators_on_any_layout_give_the_bits_of_contiguous_operands(shape, dtype, threads):
    pairs = layouts(shape, dtype)
    for view, plain in pairs:
        same(view + 1, plain + 1)
        same(view == 2, plain == 2)
        if dtype not in (ut.bool, ut.uint8):
            same(view.abs(), plain.abs())
        if dtype.is_floating_point:
            same(view.exp(), plain.exp())
            same(view / 3, plain / 3)
        for other, other_plain in pairs:
            same(view * other, plain * other_plain)
            out = ut.zeros(*shape, dtype=dtype)
            ut.mul(view, other, out=out)
            same(out, plain * other_plain)


@pytest.mark.parametrize("dtype", [ut.int64, ut.bfloat16, ut.float32, ut.complex128], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_three_operands_of_any_layout_give_the_bits_of_contiguous_ones(shape, dtype):
    pairs = layouts(shape, dtype)
    if shape[0] > 1000:
        pairs = pairs[:3]
    for a, a_plain in pairs:
        for b, b_plain in pairs:
            for c, c_plain in pairs[:2] + pairs[-1:]:
                same(ut.addcmul(a, b, c), ut.addcmul(a_plain, b_plain, c_plain))


def test_in_place_operators_on_short_rows_of_a_wider_tensor_leave_the_rest_alone():
    x = ut.arange(5000.0).reshape(500, 10)
    expected = x.numpy().copy()
    expected[:, 2:5] *= expected[:, 7:8]
    x[:, 2:5] *= x[:, 7:8]
    np.testing.assert_array_equal(x.numpy(), expected)
    expected[:, :3] = expected[:, 9:]
    x[:, :3].copy_(x[:, 9:].expand(500, 3))
    np.testing.assert_array_equal(x.numpy(), expected)


@pytest.mark.parametrize("keepdim", [False, True])
def test_the_gradient_of_a_mean_is_divided_before_or_after_it_is_expanded(keepdim):
    for shape, dim in (((40, 7), 1), ((40, 7), 0), ((5, 6, 300), (1, 2)), ((5, 3, 4), 1)):
        x = ut.randn(*shape, requires_grad=True)
        y = x.mean(dim, keepdim=keepdim)
        g = ut.randn(*y.shape)
        (dx,) = ut.autograd.grad(y, x, g)
        count = x.numel() // y.numel()
        same(dx, (g.reshape(x.mean(dim, keepdim=True).shape) / count).expand(*shape).contiguous())


INDEXED = [(1, 1), (3, 40), (40, 3), (40, 5), (700, 6), (400, 90), (2, 70_000)]


@pytest.mark.parametrize("dtype", [ut.uint8, ut.int64, ut.bfloat16, ut.float16, ut.float32, ut.float64, ut.complex128], ids=str)
@pytest.mark.parametrize("shape", INDEXED, ids=str)
def test_an_expanded_index_selects_and_updates_what_its_copy_does(shape, dtype, threads):
    rows, columns = shape
    x = ut.from_numpy(RNG.integers(0, 9, shape)).to(dtype)
    src = ut.from_numpy(RNG.integers(0, 9, shape)).to(dtype)
    along_rows = ut.from_numpy(RNG.integers(0, rows, (rows, 1))).expand(rows, columns)
    along_columns = ut.from_numpy(RNG.integers(0, columns, (1, columns))).expand(rows, columns)
    one = ut.from_numpy(RNG.integers(0, min(shape), (1, 1))).expand(rows, columns)
    part = along_rows[: rows // 2 + 1, : columns // 2 + 1]
    for dim, index in ((0, along_rows), (1, along_columns), (0, along_columns % rows), (1, one), (0, one), (1, along_rows % columns), (0, part)):
        plain = index.contiguous()
        same(x.gather(dim, index), x.gather(dim, plain))
        same(x.t().gather(1 - dim, index.t()), x.t().gather(1 - dim, plain.t()))
        same(x.scatter(dim, index, src), x.scatter(dim, plain, src))
        same(x.scatter(dim, index, 3), x.scatter(dim, plain, 3))
        same(x.scatter_add(dim, index, src), x.scatter_add(dim, plain, src))
        if not dtype.is_complex:
            for how in ("amax", "prod", "mean"):
                for include in (True, False):
                    same(x.scatter_reduce(dim, index, src, how, include_self=include), x.scatter_reduce(dim, plain, src, how, include_self=include))


def test_an_index_expanded_along_the_last_of_three_dimensions_reads_and_adds_rows(threads):
    for channels in (1, 2, 3, 5, 8, 32, 65):
        x = RNG.standard_normal((4, 50, channels)).astype(np.float32)
        at = RNG.integers(0, 50, (4, 30, 1))
        index = ut.from_numpy(at).expand(4, 30, channels)
        expected = np.take_along_axis(x, np.broadcast_to(at, (4, 30, channels)), 1)
        np.testing.assert_array_equal(ut.from_numpy(x).gather(1, index).numpy(), expected)
        sums = np.zeros_like(x)
        for b in range(4):
            for k in range(30):
                sums[b, at[b, k, 0]] += x[b, k]
        np.testing.assert_array_equal(ut.zeros(4, 50, channels).scatter_add(1, index, ut.from_numpy(x)).numpy(), sums)


@pytest.mark.parametrize("position", [-1, 6])
def test_an_expanded_index_out_of_range_raises(position):
    x = ut.zeros(6, 40)
    for rows in (2, 3000):
        at = ut.zeros(rows, 1, dtype=ut.int64)
        at[-1] = position
        index = at.expand(rows, 40)
        message = f"index {position} is out of bounds for dimension 0 with size 6"
        with pytest.raises(RuntimeError, match=message):
            x.gather(0, index)
        with pytest.raises(RuntimeError, match=message):
            ut.zeros(6, 40).scatter_add_(0, index, ut.ones(rows, 40))
        with pytest.raises(RuntimeError, match=message):
            ut.zeros(6, 40).scatter_(0, index, 1.0)
        with pytest.raises(RuntimeError, match=message):
            ut.zeros(6, 40).scatter_reduce_(0, index, ut.ones(rows, 40), "amax")


@pytest.mark.parametrize("dtype", [ut.bfloat16, ut.float16], ids=str)
def test_halves_added_by_rows_are_rounded_after_every_addition(dtype):
    for columns in (1, 5, 31, 32, 33, 513, 1100):
        x = ut.randn(7, columns).to(dtype)
        x[0, :1], x[1, :1] = float("inf"), float("nan")
        at = ut.tensor([3, 3, 0, 3, 6])
        src = ut.randn(5, columns).to(dtype)
        expected = x.clone()
        for k, row in enumerate(at.tolist()):
            expected[row] = (expected[row].float() + src[k].float()).to(dtype)
        done = x.index_add(0, at, src)
        np.testing.assert_array_equal(done.float().numpy(), expected.float().numpy())


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 3), (2, 3, 0), (0, 2, 3)])
def test_operands_without_elements_in_any_layout_give_empty_results(shape):
    for order in itertools.permutations(range(len(shape))):
        x = ut.ones(shape).permute(order)
        partners = [(), x.shape[-1:], x.shape]
        partners += [tuple(n if d % 2 == kept else 1 for d, n in enumerate(x.shape)) for kept in (0, 1)]
        for y in map(ut.ones, partners):
            for result in (x * y, ut.addcmul(x, y, x), ut.where(x > y, x, y), ut.atan2(y, x), x.double() + y, x.contiguous()):
                assert result.shape == x.shape


@pytest.mark.parametrize("dtype", [ut.float32, ut.float64, ut.int64, ut.int32, ut.bfloat16, ut.complex64])
@pytest.mark.parametrize("shape", [(1, 64), (16, 63), (16, 64), (17, 129), (300, 257), (3, 40, 130), (20, 3, 70), (70, 20, 2)])
def test_operands_of_mixed_layouts_are_computed_element_by_element(shape, dtype, threads):
    r = np.random.default_rng(4)
    a, b, c = (ut.tensor(r.integers(-50, 50, shape)).to(dtype) for _ in range(3))
    for order in itertools.permutations(range(len(shape))):
        back = [order.index(d) for d in range(len(shape))]
        x = a.permute(order).contiguous().permute(back)  # the same elements, laid out in another order
        assert (x + b).equal(a + b)
        assert (b - x).equal(b - a)
        assert ut.addcmul(b, x, c).equal(ut.addcmul(b, a, c))
        assert ut.addcmul(x, x, c).equal(ut.addcmul(a, a, c))
        out = ut.empty(shape, dtype=dtype)
        assert ut.mul(x, c, out=out).equal(a * c)
        if dtype != ut.complex64:
            assert (x < b).equal(a < b)


@pytest.mark.parametrize("write", ["mul_", "add_", "pow_", "copy_"])
def test_rows_that_overlap_are_written_one_after_another(write):
    values = [0.5, 0.2, 0.9, 0.4]
    x, one_by_one = ut.tensor(values), ut.tensor(values)
    rows = x.unfold(0, 2, 1)
    factors = rows.abs() + 0.1
    getattr(rows, write)(factors)
    for row, factor in zip(one_by_one.unfold(0, 2, 1), factors, strict=True):
        getattr(row, write)(factor)
    assert x.tolist() == one_by_one.tolist()
