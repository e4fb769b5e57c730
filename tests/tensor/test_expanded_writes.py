"""Writing to a tensor of which several elements share memory: it raises, or is accepted with torch's warning where torch does that."""

from __future__ import annotations

import pytest

import undertow as ut

SHARED = "more than one element of the written-to tensor"


def expanded() -> ut.Tensor:
    return ut.ones(1, 3).expand(2, 3)


@pytest.mark.parametrize("index", [..., slice(None), (slice(None), 1), (slice(None), slice(1, 2))], ids=str)
@pytest.mark.parametrize("value", [5, 5.0, ut.tensor(5.0)], ids=["int", "float", "tensor"])
def test_an_index_of_shared_elements_raises(index, value):
    with pytest.raises(RuntimeError, match=SHARED):
        expanded()[index] = value


def test_an_index_of_elements_that_share_nothing_is_written():
    e = expanded()
    e[0] = 5
    assert e.tolist() == [[5, 5, 5], [5, 5, 5]]
    e[1, 2] = 7
    assert e.tolist() == [[5, 5, 7], [5, 5, 7]]


MASK = ut.tensor([[True, False, True], [True, False, True]])
WARNED = {
    "masked_fill_": lambda e: e.masked_fill_(MASK, 5.0),
    "masked_fill_ ": lambda e: e.masked_fill_(MASK, ut.tensor(5.0)),
    "index_fill_": lambda e: e.index_fill_(1, ut.tensor([0, 2]), 5.0),
    "index_put_": lambda e: e.index_put_((ut.tensor([[0], [1]]), ut.tensor([0, 2])), ut.tensor(5.0)),
    "index_put_ ": lambda e: e.__setitem__((slice(None), ut.tensor([0, 2])), 5.0),
    "index_put_  ": lambda e: e.__setitem__(MASK, 5.0),
}


@pytest.mark.parametrize("name", WARNED)
def test_some_writes_are_accepted_with_a_warning(name: str):
    e = expanded()
    with pytest.warns(UserWarning, match=f"Use of {name.strip()} on expanded tensors is deprecated"):
        WARNED[name](e)
    assert e.tolist() == [[5, 1, 5], [5, 1, 5]]


RAISING = {
    "masked_scatter_": lambda e: e.masked_scatter_(MASK, ut.ones(6)),
    "index_add_": lambda e: e.index_add_(0, ut.tensor([0]), ut.ones(1, 3)),
    "index_copy_": lambda e: e.index_copy_(0, ut.tensor([0]), ut.ones(1, 3)),
    "scatter_": lambda e: e.scatter_(0, ut.zeros(1, 3, dtype=ut.int64), ut.ones(1, 3)),
    "put_": lambda e: e.put_(ut.tensor([0]), ut.tensor([1.0])),
    "add_": lambda e: e.add_(1),
    "copy_": lambda e: e.copy_(ut.ones(2, 3)),
}


@pytest.mark.parametrize("name", RAISING)
def test_the_other_writes_raise(name: str):
    with pytest.raises(RuntimeError, match=SHARED):
        RAISING[name](expanded())


@pytest.mark.parametrize(("rows", "name", "diagonal", "wanted"), [
    (ut.tensor([[1.0, 2.0, 3.0]]), "tril_", 0, [1, 0, 0]), (ut.tensor([[1.0, 2.0, 3.0]]), "tril_", 1, [1, 2, 0]),
    (ut.tensor([[1.0, 2.0, 3.0]]), "triu_", 0, [0, 0, 3]), (ut.tensor([[1.0, 2.0, 3.0]]), "triu_", -1, [0, 2, 3]),
])  # fmt: skip
def test_a_triangle_of_an_expanded_tensor_zeroes_what_is_outside_in_any_row(rows, name, diagonal, wanted):
    e = rows.clone().expand(3, 3)
    assert getattr(e, name)(diagonal) is e
    assert e.tolist() == [wanted] * 3
    column = rows.clone().mT.expand(2, 3, 3)
    other = {"tril_": "triu_", "triu_": "tril_"}[name]
    getattr(column, other)(-diagonal)
    assert column.tolist() == [[[v] * 3 for v in wanted]] * 2
