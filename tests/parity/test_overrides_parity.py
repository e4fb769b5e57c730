"""The calls that __torch_function__ gets, compared with torch: operators, protocols and methods have the same names."""

from __future__ import annotations

import operator

import pytest

torch = pytest.importorskip("torch", reason="torch, the oracle, is not installed")

import undertow as ut
import undertow.overrides

pytestmark = [pytest.mark.filterwarnings("ignore")]

CALLS = {
    "1 + x": lambda x, i: 1 + x,
    "2 * x": lambda x, i: 2 * x,
    "1 - x": lambda x, i: 1 - x,
    "1 / x": lambda x, i: 1 / x,
    "2 ** x": lambda x, i: 2**x,
    "2 // x": lambda x, i: 2 // x,
    "2 % x": lambda x, i: 2 % x,
    "x ** 2": lambda x, i: x**2,
    "x // 2": lambda x, i: x // 2,
    "x % 2": lambda x, i: x % 2,
    "x @ x": lambda x, i: x @ x,
    "i & 1": lambda x, i: i & 1,
    "1 & i": lambda x, i: 1 & i,
    "i | 1": lambda x, i: i | 1,
    "1 | i": lambda x, i: 1 | i,
    "i ^ 1": lambda x, i: i ^ 1,
    "1 ^ i": lambda x, i: 1 ^ i,
    "i << 1": lambda x, i: i << 1,
    "1 << i": lambda x, i: 1 << i,
    "i >> 1": lambda x, i: i >> 1,
    "1 >> i": lambda x, i: 1 >> i,
    "x == 1": lambda x, i: x == 1,
    "1 != x": lambda x, i: x != 1,
    "1 < x": lambda x, i: operator.lt(1, x),
    "-x": lambda x, i: -x,
    "+x": lambda x, i: +x,
    "abs": lambda x, i: abs(x),
    "~i": lambda x, i: ~i,
    **{f"{name}=": lambda x, i, name=name: getattr(operator, name)(x, 2) for name in ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow")},
    **{f"{name}=": lambda x, i, name=name: getattr(operator, name)(i, 1) for name in ("iand", "ior", "ixor", "ilshift", "irshift")},
    "len": lambda x, i: len(x),
    "bool": lambda x, i: bool(x[0]),
    "int": lambda x, i: int(x[0]),
    "float": lambda x, i: float(x[0]),
    "complex": lambda x, i: complex(x[0]),
    "index": lambda x, i: operator.index(i[0]),
    "in": lambda x, i: 1 in x,
    "reversed": lambda x, i: reversed(x),
    "item": lambda x, i: x[0].item(),
    **{f"Tensor.{name}": lambda x, i, name=name, args=args: getattr(x, name)(*args) for name, args in {
        "add_": (1,), "mul_": (2,), "eq_": (1,), "uniform_": (), "normal_": (), "unsqueeze_": (0,), "squeeze_": (), "resize_": (2,),
        "float": (), "long": (), "view": (2,), "expand": (2, 2), "repeat": (2,), "reshape": (2,), "new_zeros": (2,), "t_": (),
    }.items()},
    "Tensor.copy_": lambda x, i: x.copy_(x),
}


def told(library, call) -> list[str]:
    """The names __torch_function__ of a subclass is called with."""
    names = []

    class Noting(library.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            names.append(library.overrides.resolve_name(func))
            return super().__torch_function__(func, types, args, kwargs)

    x, i = (library.tensor(data).as_subclass(Noting) for data in ([1.0, 2.0], [1, 2]))
    names.clear()
    call(x, i)
    return [name.removeprefix("torch.").removeprefix("undertow.") for name in names]


@pytest.mark.parametrize("what", CALLS)
def test_a_subclass_gets_the_same_calls_as_in_torch(what: str):
    want = told(torch, CALLS[what])
    assert want and told(ut, CALLS[what]) == want


def test_mixing_torch_tensors_with_ours_raises_with_advice():
    ours, theirs = ut.ones(2), torch.ones(2)
    for mix in (lambda: ours + theirs, lambda: theirs + ours, lambda: ut.add(ours, theirs), lambda: ours < theirs):
        with pytest.raises(TypeError, match="from_torch|unsupported operand|not supported between"):
            mix()
    assert (ours == theirs) is False  # as for any two objects that know nothing of each other
