"""The global step: an integer variable that counts the steps of the whole program."""

from __future__ import annotations

import undertow
from undertow._C import Tensor
from undertow.train import _registry
from undertow.train._variable import Variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def assert_global_step(global_step_tensor: Any) -> None:
    """Raise a TypeError unless the argument is a variable or a tensor that is an integer scalar."""
    if not isinstance(global_step_tensor, Tensor):
        raise TypeError(
            f'Existing "global_step" must be a Variable or Tensor: {global_step_tensor!r}; got a {type(global_step_tensor).__name__}'
        )
    if global_step_tensor.dtype not in (undertow.int64, undertow.int32):
        raise TypeError(f'Existing "global_step" does not have integer type: {global_step_tensor.dtype}')
    if global_step_tensor.dim() != 0:
        raise TypeError(f'Existing "global_step" is not scalar: {tuple(global_step_tensor.shape)}')


def _no_graph(graph: Any) -> None:
    if graph is not None:
        raise ValueError(f"there is one global step for the process and no graphs to choose from; omit graph, got {graph!r}")


def get_global_step(graph: None = None) -> Variable | None:
    """Return the global step: the one created by `create_global_step`, otherwise the live variable named "global_step", otherwise None."""
    _no_graph(graph)
    if _registry._global_step:
        return _registry._global_step[0]
    named = [v for v in _registry.global_variables() if v.name == "global_step"]
    if len(named) > 1:
        raise ValueError(f'{len(named)} variables are named "global_step"; use create_global_step, or give them different names')
    if not named:
        return None
    assert_global_step(named[0])
    return named[0]


def create_global_step(graph: None = None) -> Variable:
    """Create the global step, an int64 variable named "global_step" that starts at 0; raise a ValueError if there is one.

    It exists until `reset_default_graph`.

    >>> import undertow as ut
    >>> ut.train.reset_default_graph()
    >>> step = ut.train.create_global_step()
    >>> w = ut.train.Variable(1.0)
    >>> _ = ut.train.GradientDescentOptimizer(0.25).minimize(w * w, global_step=step)
    >>> ut.train.get_global_step().item()
    1
    """
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    step = Variable(undertow.tensor(0, dtype=undertow.int64), False, "global_step")
    _registry._global_step.append(step)
    return step


def get_or_create_global_step(graph: None = None) -> Variable:
    """Return the global step, created if there is none."""
    step = get_global_step(graph)
    return create_global_step() if step is None else step
