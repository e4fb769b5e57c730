"""Errors compared with torch: the same class, and our message starts with torch's first clause."""

from __future__ import annotations

import re

import pytest

torch = pytest.importorskip("torch", reason="torch, the oracle, is not installed")

import undertow as ut

pytestmark = [pytest.mark.filterwarnings("ignore")]


def x(L, *shape):
    return L.ones(*shape, requires_grad=True)


def second_backward(L):
    y = (x(L, 2) * x(L, 2)).sum()
    y.backward()
    y.backward()


def saved_and_written(L):
    a = x(L, 2) * 1
    b = (a * a).sum()
    a.add_(1)
    b.backward()


def view_of_no_grad(L):
    base = x(L, 2) * 1
    with L.no_grad():
        v = base.view(2, 1)
    v.mul_(2)


def inference_saved(L):
    with L.inference_mode():
        a = L.ones(2)
    a * x(L, 2)


def set_wrong_grad(L):
    a = x(L, 2)
    a.grad = L.ones(3)


def set_grad_dtype(L):
    a = x(L, 2)
    a.grad = L.ones(2, dtype=L.float64)


def wrong_hook(L):
    a = x(L, 2)
    a.register_hook(lambda g: g.sum())
    (a * 2).sum().backward()


ERROR_CASES = {
    "broadcast": lambda L: L.ones(2) + L.ones(3),
    "broadcast deeper": lambda L: L.ones(2, 3) * L.ones(2, 4),
    "view": lambda L: L.ones(6).view(4, 2),
    "view twice unknown": lambda L: L.ones(6).view(-1, -1),
    "reshape": lambda L: L.ones(6).reshape(4, -1),
    "expand": lambda L: L.ones(2).expand(3),
    "expand fewer": lambda L: L.ones(2, 2).expand(2),
    "dim": lambda L: L.ones(2, 3).sum(5),
    "dim below": lambda L: L.ones(2, 3).sum(-3),
    "select": lambda L: L.ones(2).select(0, 2),
    "index": lambda L: L.ones(2)[3],
    "too many indices": lambda L: L.ones(2)[0, 0],
    "zero dim index": lambda L: L.tensor(1.0)[0],
    "iterate zero dim": lambda L: list(L.tensor(1.0)),
    "len zero dim": lambda L: len(L.tensor(1.0)),
    "item": lambda L: L.ones(2).item(),
    "bool of many": lambda L: bool(L.ones(2)),
    "bool of none": lambda L: bool(L.ones(0)),
    "float of many": lambda L: float(L.ones(2)),
    "in place into narrower": lambda L: L.ones(2, dtype=L.int64).add_(1.5),
    "in place shape": lambda L: L.ones(2).add_(L.ones(3, 2)),
    "bool minus bool": lambda L: L.ones(2, dtype=L.bool) - L.ones(2, dtype=L.bool),
    "negative of bool": lambda L: -L.ones(2, dtype=L.bool),
    "int requires grad": lambda L: L.ones(2, dtype=L.int64).requires_grad_(),
    "int made to require grad": lambda L: L.ones(2, dtype=L.int64, requires_grad=True),
    "int tensor requires grad": lambda L: L.tensor([1], requires_grad=True),
    "non-leaf flag": lambda L: (x(L, 2) * 2).requires_grad_(False),
    "leaf in place": lambda L: x(L, 2).add_(1),
    "view of leaf in place": lambda L: x(L, 2).view(2, 1).add_(1),
    "expanded in place": lambda L: L.ones(1).expand(3).add_(1),
    "vector backward": lambda L: (x(L, 2) * 2).backward(),
    "no graph": lambda L: L.ones(()).backward(),
    "gradient shape": lambda L: (x(L, 2) * 2).backward(L.ones(3)),
    "gradient number": lambda L: L.autograd.backward([x(L, 2).sum(), x(L, 2).sum()], [L.ones(())]),
    "unused": lambda L: L.autograd.grad(x(L, 2).sum(), x(L, 2)),
    "second backward": second_backward,
    "saved and written": saved_and_written,
    "view of no grad": view_of_no_grad,
    "inference saved": inference_saved,
    "retain grad": lambda L: L.ones(2).retain_grad(),
    "hook without grad": lambda L: L.ones(2).register_hook(lambda g: g),
    "post accumulate hook": lambda L: (x(L, 2) * 2).register_post_accumulate_grad_hook(lambda t: None),
    "wrong grad shape": set_wrong_grad,
    "wrong grad dtype": set_grad_dtype,
    "wrong hook": wrong_hook,
    "numpy of leaf": lambda L: x(L, 2).numpy(),
    "detach view in place": lambda L: (x(L, 2) * 2).view(2, 1).detach_(),
    "out requires grad": lambda L: L.mul(x(L, 2), 2, out=L.empty(2)),
    "out dtype": lambda L: L.mul(L.ones(2), 2.5, out=L.empty(2, dtype=L.int64)),
    "from numpy text": lambda L: L.from_numpy("text"),
    "tensor of text": lambda L: L.tensor("text"),
    "ragged": lambda L: L.tensor([[1.0], [1.0, 2.0]]),
    "negative size": lambda L: L.zeros(-1),
    "no argument": lambda L: L.exp(),
    "wrong argument": lambda L: L.exp(3.0),
    "unknown argument": lambda L: L.exp(L.ones(1), nothing=1),
    "matmul": lambda L: L.ones(2, 3) @ L.ones(2, 3),
    "matmul of scalars": lambda L: L.matmul(L.tensor(1.0), L.ones(2)),
    "mm of vectors": lambda L: L.mm(L.ones(2), L.ones(2)),
    "cat shapes": lambda L: L.cat([L.ones(2, 3), L.ones(2, 4)]),
    "cat of a number": lambda L: L.cat([L.ones(2), 1]),
    "tensor of nothing": lambda L: L.tensor(),
    "negative device index": lambda L: L.device("cuda", -2),
    "set to a number": lambda L: L.ones(2).set_(3),
    "cat nothing": lambda L: L.cat([]),
    "stack shapes": lambda L: L.stack([L.ones(2), L.ones(3)]),
    "transpose dim": lambda L: L.ones(2, 3).transpose(0, 2),
    "permute": lambda L: L.ones(2, 3).permute(0, 0),
    "squeeze dim": lambda L: L.ones(2, 3).squeeze(2),
    "split sizes": lambda L: L.ones(5).split([2, 2]),
    "gather index dtype": lambda L: L.ones(2, 3).gather(1, L.ones(2, 3)),
    "gather index range": lambda L: L.ones(2, 3).gather(1, L.full((2, 1), 5)),
    "mean of ints": lambda L: L.ones(3, dtype=L.int64).mean(),
    "max of nothing": lambda L: L.ones(0).max(),
    "as_strided beyond": lambda L: L.ones(4).as_strided((3, 3), (3, 1)),
    "view_as_real of real": lambda L: L.view_as_real(L.ones(2)),
    "imag of real": lambda L: L.ones(2).imag,
}
# Our message deliberately says more, or something else.
OTHER_WORDS = {
    "from numpy text": "names our own type",
    "no argument": "lists our signatures",
    "wrong argument": "lists our signatures",
    "unknown argument": "lists our signatures",
    "set to a number": "lists no signatures",
    "wrong grad dtype": "names dtypes by one name each",
}


