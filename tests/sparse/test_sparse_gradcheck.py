"""gradcheck of functions that take and return sparse tensors."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow.autograd import gradcheck
from undertow.autograd.gradcheck import GradcheckError

LAYOUTS = ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"]


def leaf(layout: str) -> ut.Tensor:
    d = ut.tensor([[0.0, 1.5, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0]], dtype=ut.float64)
    blocks = {"blocksize": (2, 2)} if "bs" in layout else {}
    return d.to_sparse(layout=getattr(ut, layout), **blocks).requires_grad_()


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_at_the_values_are_checked(layout: str, fast_mode: bool):
    x = leaf(layout)
    before = x.detach().to_dense()
    assert gradcheck(lambda x: x.sin().to_dense(), x, masked=True, fast_mode=fast_mode)
    assert gradcheck(lambda x, y: ut.sparse.mm(x, y), (x, ut.rand(4, 2, dtype=ut.float64, requires_grad=True)), masked=True, fast_mode=fast_mode)
    assert ut.equal(x.detach().to_dense(), before)  # moved and restored


@pytest.mark.parametrize("layout", LAYOUTS)
def test_without_a_mask_all_elements_are_checked(layout: str):
    assert gradcheck(lambda x: (x * 2).to_dense(masked_grad=False), leaf(layout), masked=False)
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        gradcheck(lambda x: x.to_dense(masked_grad=True), leaf(layout), masked=False)


def test_of_several_values_at_one_index_one_moves():
    x = ut.sparse_coo_tensor([[0, 0, 1]], ut.tensor([1.0, 2.0, 3.0], dtype=ut.float64), (3,)).requires_grad_()
    assert gradcheck(lambda x: x.to_dense() ** 2, x, masked=True)


def test_a_gradient_in_another_layout_raises():
    class Wrong(ut.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.to_dense()

        @staticmethod
        def backward(ctx, g):
            return g.to_sparse_csc()

    with pytest.raises(GradcheckError, match="grad is incorrect layout"):
        gradcheck(lambda x: Wrong.apply(x), leaf("sparse_csr"), masked=False)


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_functions_that_return_sparse_tensors(layout: str, masked: bool):
    x = leaf(layout)
    with pytest.raises(ValueError, match="Sparse output is not supported"):
        gradcheck(lambda x: x * 2, x)
    check = ut.sparse.as_sparse_gradcheck(gradcheck)
    assert check(lambda x: x * 2, x, masked=masked) and check(lambda x: (x.to_sparse(), x.to_dense()), x, masked=masked)
    assert check(lambda x, y: x * y, (x, ut.tensor(2.0, dtype=ut.float64)), masked=masked)
