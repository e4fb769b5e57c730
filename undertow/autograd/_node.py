"""What a node of the graph looks like from Python, and how to name one of its inputs."""

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
    """The interface of every `grad_fn`; for isinstance checks, never made from Python.

    >>> import undertow as ut
    >>> y = ut.ones(2, requires_grad=True) * 2
    >>> isinstance(y.grad_fn, ut.autograd.graph.Node)
    True
    """

    @abstractmethod
    def name(self) -> str:
        """The node's name, such as MulBackward0.

        >>> import undertow as ut
        >>> (ut.ones(2, requires_grad=True) * 2).grad_fn.name()
        'MulBackward0'
        """

    @property
    @abstractmethod
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The edges to the nodes that receive this one's results: (node, input number) each."""

    @property
    @abstractmethod
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for anyone's notes about the node."""

    @property
    @abstractmethod
    def _input_metadata(self) -> list[Any]:
        """Shape, dtype and device of each gradient that enters the node."""

    @abstractmethod
    def _register_hook_dict(self, tensor: Tensor) -> None:
        """Take the tensor's hooks into the node's."""

    @abstractmethod
    def _sequence_nr(self) -> int:
        """How late in its thread the node was made."""

    @abstractmethod
    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after the node; its result replaces grad_inputs.

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
        """Call `fn(grad_outputs)` before the node; its result replaces grad_outputs.

        >>> import undertow as ut
        >>> x = ut.ones(1, requires_grad=True)
        >>> y = x * 2
        >>> _ = y.grad_fn.register_prehook(lambda go: (go[0] * 10,))
        >>> y.backward()
        >>> x.grad
        tensor([20.])
        """


Node.register(_C._NodeBase)


class GradientEdge(tuple["Node", int, "Node | None"]):
    """Where a gradient enters a node: a named tuple of node, output_nr and ownership_token.

    It stands for a tensor in `backward` and `grad` without keeping the tensor's data alive.

    >>> import undertow as ut
    >>> x = ut.ones(2, requires_grad=True)
    >>> edge = ut.autograd.graph.get_gradient_edge(x * 2)
    >>> edge.node.name(), edge.output_nr
    ('MulBackward0', 0)
    """

    # Written out because collections.namedtuple's import is a large part of ours.
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
        """Which of the forward operation's outputs; the number of the node's input."""
        return self[1]

    @property
    def ownership_token(self) -> Node | None:
        """Unused: a node in hand keeps itself alive."""
        return self[2]

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def _replace(self, **changes: Any) -> GradientEdge:
        return type(self)(**{**self._asdict(), **changes})

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
        return f"{type(self).__name__}({fields})"


def _get_grad_fn_or_grad_acc(t: Tensor | GradientEdge) -> Node:
    """The node that the gradient of `t` enters: its `grad_fn`, or a leaf's AccumulateGrad."""
    if isinstance(t, GradientEdge):
        return t.node
    node = t.grad_fn
    if node is not None:
        return node
    if not t.requires_grad:
        raise AssertionError("Expected gradient function to be set: the tensor requires no grad")
    from undertow.autograd.grad_mode import enable_grad

    # A leaf does not know its accumulator; an edge of anything made from it does.
    with enable_grad():
        return t.view_as(t).grad_fn.next_functions[0][0]  # type: ignore[union-attr, return-value]  # the view has both


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge by which the gradient of `tensor` enters the graph.

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
