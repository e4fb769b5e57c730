"""Sorting, selecting, searching and counting: NumPy's results at the sizes where algorithms change, with ties, NaN and extreme values."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut

RNG = np.random.default_rng(1)


def tensor(array):
    return ut.from_numpy(np.ascontiguousarray(array))


def line(kind, n):
    if kind == "ties":
        return RNG.integers(-3, 4, n).astype(np.float32)
    if kind == "constant":
        return np.full(n, 2.5, np.float32)
    if kind == "special":
        return RNG.choice(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -1.5, 1e-45, -1e-45], np.float32), n)
    if kind == "float64":
        return RNG.standard_normal(n)
    if kind == "int64":
        return RNG.choice(np.array([-(2**63), 2**63 - 1, 0, -1, 1, 2**32, -(2**32)]), n)
    if kind == "int32":
        return RNG.integers(-(2**31), 2**31, n).astype(np.int32)
    if kind == "near":
        return RNG.integers(10**12, 10**12 + 1000, n)
    if kind == "uint8":
        return RNG.integers(0, 256, n).astype(np.uint8)
    return RNG.standard_normal(n).astype(np.float32)


KINDS = ["random", "ties", "constant", "special", "float64", "int64", "int32", "near", "uint8"]
# Ranked up to 128, sorted by bytes up to 16384, by longer digits beyond.
LENGTHS = [1, 2, 15, 16, 17, 127, 128, 129, 1000, 16_383, 16_384, 16_385]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", LENGTHS)
def test_sorting_keeps_equal_elements_in_their_order(kind, n):
    x = line(kind, n)
    values, order = tensor(x).sort()
    expected = np.argsort(x, kind="stable")
    np.testing.assert_array_equal(order.numpy(), expected)
    np.testing.assert_array_equal(values.numpy(), x[expected])
    # Descending: the greatest first, NaN before them, equal elements still in their order.
    values, order = tensor(x).sort(descending=True)
    _, ranks = np.unique(x, return_inverse=True, equal_nan=True)
    np.testing.assert_array_equal(order.numpy(), np.argsort(-ranks, kind="stable"))
    np.testing.assert_array_equal(values.numpy(), x[order.numpy()])


def test_a_sort_along_any_dimension_of_any_layout_is_that_of_its_lines(threads):
    x = RNG.standard_normal((9, 130, 21)).astype(np.float32)
    for d in range(3):
        for u, a in [(tensor(x), x), (tensor(x).permute(2, 0, 1), x.transpose(2, 0, 1)), (tensor(x)[:, ::2], x[:, ::2])]:
            values, order = u.sort(d)
            np.testing.assert_array_equal(order.numpy(), np.argsort(a, d, kind="stable"))
            np.testing.assert_array_equal(values.numpy(), np.sort(a, d))


@pytest.mark.parametrize("kind", ["random", "ties", "special", "int64", "uint8", "float64"])
@pytest.mark.parametrize("n", [1, 2, 63, 64, 100, 320, 2000])
@pytest.mark.parametrize("largest", [True, False])
def test_topk_returns_the_first_of_the_sorted_elements(kind, n, largest, threads):
    x = np.stack([line(kind, n) for _ in range(70)])
    u = tensor(x)
    ordered = u.sort(1, descending=largest)[0].numpy()
    for k in {1, min(5, n), min(33, n), max(1, n // 4), n}:
        values, at = u.topk(k, 1, largest)
        np.testing.assert_array_equal(values.numpy(), ordered[:, :k])
        np.testing.assert_array_equal(np.take_along_axis(x, at.numpy(), 1), values.numpy())
        assert all(len(set(row)) == k for row in at.tolist())
        unsorted = np.sort(u.topk(k, 1, largest, sorted=False)[0].numpy(), 1)
        np.testing.assert_array_equal(unsorted, np.sort(values.numpy(), 1))


@pytest.mark.parametrize("kind", ["random", "ties", "constant", "int64", "near", "uint8", "float64"])
@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 100, 2047, 2049, 70_001])
def test_the_median_and_the_kth_value_have_their_rank(kind, n):
    x = line(kind, n)
    u, ordered = tensor(x), np.sort(x)
    value, at = u.median(0)
    assert value.item() == ordered[(n - 1) // 2] == x[at.item()]
    assert u.median().item() == ordered[(n - 1) // 2]
    for k in {1, n, n // 3 + 1}:
        value, at = u.kthvalue(k)
        assert value.item() == ordered[k - 1] == x[at.item()]


def test_the_median_of_a_line_with_nan_is_its_first_nan_and_nanmedian_ignores_it():
    x = ut.tensor([3.0, float("nan"), 1.0, float("nan"), 2.0])
    assert x.median(0)[1].item() == 1
    assert [t.item() for t in x.nanmedian(0)] == [2.0, 4]
    assert ut.full((4,), float("nan")).nanmedian(0)[1].item() == 0


def test_the_mode_of_elements_that_all_differ_is_the_smallest():
    x = RNG.permutation(300).astype(np.float32)
    value, at = tensor(x).mode()
    assert value.item() == 0 and x[at.item()] == 0
    x[:3] = 7.0
    assert tensor(x).mode()[0].item() == 7


@pytest.mark.parametrize("kind", ["near", "int64", "uint8", "int32", "ties", "random"])
@pytest.mark.parametrize("n", [0, 1, 2, 1000, 40_000])
def test_unique_elements_are_sorted_with_their_indices_and_counts(kind, n, threads):
    x = line(kind, n)
    values, inverse, counts = tensor(x).unique(return_inverse=True, return_counts=True)
    for ours, theirs in zip((values, inverse, counts), np.unique(x, return_inverse=True, return_counts=True), strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs)
    np.testing.assert_array_equal(tensor(x).unique().numpy(), np.unique(x))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 7, 8, 17, 1000])
def test_a_search_finds_the_first_or_last_index(n):
    keys = np.sort(RNG.integers(0, 20, n)).astype(np.float32)
    x = np.concatenate([RNG.integers(-2, 23, 200).astype(np.float32), np.array([np.nan, np.inf, -np.inf], np.float32)])
    for side in ("left", "right"):
        np.testing.assert_array_equal(ut.searchsorted(tensor(keys), tensor(x), right=side == "right").numpy(), np.searchsorted(keys, x, side))
        order = RNG.permutation(n)
        shuffled = np.empty_like(keys)
        shuffled[order] = keys
        found = ut.searchsorted(tensor(shuffled), tensor(x), right=side == "right", sorter=tensor(order))
        np.testing.assert_array_equal(found.numpy(), np.searchsorted(keys, x, side))


@pytest.mark.parametrize("bins", [1, 10, 65_536, 65_537, 200_000])
def test_counts_of_integers_match_numpy(bins, threads):
    x = RNG.integers(0, bins, 600_001)
    np.testing.assert_array_equal(tensor(x).bincount().numpy(), np.bincount(x))
    np.testing.assert_array_equal(tensor(x[:7]).bincount(minlength=12).numpy(), np.bincount(x[:7], minlength=12))


@pytest.mark.parametrize("offset", [-3, 0, 2])
def test_indices_of_triangles_match_numpy(offset):
    for rows, columns in [(0, 3), (4, 6), (6, 4)]:
        np.testing.assert_array_equal(ut.tril_indices(rows, columns, offset).numpy(), np.stack(np.tril_indices(rows, offset, columns)))
        np.testing.assert_array_equal(ut.triu_indices(rows, columns, offset).numpy(), np.stack(np.triu_indices(rows, offset, columns)))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 100])
def test_searching_and_membership_at_every_number_of_keys(n):
    keys = np.sort(RNG.integers(0, 40, n)).astype(np.float64)
    values = np.concatenate([np.arange(-1, 42, 0.5), [np.nan, np.inf, -np.inf]])
    for side in ("left", "right"):
        found = ut.searchsorted(tensor(keys), tensor(values), side=side).numpy()
        np.testing.assert_array_equal(found, np.searchsorted(keys, values, side=side))
    np.testing.assert_array_equal(ut.isin(tensor(values), tensor(keys)).numpy(), np.isin(values, keys))
    whole, among = values[:-3].astype(np.int64), keys.astype(np.int64)
    np.testing.assert_array_equal(ut.isin(tensor(whole), tensor(among), invert=True).numpy(), np.isin(whole, among, invert=True))


@pytest.mark.parametrize("n", [0, 1, 2, 1000, 200_000])
def test_consecutive_duplicates_are_removed_with_and_without_positions(n):
    x = np.repeat(RNG.integers(0, 3, n), 2)[:n].astype(np.float32)
    first = np.concatenate([[True], x[1:] != x[:-1]])[:n]
    np.testing.assert_array_equal(ut.unique_consecutive(tensor(x)).numpy(), x[first])
    values, inverse, counts = ut.unique_consecutive(tensor(x), return_inverse=True, return_counts=True)
    np.testing.assert_array_equal(values.numpy(), x[first])
    np.testing.assert_array_equal(values.numpy()[inverse.numpy()], x)
    assert counts.sum().item() == n


# Up to 64 keys of eight bytes and 128 of four are compared with every value; values are searched in blocks of 512.
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 63, 64, 65, 128, 129, 700])
def test_many_values_are_searched_in_sorted_and_in_sorter_order(kind, n):
    keys, x = np.sort(line(kind, n)), line(kind, 1030)
    order = RNG.permutation(n)
    shuffled = np.empty_like(keys)
    shuffled[order] = keys
    for side in ("left", "right"):
        expected = np.searchsorted(keys, x, side)
        np.testing.assert_array_equal(ut.searchsorted(tensor(keys), tensor(x), side=side).numpy(), expected)
        np.testing.assert_array_equal(ut.searchsorted(tensor(shuffled), tensor(x), side=side, sorter=tensor(order)).numpy(), expected)
        np.testing.assert_array_equal(ut.bucketize(tensor(x), tensor(keys), right=side == "right", out_int32=True).numpy(), expected)
    rows = np.stack([keys, keys[::-1].copy()])
    rows.sort(axis=1)
    found = ut.searchsorted(tensor(rows), tensor(np.stack([x, x[::-1]])))
    np.testing.assert_array_equal(found.numpy(), np.stack([np.searchsorted(k, v) for k, v in zip(rows, (x, x[::-1]), strict=True)]))
    np.testing.assert_array_equal(ut.isin(tensor(x), tensor(keys)).numpy(), np.isin(x, keys))


@pytest.mark.parametrize("half", [ut.bfloat16, ut.float16])
def test_half_types_are_ordered_like_the_floats_they_stand_for(half):
    x = tensor(np.concatenate([line("special", 700), line("random", 700)])).to(half)
    wide = x.float()
    keys = wide.sort()[0]
    np.testing.assert_array_equal(ut.searchsorted(keys.to(half), x, right=True).numpy(), ut.searchsorted(keys, wide, right=True).numpy())
    np.testing.assert_array_equal(ut.isin(x, x[:5]).numpy(), ut.isin(wide, wide[:5]).numpy())
    np.testing.assert_array_equal(x.sort()[1].numpy(), wide.sort()[1].numpy())
    np.testing.assert_array_equal(x.unique_consecutive().float().numpy(), wide.unique_consecutive().numpy())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 512, 513, 514, 1030])
def test_a_run_starts_where_an_element_differs_from_the_one_before(kind, n):
    x = line(kind, n)
    first = np.concatenate([[True], x[1:] != x[:-1]])
    np.testing.assert_array_equal(ut.unique_consecutive(tensor(x)).numpy(), x[first])
    values, inverse, counts = ut.unique_consecutive(tensor(x), return_inverse=True, return_counts=True)
    np.testing.assert_array_equal(values.numpy(), x[first])
    np.testing.assert_array_equal(inverse.numpy(), np.cumsum(first) - 1)
    np.testing.assert_array_equal(counts.numpy(), np.diff(np.flatnonzero(np.append(first, True))))
