"""`einsum` by cases: notation, broadcasting, views, derivatives and errors."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow._functions import einsum as _einsum
from undertow._functions.einsum import einsum


def numbered(*shape: int) -> ut.Tensor:
    count = 1
    for size in shape:
        count *= size
    return (ut.arange(count, dtype=ut.float64) + 1).reshape(shape)


def test_products_of_matrices():
    a, b = numbered(2, 3), numbered(3, 4)
    expected = (a @ b).tolist()
    assert einsum("ij,jk->ik", a, b).tolist() == expected
    assert einsum("ij,jk", a, b).tolist() == expected
    assert einsum(" i j , j k -> i k ", a, b).tolist() == expected
    assert einsum("ij,jk->ki", a, b).tolist() == (a @ b).T.tolist()


def test_batched_products():
    a, b = numbered(5, 2, 3), numbered(5, 3, 4)
    assert einsum("bij,bjk->bik", a, b).tolist() == (a @ b).tolist()
    assert einsum("...ij,...jk->...ik", a, b).tolist() == (a @ b).tolist()


def test_sums_diagonals_and_traces():
    a = numbered(3, 3)
    assert einsum("ij->", a).item() == 45.0
    assert einsum("ij->j", a).tolist() == [12.0, 15.0, 18.0]
    assert einsum("ii->i", a).tolist() == [1.0, 5.0, 9.0]
    assert einsum("ii", a).item() == 15.0
    assert einsum("iii->i", numbered(2, 2, 2)).tolist() == [1.0, 8.0]


def test_outer_and_inner_products_of_several():
    a, b, c = numbered(2), numbered(3), numbered(2)
    assert einsum("i,j->ij", a, b).tolist() == [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]
    assert einsum("i,j,i->j", a, b, c).tolist() == [5.0, 10.0, 15.0]
    assert einsum(",i->i", ut.tensor(2.0, dtype=ut.float64), a).tolist() == [2.0, 4.0]


def test_the_implied_output_sorts_capitals_first_after_the_ellipsis():
    assert einsum("zaB", numbered(2, 3, 4)).shape == (4, 3, 2)
    assert einsum("z...a", numbered(2, 3, 4)).shape == (3, 4, 2)


def test_an_ellipsis_may_cover_nothing_or_be_summed():
    assert einsum("...ij->ji...", numbered(2, 3)).shape == (3, 2)
    assert einsum("...j->j", numbered(2, 3, 4)).shape == (4,)
    assert einsum("ij->...", numbered(2, 3)).item() == 21.0


def test_sizes_of_one_broadcast():
    assert einsum("ij,jk->ik", numbered(2, 3), numbered(1, 4)).shape == (2, 4)
    assert einsum("ij,jk->jik", numbered(2, 1), numbered(3, 4)).shape == (3, 2, 4)
    assert einsum("ij,jk->ik", numbered(2, 1), numbered(1, 4)).shape == (2, 4)
    assert einsum("...i,...i->...", numbered(2, 3, 4), numbered(1, 4)).shape == (2, 3)
    assert einsum("ij,ij->ij", numbered(1, 1), numbered(1, 1)).shape == (1, 1)


def test_empty_dimensions():
    assert einsum("ij,jk", ut.ones(2, 0), ut.ones(0, 4)).tolist() == [[0.0] * 4] * 2
    assert einsum("ij,jk", ut.ones(0, 3), ut.ones(3, 4)).shape == (0, 4)


def test_lists_of_numbers_instead_of_letters():
    a, b = numbered(2, 3), numbered(3, 4)
    assert einsum(a, [0, 1], b, [1, 2]).tolist() == (a @ b).tolist()
    assert einsum(a, [0, 1], b, [1, 2], [2, 0]).tolist() == (a @ b).T.tolist()
    assert einsum(numbered(2, 3, 4), [..., 0], [0, ...]).shape == (4, 2, 3)
    assert einsum(a, [51, 25]).shape == (3, 2)


def test_one_operand_with_an_ellipsis_alone_is_itself():
    x = ut.arange(6.0).reshape(2, 3)
    assert ut.einsum(x, [...]).tolist() == x.tolist()
    assert ut.einsum(x, [..., 0], [0, ...]).tolist() == x.t().tolist()


def test_operands_may_come_in_a_list():
    a, b = numbered(2, 3), numbered(3, 4)
    assert einsum("ij,jk", [a, b]).shape == (2, 4)


def test_a_rearrangement_is_a_view_and_always_a_new_tensor():
    a = numbered(3, 3)
    for equation in ("ij->ji", "ij->ij", "ii->i"):
        result = einsum(equation, a)
        assert result is not a
        assert result.data_ptr() == a.data_ptr()
    scalar = ut.tensor(1.0)
    assert einsum("", scalar) is not scalar


def test_integers():
    a, b = numbered(2, 3).to(ut.int64), numbered(3, 4).to(ut.int64)
    assert einsum("ij,jk->ik", a, b).tolist() == (a @ b).tolist()
    assert einsum("ij->i", ut.ones(2, 1, dtype=ut.int32)).dtype == ut.int64


def test_it_differentiates_twice():
    a = numbered(2, 3).requires_grad_()
    b = numbered(3, 2).requires_grad_()
    out = einsum("ij,jk,ij->k", a, b, a)
    (da,) = ut.autograd.grad(out.sum(), a, create_graph=True)
    assert da.tolist() == [[6.0, 28.0, 66.0], [24.0, 70.0, 132.0]]
    (dda,) = ut.autograd.grad(da.sum(), a)
    assert dda.tolist() == [[6.0, 14.0, 22.0]] * 2


def test_plans_are_kept_per_equation_and_shapes():
    _einsum._plans.clear()
    for _ in range(3):
        einsum("ij,jk->ik", numbered(2, 3), numbered(3, 4))
    assert list(_einsum._plans) == [("ij,jk->ik", ((2, 3), (3, 4)))]


A, B = ut.ones(2, 3), ut.ones(3, 4)
NO_EQUATION = "must specify the equation string and at least one operand"
COUNT = (
    r"the number of subscripts in the equation \({}\) {} "
    r"the number of dimensions \(2\) for operand {}"
)
SUBSCRIPT = "invalid subscript given at index {} in the equation string, subscripts must be in "
ERROR_CASES = [
    ((), ValueError, NO_EQUATION),
    (("ij",), ValueError, NO_EQUATION),
    ((A,), ValueError, NO_EQUATION),
    (("ij,jk", A), RuntimeError, "fewer operands were provided than specified in the equation"),
    (("ij", A, B), RuntimeError, "more operands were provided than specified in the equation"),
    (("", A), RuntimeError, COUNT.format(0, "does not match", 0)),
    (("i", A), RuntimeError, COUNT.format(1, "does not match", 0) + " and no ellipsis was given"),
    (("ij,jkl", A, B), RuntimeError, COUNT.format(3, "does not match", 1)),
    (("ijk...", A), RuntimeError, COUNT.format(3, "is more than", 0)),
    (("i1", A), RuntimeError, SUBSCRIPT.format(1)),
    (("ij- >i", A), RuntimeError, SUBSCRIPT.format(2)),
    (("ij->i->j", A), RuntimeError, SUBSCRIPT.format(5)),
    (("ij->i,j", A), RuntimeError, SUBSCRIPT.format(5)),
    (("i.", A), RuntimeError, r"found '\.' for operand 0 that is not part of any ellipsis"),
    ((". . .i", A), RuntimeError, r"found '\.' for operand 0 that is not part of any ellipsis"),
    (("...i...", A), RuntimeError, r"found '\.' for operand 0 for which an ellipsis was already"),
    (("...ij->.ij", A), RuntimeError, r"found '\.' for output that is not part of any ellipsis \(\.\.\.\)"),
    (("...ij->......", A), RuntimeError, r"found '\.' for output but an ellipsis \(\.\.\.\) was"),
    (("ij->ii", A), RuntimeError, "output subscript i appears more than once in the output"),
    (("ij->k", A), RuntimeError, "output subscript k does not appear in the equation for any"),
    (("ii", A), RuntimeError, "subscript i is repeated for operand 0 but the sizes don't match"),
    (
        ("ij,jk", A, ut.ones(4, 4)),
        RuntimeError,
        "subscript j has size 4 for operand 1 which does not broadcast with previously seen size 3",
    ),
    (
        ("...i,...i", A, ut.ones(3, 3)),
        RuntimeError,
        "dimension 0 covered by ellipsis in operand 1 ?has size 3 which does not broadcast with",
    ),
    (
        (A, [0, 52]),
        ValueError,
        r"subscript in subscript list is not within the valid range \[0, 52",
    ),
    (
        (A, [0, -1]),
        ValueError,
        r"subscript in subscript list is not within the valid range \[0, 52",
    ),
]


@pytest.mark.parametrize(("args", "kind", "clause"), ERROR_CASES)
def test_errors(args, kind, clause):
    with pytest.raises(kind, match=r"^einsum\(\): " + clause):
        einsum(*args)


def test_operands_are_tensors():
    with pytest.raises(
        TypeError, match=r"^expected Tensor as element 0 in argument 1, but got float"
    ):
        einsum("i", [1.0, 2.0])