def error_of(call, library) -> tuple[type, str] | None:
    try:
        call(library)
    except Exception as e:  # noqa: BLE001 - whatever is raised is the answer
        return type(e), str(e)
    return None


def first_clause(text: str) -> str:
    """Up to the first full stop, colon or line's end, with the library's name and numbers' values left out."""
    text = re.split(r"[.:\n]\s|\n|\.$", text.strip())[0]
    return re.sub(r"\b(torch|undertow)\b", "L", re.sub(r"0x[0-9a-f]+", "ADDRESS", text)).strip()


@pytest.mark.parametrize("what", list(ERROR_CASES))
def test_errors_match_torch(what: str):
    want, got = error_of(ERROR_CASES[what], torch), error_of(ERROR_CASES[what], ut)
    assert want is not None, "torch accepts it"
    assert got is not None, f"accepted; torch: {want[0].__name__}: {want[1]}"
    assert got[0] is want[0], f"{got[0].__name__}: {got[1]}\ntorch: {want[0].__name__}: {want[1]}"
    if what not in OTHER_WORDS:
        clause = first_clause(want[1])
        said = re.sub(r"\bundertow\b", "L", got[1])
        assert said.startswith(clause), f"{got[1]!r}\ndoes not begin with\n{clause!r}"


def test_an_extra_gradient_raises_where_torch_drops_it():
    def call(L):
        L.autograd.backward([x(L, 2).sum()], [L.ones(()), L.ones(())])

    assert error_of(call, torch) is None
    assert error_of(call, ut) == (RuntimeError, "got 1 tensors and 2 gradients")
