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


@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin"])
@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_reductions_of_sparse_tensors_are_sparse_and_ignore_masked_elements(name, layout, same_as_torch):
    def scenario(lib):
        x = lib.tensor([[0.0, 1.0, 3.0], [2.0, 0.0, 0.0]]).to_sparse(layout=getattr(lib, layout))
        mask = lib.tensor([[True, True, False], [False, True, True]])
        found = []
        for dim in (0, 1, (0, 1)):
            for m in (mask, mask.to_sparse(), mask.to_sparse_csr()):
                out = getattr(lib.masked, name)(x, dim, keepdim=True, mask=m)
                found.append((str(out.layout), out.to_dense()))
        if layout == "sparse_coo":
            found += [getattr(lib.masked, name)(x, dim, mask=mask[0]).to_dense() for dim in (0, 1, None)]
        return found

    same_as_torch(scenario)


@pytest.mark.parametrize("call", ["sum_csr_without_keepdim", "prod_without_mask", "mean_of_coo", "var"])
def test_reductions_of_sparse_tensors_that_are_not_defined_raise(call, same_as_torch):
    def scenario(lib):
        x = lib.tensor([[0.0, 1.0], [2.0, 0.0]])
        if call == "sum_csr_without_keepdim":
            return lib.masked.sum(x.to_sparse_csr(), 0)
        if call == "prod_without_mask":
            return lib.masked.prod(x.to_sparse(), 0)
        return (lib.masked.mean if call == "mean_of_coo" else lib.masked.var)(x.to_sparse(), 0, mask=x > 0)

    same_as_torch(scenario)


@pytest.mark.parametrize("name", ["sum", "prod", "amax"])
def test_a_masked_reduction_of_a_sparse_tensor_has_the_gradient_of_the_dense_one(name):
    x = ut.tensor([[0.0, 1.5, 3.0], [2.0, 0.5, 0.0]])
    mask = ut.tensor([[False, True, True], [True, True, False]])
    dense, sparse = x.clone().requires_grad_(), x.to_sparse().requires_grad_()
    getattr(ut.masked, name)(dense, 1, mask=mask).sum().backward()
    getattr(ut.masked, name)(sparse, 1, mask=mask).to_dense().sum().backward()
    assert ut.equal(sparse.grad.to_dense(), dense.grad)


def test_a_masked_mean_of_a_csr_matrix_divides_by_the_number_of_unmasked_elements(same_as_torch):
    same_as_torch(lambda lib: lib.masked.mean(lib.tensor([[0.0, 1.0], [2.0, 4.0]]).to_sparse_csr(), 1, keepdim=True, mask=lib.tensor([[True, True], [False, True]])).to_dense())


@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin"])
def test_a_sparse_tensor_without_an_unmasked_element_is_reduced_to_the_identity(name, same_as_torch):
    def scenario(lib):
        x, mask = lib.ones(2, 3), lib.zeros(2, 3, dtype=lib.bool)
        found = [getattr(lib.masked, name)(t.to_sparse(), mask=mask) for t in (x, x.int())]
        return [(t._nnz(), t.to_dense()) for t in found]

    same_as_torch(scenario)
