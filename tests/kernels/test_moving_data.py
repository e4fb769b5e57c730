"""Copies, reads and writes by index, masks: NumPy's results at the boundaries of tiles, blocks and chunks, on one thread and on two."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import undertow as ut

RNG = np.random.default_rng(0)
WIDTHS = [np.uint8, np.int16, np.float32, np.float64, np.complex128]


def data(shape, dtype=np.float32):
    return RNG.integers(-100, 100, shape).astype(dtype)


def tensor(array):
    return ut.from_numpy(np.ascontiguousarray(array))


def same(ours, theirs):
    np.testing.assert_array_equal(ours.numpy(), theirs)


# Around a square of lanes, the rows of a tile, and a tile.
SIDES = [1, 7, 8, 15, 16, 17, 33, 127, 128, 129, 300]


@pytest.mark.parametrize("dtype", WIDTHS)
def test_a_transposed_copy_has_every_element_in_place(dtype, threads):
    for rows, columns in itertools.product(SIDES, SIDES):
        x = data((rows, columns), dtype)
        same(tensor(x).t().contiguous(), x.T)


@pytest.mark.parametrize("dtype", WIDTHS)
def test_copies_of_permuted_slices_match_numpy(dtype, threads):
    x = data((5, 18, 7, 34), dtype)
    u = tensor(x)
    for order in itertools.permutations(range(4)):
        same(u.permute(order).contiguous(), x.transpose(order))
        same(u.permute(order)[:, 1:, ::2].contiguous(), x.transpose(order)[:, 1:, ::2])
    same(u[..., ::2].clone(), x[..., ::2])
    same(u[..., 1:3].clone(), x[..., 1:3])


@pytest.mark.parametrize("width", [1, 2, 3, 5, 7, 8, 12, 15, 16, 31, 32, 33, 63, 64, 65, 511, 512, 513, 4100])
def test_rows_of_any_number_of_bytes_are_copied_whole(width, threads):
    x = data((37, width + 2), np.uint8)
    same(tensor(x)[:, 1:-1].contiguous(), x[:, 1:-1])
    same(ut.cat([tensor(x)[:, 1:-1], tensor(x)], 1), np.concatenate([x[:, 1:-1], x], 1))


@pytest.mark.parametrize("shape", [(1,), (300_001,), (130, 257), (3, 5, 2, 9), (2000, 40)])
def test_flips_and_rolls_match_numpy_over_any_dimensions(shape, threads):
    x = data(shape)
    u = tensor(x)
    for count in range(1, len(shape) + 1):
        for dims in itertools.combinations(range(len(shape)), count):
            same(u.flip(dims), np.flip(x, dims))
            for shift in (0, 1, -1, 7, 1000):
                same(u.roll([shift] * count, dims), np.roll(x, [shift] * count, dims))
    same(u.roll((1, 2), (0, 0)), np.roll(x, 3, 0))


@pytest.mark.parametrize("parts", [1, 2, 3, 40])
def test_concatenated_parts_follow_each_other(parts, threads):
    for shape in [(3, 5), (1, 70_001), (70_001, 1), (300, 130), (2, 40, 5)]:
        arrays = [data(shape) for _ in range(parts)]
        tensors = [tensor(a) for a in arrays]
        for d in range(len(shape)):
            same(ut.cat(tensors, d), np.concatenate(arrays, d))
            same(ut.stack(tensors, d), np.stack(arrays, d))
        same(ut.stack(tensors, len(shape)), np.stack(arrays, len(shape)))


NUMBERS = [np.bool_, np.uint8, np.int32, np.int64, np.float32, np.float64]


@pytest.mark.parametrize("source", NUMBERS)
@pytest.mark.parametrize("target", [t for t in NUMBERS if t is not np.uint8])
def test_conversions_of_long_and_short_runs_match_numpy(source, target):
    for n in (1, 15, 16, 17, 63, 64, 65, 70_003):
        x = RNG.integers(0, 3, n).astype(source) if source in (np.bool_, np.uint8) else data(n, source)
        name = "bool" if target is np.bool_ else np.dtype(target).name
        same(tensor(x).to(getattr(ut, name)), x.astype(target))
        same(tensor(x)[::3].to(getattr(ut, name)), x[::3].astype(target))


@pytest.mark.parametrize("half", [ut.float16, ut.bfloat16])
def test_a_run_converted_to_a_half_type_has_the_bits_of_its_elements_converted_alone(half):
    x = ut.randn(1003) * 100
    x[5], x[6], x[7] = float("nan"), float("inf"), -0.0
    run = x.to(half).view(ut.int16).tolist()
    assert run == [e.to(half).view(ut.int16).item() for e in x]
    assert x.to(half).float().to(half).view(ut.int16).tolist() == run


@pytest.mark.parametrize("dtype", WIDTHS)
def test_reads_by_index_match_numpy(dtype, threads):
    for shape in [(7, 3), (40, 1), (2000, 70), (3, 2100)]:
        x = data(shape, dtype)
        u = tensor(x)
        for d in (0, 1):
            many = RNG.integers(0, shape[d], 5000)
            same(u.index_select(d, tensor(many)), np.take(x, many, d))
            at = RNG.integers(0, shape[d], shape)
            same(u.gather(d, tensor(at)), np.take_along_axis(x, at, d))
        rows, columns = RNG.integers(-shape[0], shape[0], (40, 50)), RNG.integers(0, shape[1], 50)
        same(u[tensor(rows), tensor(columns)], x[rows, columns])
        same(u[tensor(rows)], x[rows])
        same(u[:, tensor(columns)], x[:, columns])
        flat = RNG.integers(-x.size, x.size, 3000)
        same(u.take(tensor(flat)), np.take(x, flat))


@pytest.mark.parametrize("place", [0, 1023, 1024, 40_000])
def test_an_index_out_of_range_raises_wherever_it_is(place, threads):
    x, at = ut.zeros(50_000, 2), ut.zeros(50_000, dtype=ut.int64)
    for bad in (50_000, -50_001):
        at[place] = bad
        for read in (lambda: x[at], lambda: x.index_select(0, at), lambda: x[at, at]):
            with pytest.raises(IndexError, match=f"{bad}"):
                read()
        wide = at[:, None].expand(-1, 2).contiguous()
        for write in (x.gather, lambda d, w: x.scatter(d, w, 1.0), lambda d, w: x.scatter_add(d, w, x)):
            with pytest.raises(RuntimeError, match=f"index {bad} is out of bounds for dimension 0 with size 50000"):
                write(0, wide)
        with pytest.raises(IndexError, match=f"{bad * 2}"):
            x.take(at * 2)


# (rows of the destination, elements of a row, positions): columns split, rows distributed to threads, and both too small for it.
@pytest.mark.parametrize("shape", [(3, 5, 10), (50, 15, 9000), (50, 16, 9000), (1, 300, 500), (1000, 64, 3000), (17, 700, 200)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_rows_are_added_in_the_order_of_the_positions(shape, dtype, threads):
    rows, width, count = shape
    x = (RNG.standard_normal((count, width)) * 100).astype(dtype)
    at = RNG.integers(0, rows, count)
    expected = np.ones((rows, width), dtype)
    np.add.at(expected, at, x)
    start = ut.ones(rows, width, dtype=getattr(ut, np.dtype(dtype).name))
    same(start.index_add(0, tensor(at), tensor(x)), expected)
    same(start.index_put((tensor(at),), tensor(x), accumulate=True), expected)
    same(start.scatter_add(0, tensor(np.repeat(at[:, None], width, 1)), tensor(x)), expected)
    last = np.ones((rows, width), dtype)
    last[at] = x
    same(start.index_copy(0, tensor(at), tensor(x)), last)
    turned = start.t().contiguous()
    same(turned.scatter_add(1, tensor(np.repeat(at[None], width, 0)), tensor(x.T)), expected.T)
    same(turned.index_add(1, tensor(at), tensor(x.T)), expected.T)


@pytest.mark.parametrize("n", [1, 127, 128, 129, 32_767, 32_768, 32_769, 100_003])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
def test_masks_choose_read_and_write_in_order(n, share, threads):
    x, m = data(n), RNG.random(n) < share
    u, mask, v = tensor(x), tensor(m), data(int(m.sum()))
    same(u[mask], x[m])
    same(u.masked_select(mask), x[m])
    same(mask.nonzero()[:, 0], np.nonzero(m)[0])
    same(u.masked_fill(mask, 7.0), np.where(m, 7, x))
    written, added = x.copy(), x.copy()
    written[m] = v
    added[m] += v
    same(u.masked_scatter(mask, tensor(v)), written)
    same(u.index_put((mask,), tensor(v)), written)
    same(u.index_put((mask,), tensor(v), accumulate=True), added)
    same(u.index_put((mask,), ut.tensor(3.0)), np.where(m, 3, x))


def test_nonzero_names_every_dimension(threads):
    for shape in [(3, 4), (1, 70_000), (70_000, 1), (40, 30, 50), (2, 0, 3)]:
        x = RNG.random(shape) < 0.3
        same(tensor(x).nonzero(), np.argwhere(x))
        same((tensor(x).float() * 2).nonzero(), np.argwhere(x))


def test_a_mask_that_is_also_the_output_is_read_first():
    m = ut.tensor([True, False, True])
    m[m] = False
    assert m.tolist() == [False, False, False]


@pytest.mark.parametrize("size,step", [(2, 1), (3, 1), (5, 2), (2, 3)])
def test_overlapping_windows_sum_their_gradients(size, step, threads):
    for shape in [(40, 900), (900, 40), (6, 7, 8)]:
        for d in range(len(shape)):
            x = ut.zeros(shape, dtype=ut.float64, requires_grad=True)
            windows = x.unfold(d, size, step)
            g = RNG.standard_normal(tuple(windows.shape))
            expected = np.zeros(shape)
            view = np.moveaxis(expected, d, -1)
            for w, part in enumerate(np.moveaxis(g, d, 0)):
                view[..., w * step : w * step + size] += part
            (grad,) = ut.autograd.grad(windows, x, tensor(g))
            np.testing.assert_allclose(grad.numpy(), expected, rtol=1e-12, atol=1e-12)


def test_gradients_of_reads_are_the_same_when_they_are_recorded():
    x = ut.randn(30, 20, requires_grad=True)
    at, wide, mask = ut.randint(0, 30, (50,)), ut.randint(0, 20, (30, 6)), ut.rand(30, 20) > 0.5
    flat = ut.randint(0, 600, (9, 5))
    for read in (lambda: x[at], lambda: x.index_select(0, at), lambda: x.gather(1, wide), lambda: x[mask], lambda: x.masked_select(mask), lambda: x.take(flat),
                 lambda: x.max(1).values, lambda: x.cummax(0).values, lambda: x.topk(3, 0).values, lambda: x.median(0).values):
        y = read()
        g = ut.randn(y.shape, requires_grad=True)
        (plain,) = ut.autograd.grad(y, x, g.detach(), retain_graph=True)
        (recorded,) = ut.autograd.grad(y, x, g, create_graph=True)
        assert ut.equal(plain, recorded.detach()) and recorded.requires_grad
        same(ut.autograd.grad(recorded, g, ut.ones_like(x))[0], np.ones(tuple(g.shape), np.float32))


@pytest.mark.parametrize("mode,theirs", [("constant", "constant"), ("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")])
def test_padding_of_many_and_of_long_rows_matches_numpy(mode, theirs, threads):
    for shape in [(2, 3, 4), (1, 300, 70), (1, 2, 40_000), (5, 70, 3)]:
        x = data(shape)
        same(ut.nn.functional.pad(tensor(x), (2, 1, 1, 1), mode=mode), np.pad(x, ((0, 0), (1, 1), (2, 1)), mode=theirs))
    same(ut.nn.functional.pad(tensor(x), (-1, 2, 3, -2), value=9.0), np.pad(x[:, :-2, 1:], ((0, 0), (3, 0), (0, 2)), constant_values=9))
