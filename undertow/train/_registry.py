"""The live variables and state holders of the process, in order of creation: what TensorFlow 1 keeps in its default graph.

Only weak references: being listed here keeps nothing alive. Does not know what a variable is.
"""

from __future__ import annotations

import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow.train._variable import Variable

_variables: dict[int, weakref.ref[Any]] = {}
_holders: dict[int, weakref.ref[Any]] = {}
_global_step: list[Variable] = []  # at most one; owned, because a program may ask for it again by name only


def _remember(where: dict[int, weakref.ref[Any]], item: Any) -> None:
    key, forget = id(item), where.pop
    where[key] = weakref.ref(item, lambda _: forget(key, None))


def remember_variable(v: Variable) -> None:
    """List a new variable."""
    _remember(_variables, v)


def remember_holder(holder: Any) -> None:
    """List a new optimizer or moving average."""
    _remember(_holders, holder)


def _alive(where: dict[int, weakref.ref[Any]]) -> list[Any]:
    found = (reference() for reference in list(where.values()))
    return [item for item in found if item is not None]


def holders() -> list[Any]:
    """Return the live optimizers and moving averages, in order of creation."""
    return _alive(_holders)


def global_variables(scope: str | None = None) -> list[Variable]:
    """Return the live variables, in order of creation: those of the program, slots, and other state of optimizers.

    With `scope`, only those whose names start with it. A variable that the program no longer holds is not listed.

    >>> import undertow as ut
    >>> ut.train.reset_default_graph()
    >>> w = ut.train.Variable(1.0, name="w")
    >>> _ = ut.train.MomentumOptimizer(0.1, 0.9).minimize(w * w)
    >>> [v.name for v in ut.train.global_variables()]
    ['w']
    >>> opt = ut.train.MomentumOptimizer(0.1, 0.9)
    >>> _ = opt.minimize(w * w)
    >>> [v.name for v in ut.train.global_variables()]
    ['w', 'w/Momentum']
    """
    return [v for v in _alive(_variables) if scope is None or v.name.startswith(scope)]


def reset_default_graph() -> None:
    """Forget the global step, and which variables and optimizers exist. They remain usable; `Saver()` no longer collects them."""
    _variables.clear()
    _holders.clear()
    _global_step.clear()
