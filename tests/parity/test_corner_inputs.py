"""Inputs at the limits of what an operator accepts: the same result, or the same error, as torch."""

from __future__ import annotations

import warnings

import pytest

torch = pytest.importorskip("torch")

import undertow as ut  # noqa: E402

CASES = {
    "take_along_dim_past_the_end": lambda m: m.take_along_dim(m.ones(5, 5), m.tensor([[100], [3]])),
    "take_along_dim_below_zero": lambda m: m.take_along_dim(m.ones(5, 5), m.tensor([[-1], [3]])),
    "take_along_dim_wraps_in_a_dim": lambda m: m.take_along_dim(m.arange(25.0).view(5, 5), m.tensor([[-6, 7]]), 1),
    "amax_over_none": lambda m: m.amax(m.arange(6.0).view(3, 2), dim=None, keepdim=True),
    "roll_over_none": lambda m: m.roll(m.arange(6.0).view(3, 2), 1, None),
    "normalize_over_all": lambda m: m.nn.functional.normalize(m.ones(3, 2), dim=None),
    "matrix_norm_of_no_columns": lambda m: m.linalg.norm(m.ones(5, 0), 1),
    "matrix_norm_of_no_rows": lambda m: m.linalg.norm(m.ones(0, 5), float("inf")),
    "spectral_norm_of_nothing": lambda m: m.linalg.norm(m.ones(0, 5), 2),
    "least_matrix_norm_of_nothing": lambda m: m.linalg.norm(m.ones(5, 0), -1),
    "variance_of_nothing": lambda m: m.var(m.ones(5, 0), correction=-1),
    "logits_against_integers": lambda m: m.nn.functional.binary_cross_entropy_with_logits(m.tensor([0.3, 0.4]), m.tensor([0, 1])),
    "probabilities_against_integers": lambda m: m.nn.functional.binary_cross_entropy(m.tensor([0.3, 0.4]), m.tensor([0, 1])),
    "high_norm_of_one_element": lambda m: m.dist(m.tensor(9.0), m.tensor(2.0), 50),
    "high_norm_of_one_element_each": lambda m: m.linalg.vector_norm(m.tensor([[7.0], [-8.0]]), 50, dim=1),
    "transposed_number": lambda m: m.tensor(1.0).mT,
    "adjoint_of_a_number": lambda m: m.tensor(1.0 + 2j).mH,
    "search_among_another_dtype": lambda m: m.searchsorted(m.tensor([1, 2, 3]), m.tensor([1.5, 2.5])),
    "search_for_another_dtype": lambda m: m.searchsorted(m.tensor([1.0, 2.0]).half(), m.tensor([2], dtype=m.int32)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_corner_case_matches_torch(name):
    seen = []
    for m in (torch, ut):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = CASES[name](m)
            seen.append((found.tolist(), tuple(found.shape), str(found.dtype).rpartition(".")[2]))
        except (RuntimeError, IndexError, ValueError) as error:
            seen.append((type(error), str(error)[:40]))
    assert repr(seen[0]) == repr(seen[1])  # repr: nan is nan
