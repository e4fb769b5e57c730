"""Eigenvalues of real matrices are exact conjugate pairs; least squares and condition numbers treat singular matrices as LAPACK and torch do."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [2, 5, 8, 33])
def test_eigenvalues_of_a_real_matrix_are_real_or_exact_pairs(n, dtype):
    a = np.random.default_rng(n).standard_normal((4, n, n)).astype(dtype)
    values, vectors = ut.linalg.eig(ut.from_numpy(a))
    for one, columns, matrix in zip(values.numpy(), vectors.numpy(), a, strict=True):
        above = [z for z in one if z.imag > 0]
        assert sorted(map(complex, [z.conj() for z in above]), key=abs) == sorted((complex(z) for z in one if z.imag < 0), key=abs)
        assert len(above) * 2 + sum(z.imag == 0 for z in one) == n
        np.testing.assert_allclose(matrix @ columns, columns * one, atol=1e-3 if dtype == np.float32 else 1e-11)
        for i, z in enumerate(one):
            if z.imag > 0:
                j = int(np.flatnonzero(one == z.conj())[0])
                assert i < j and (columns[:, j] == columns[:, i].conj()).all()


def test_a_matrix_with_one_eigenvalue_twice_keeps_real_values():
    values = ut.linalg.eigvals(ut.tensor([[2.0, 0.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 3.0]]))
    assert sorted(values.real.tolist()) == [2, 2, 3] and values.imag.tolist() == [0, 0, 0]


@pytest.mark.parametrize("driver, rank", [("gelsd", 2), ("gelss", 0)])
def test_gelsd_takes_a_relative_limit_of_one_as_the_precision(driver, rank):
    a, b = ut.tensor([[3.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), ut.tensor([[3.0], [2.0], [1.0]])
    result = ut.linalg.lstsq(a, b, rcond=1.0, driver=driver)
    assert result.rank.item() == rank
    assert result.solution.tolist() == ([[1.0], [2.0]] if rank else [[0.0], [0.0]])


@pytest.mark.parametrize("driver", ["gelsy", "gelsd", "gelss"])
def test_a_negative_limit_means_the_precision_so_round_off_is_no_rank(driver):
    column = ut.from_numpy(np.random.default_rng(0).standard_normal((6, 1)))
    a = column @ ut.tensor([[1.0, 1 / 3, 1 / 7]], dtype=ut.float64)
    result = ut.linalg.lstsq(a, column, rcond=-1, driver=driver)
    assert result.solution.abs().max() < 2
    np.testing.assert_allclose((a @ result.solution).numpy(), column.numpy(), atol=1e-10)


@pytest.mark.parametrize(
    "a, b, message",
    [
        ((3, 2), (4,), r"input.size\(-2\) should match other.size\(-1\)"),
        ((3, 2), (2, 3, 1), r"input.dim\(\) must be greater or equal to other.dim\(\)"),
        ((2, 3, 2), (3,), r"\(input.dim\(\) - other.dim\(\)\) <= 1"),
        ((2, 3, 2), (2, 4, 1), r"input.size\(-2\) should match other.size\(-2\)"),
    ],
)
def test_systems_that_do_not_fit_raise(a, b, message):
    with pytest.raises(RuntimeError, match=message):
        ut.linalg.lstsq(ut.ones(a), ut.ones(b))


def test_the_nuclear_condition_number_of_a_singular_matrix_is_large_or_infinite():
    a = ut.tensor([[[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]]], dtype=ut.float64, requires_grad=True)
    singular, regular = ut.linalg.cond(a, "nuc").unbind()
    assert singular > 1e15 and abs(regular.item() - 17) < 1e-12
    assert ut.linalg.cond(ut.zeros(2, 2), "nuc").isnan()
    assert ut.autograd.gradcheck(lambda x: ut.linalg.cond(x, "nuc"), a.detach()[1].requires_grad_())
