"""The Python interface of graph nodes, and `GradientEdge`, which identifies one input of a node."""

from __future__ import annotations

from abc import ABC, abstractmethod

from undertow import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from undertow import Tensor
    from undertow.utils.hooks import RemovableHandle


class Node(ABC):
    """The interface of every `grad_fn`; for isinstance checks, never created from Python.

    >>> import undertow as ut
    >>> y = ut.ones(2, requires_grad=True) * 2
    >>> isinstance(y.grad_fn, ut.autograd.graph.Node)
    True
    """

    @abstractmethod
    def name(self) -> str:
        """Return the node's name, such as MulBackward0.

        >>> import undertow as ut
        >>> (ut.ones(2, requires_grad=True) * 2).grad_fn.name()
        'MulBackward0'
        """

    @property
    @abstractmethod
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The edges to the nodes that receive this node's results: pairs (node, input number)."""

    @property
    @abstractmethod
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for user data about the node."""

    @property
    def line(self) -> str | None:
        """The line of the program that recorded the node, as file:line; None if unknown, and for a leaf's AccumulateGrad.

        Known if lines were being recorded: with `UNDERTOW_TRACE=1` in the environment, or in anomaly mode.

        >>> import undertow as ut
        >>> x = ut.ones(2, requires_grad=True)
        >>> (x * 2).grad_fn.line is None
        True
        >>> with ut.autograd.set_detect_anomaly(True):
        ...     y = x * 2
        >>> isinstance(y.grad_fn.line, str)
        True
        """
        return None

    @property
    @abstractmethod
    def _input_metadata(self) -> list[Any]:
        """Shape, dtype and device of each gradient that enters the node."""

    @abstractmethod
    def _register_hook_dict(self, tensor: Tensor) -> None:
        """Add the tensor's hooks to the node."""

    @abstractmethod
    def _sequence_nr(self) -> int:
        """The node's sequence number in its thread; later nodes have greater numbers."""

    @abstractmethod
    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after the node runs; its result replaces grad_inputs.

        >>> import undertow as ut
        >>> x = ut.ones(1, requires_grad=True)
        >>> y = x * 2
        >>> _ = y.grad_fn.register_hook(lambda gi, go: (gi[0] * 10, *gi[1:]))
        >>> y.backward()
        >>> x.grad
        tensor([20.])
        """

    @abstractmethod
    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(grad_outputs)` before the node runs; its result replaces grad_outputs.

        >>> import undertow as ut
        >>> x = ut.ones(1, requires_grad=True)
        >>> y = x * 2
        >>> _ = y.grad_fn.register_prehook(lambda go: (go[0] * 10,))
        >>> y.backward()
        >>> x.grad
        tensor([20.])
        """


Node.register(_C._NodeBase)


def _repr_svg_(self: Node) -> str:
    """Draw the graph below the node, for notebooks."""
    from undertow.inspect._draw import draw

    return str(draw(self))


_C._NodeBase._repr_svg_ = _repr_svg_  # type: ignore[method-assign]  # the core declares it, and this module draws


class GradientEdge(tuple["Node", int, "Node | None"]):
    """The point where a gradient enters a node: a named tuple of node, output_nr and ownership_token.

    It can be used instead of a tensor in `backward` and `grad`, and does not keep the tensor's data alive.

    >>> import undertow as ut
    >>> x = ut.ones(2, requires_grad=True)
    >>> edge = ut.autograd.graph.get_gradient_edge(x * 2)
    >>> edge.node.name(), edge.output_nr
    ('MulBackward0', 0)
    """

    # Written by hand, because importing collections.namedtuple would be a large part of our import time.
    __slots__ = ()
    __match_args__ = _fields = ("node", "output_nr", "ownership_token")

    def __new__(
        cls, node: Node, output_nr: int, ownership_token: Node | None = None
    ) -> GradientEdge:
        return tuple.__new__(cls, (node, output_nr, ownership_token))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    @property
    def node(self) -> Node:
        """The node."""
        return self[0]

    @property
    def output_nr(self) -> int:
        """The index of the forward operation's output, which is the index of the node's input."""
        return self[1]

    @property
    def ownership_token(self) -> Node | None:
        """Unused: a reference to the node keeps it alive."""
        return self[2]

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def _replace(self, **changes: Any) -> GradientEdge:
        return type(self)(**{**self._asdict(), **changes})

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
        return f"{type(self).__name__}({fields})"


def _get_grad_fn_or_grad_acc(t: Tensor | GradientEdge) -> Node:
    """Return the node that the gradient of `t` enters: its `grad_fn`, or a leaf's AccumulateGrad."""
    if isinstance(t, GradientEdge):
        return t.node
    node = t.grad_fn
    if node is not None:
        return node
    if not t.requires_grad:
        raise AssertionError("Expected gradient function to be set: the tensor does not require grad")
    from undertow.autograd.grad_mode import enable_grad

    # A leaf has no reference to its accumulator; the edge of any result computed from it has one.
    with enable_grad():
        return t.view_as(t).grad_fn.next_functions[0][0]  # type: ignore[union-attr, return-value]  # the view has both


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the edge through which the gradient of `tensor` enters the graph.

    >>> import undertow as ut
    >>> x = ut.ones(2, requires_grad=True)
    >>> ut.autograd.graph.get_gradient_edge(x).node.name().endswith("AccumulateGrad")
    True
    """
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    return GradientEdge(_get_grad_fn_or_grad_acc(tensor), tensor.output_nr)
