"""Indexing under vmap: every mixture of ints, slices, None, ellipsis and tensors. Also runs on torch."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow import vmap

X = ut.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
I = ut.tensor([2, 0])
J = ut.tensor([[1], [3]])
ROWS = ut.tensor([[0, 1], [2, 2]])  # a vector of positions for each of two samples
ONE = ut.tensor([1, 2])  # a position for each of two samples
MASK = ut.tensor([True, False, True])

INDICES = {
    "an int": lambda i: 1,
    "a slice": lambda i: slice(1, None),
    "nothing": lambda i: (),
    "an ellipsis": lambda i: (..., 2),
    "None": lambda i: (None, slice(None), None, 1),
    "a vector": lambda i: I,
    "a vector behind a slice": lambda i: (slice(None), I),
    "neighbours": lambda i: (slice(None), I, J),
    "strangers": lambda i: (I, slice(None), I),
    "an int and a vector": lambda i: (1, I),
    "a mask": lambda i: MASK,
    "a list": lambda i: ([0, 2],),
    "each sample's position": lambda i: i[0],
    "each sample's position behind a slice": lambda i: (slice(None), i[0]),
    "each sample's positions": lambda i: i,
    "each sample's positions behind a slice": lambda i: (slice(None), i),
    "each sample's positions beside a vector": lambda i: (i, I),
    "each sample's positions beside a matrix": lambda i: (i, J),
    "each sample's positions apart from a vector": lambda i: (i, slice(None), I),
    "each sample's positions behind a dimension": lambda i: (slice(None), i, i),
    "a mask beside each sample's positions": lambda i: (MASK, i),
}


def loop(f, *batches):
    return ut.stack([f(*each) for each in zip(*batches, strict=True)])


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("batched", ["both", "tensor", "index"])
def test_reading_is_reading_each_sample(name, batched):
    x = X if batched != "index" else X[0]
    rows = ROWS if batched != "tensor" else ROWS[0]

    def f(a, i):
        return a[INDICES[name](i)] * 1

    got = vmap(f, in_dims=(0 if batched != "index" else None, 0 if batched != "tensor" else None))(x, rows)
    wanted = loop(f, x if batched != "index" else [x] * 2, rows if batched != "tensor" else [rows] * 2)
    assert got.shape == wanted.shape and bool((got == wanted).all())


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("value", ["number", "one for each sample", "one for all"])
def test_writing_is_writing_each_sample(name, value):
    values = ut.tensor([-1, -2])

    def f(a, i, v):
        a = a.clone()
        a[INDICES[name](i)] = -7 if value == "number" else v
        return a

    given, dim = (values, 0) if value == "one for each sample" else (values[0], None)
    got = vmap(f, in_dims=(0, 0, dim))(X, ROWS, given)
    wanted = loop(f, X, ROWS, values if dim == 0 else [values[0]] * 2)
    assert bool((got == wanted).all())


def test_adding_at_positions_adds_for_each_sample():
    got = vmap(lambda a, i, v: a.index_put((i,), v, accumulate=True))(ut.zeros(2, 3), ROWS, ut.ones(2, 2))
    assert got.tolist() == [[1.0, 1.0, 0.0], [0.0, 0.0, 2.0]]


def test_gradients_are_written_to_the_indices_that_were_read():
    x = ut.ones(2, 3, requires_grad=True)
    vmap(lambda a, i: a[i].sum())(x, ROWS).sum().backward()
    assert x.grad.tolist() == [[1.0, 1.0, 0.0], [0.0, 0.0, 2.0]]
