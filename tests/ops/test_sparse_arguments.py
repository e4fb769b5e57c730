"""Every operator with sparse arguments gives the values of the dense ones, or raises; none reads memory that a sparse tensor does not have."""

from __future__ import annotations

import pytest
from apply import ERRORS, accepted, cases_of
from numeric import flatten
from samples import tensors_of
from table import entries, find

import undertow as ut

UNINITIALISED = {"empty_like", "new_empty", "new_empty_strided", "empty_strided"}


def with_cases() -> list[str]:
    return [key for key, e in entries().items() if find(e) is not None and e.tensor_args and cases_of(key, e)]


def sparse(value, count: list[int]):
    """The value with its first tensors, as many as count[0] says, in COO layout."""
    if isinstance(value, ut.Tensor):
        if not count[0]:
            return value
        count[0] -= 1
        return value.detach().to_sparse()
    if isinstance(value, (list, tuple)):
        return type(value)(sparse(v, count) for v in value)
    return value


def compare(result, expected) -> None:
    for got, wanted in zip(flatten(result), flatten(expected), strict=True):
        if isinstance(got, ut.Tensor):
            got = got.detach().to_dense()
            assert got.shape == wanted.shape and got.dtype is wanted.dtype
            ut.testing.assert_close(got, wanted.detach().resolve_conj().resolve_neg(), rtol=1e-9, atol=1e-12, equal_nan=True, check_stride=False)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", with_cases())
def test_sparse_arguments_give_dense_values_or_raise(key: str):
    e = entries()[key]
    called = 0
    for number, case in enumerate(cases_of(key, e)[:6]):
        found = accepted(key, e, case, number)
        if found is None:
            continue
        dtype, args, kwargs, expected = found
        for first in (1, 99):
            here, named = tensors_of(tuple(args), dtype), {k: tensors_of(v, dtype) for k, v in kwargs.items()}
            called += 1
            try:
                result = find(e)(*sparse(here, [first]), **named)
            except ERRORS:
                continue
            if e.batch != "random" and e.name not in UNINITIALISED and not any(a.name == "generator" for a in e.args):
                compare(result, expected)
    assert called or not cases_of(key, e)
