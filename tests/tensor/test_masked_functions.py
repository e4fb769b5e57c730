"""`undertow.masked` with sparse masks, and the dtype of complex variances."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow import masked

NAMES = ["sum", "amax", "amin", "mean", "prod", "var", "std", "softmax", "argmax", "cumsum", "logsumexp", "median"]


@pytest.mark.parametrize(
    "convert", [lambda m: m.to_sparse(), lambda m: m.to_sparse_csr(), lambda m: m.to_sparse_bsr((2, 1))], ids=["coo", "csr", "bsr"]
)
@pytest.mark.parametrize("name", NAMES)
def test_what_a_sparse_mask_does_not_specify_is_masked(name, convert):
    x = ut.tensor([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0]])
    mask = ut.tensor([[True, False, True], [False, True, True]])
    result = getattr(masked, name)(x, dim=1, mask=convert(mask))
    assert str(result.tolist()) == str(getattr(masked, name)(x, dim=1, mask=mask).tolist())


def test_values_of_a_sparse_mask_may_say_false():
    mask = ut.sparse_coo_tensor([[0, 2]], [True, False], (3,))
    assert masked.sum(ut.tensor([1.0, 2.0, 4.0]), mask=mask).item() == 1


@pytest.mark.parametrize("name, expected", [("var", 1.0), ("std", 1.0)])
def test_the_spread_of_complex_elements_has_their_dtype(name, expected):
    x, mask = ut.tensor([1 + 1j, 2 + 0j, 3 - 2j]), ut.tensor([True, True, False])
    result = getattr(masked, name)(x, dim=0, mask=mask)
    assert result.dtype == ut.complex64 and result.item() == expected + 0j
