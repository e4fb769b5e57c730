"""`Operation`: what `minimize` returns, in place of TensorFlow's operation to run in a session."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Operation:
    """An update that has been done, once, before the function that returns this object returned.

    In TensorFlow 1 `minimize` only describes an update, and a session runs it. Here there is no session: the update is complete. `run()`
    performs it once more where that has a meaning: after `minimize` of a loss that is a function, which is then computed again, and after
    `ExponentialMovingAverage.apply`. Otherwise, because the graph of the loss or the gradients are gone, `run` raises a RuntimeError.

    >>> import undertow as ut
    >>> w = ut.train.Variable(8.0, name="w")
    >>> train_op = ut.train.GradientDescentOptimizer(0.25).minimize(lambda: w * w)   # the first step
    >>> for _ in range(2):
    ...     train_op.run()                                                           # the second and the third
    >>> train_op.name, w.item()
    ('GradientDescent', 1.0)
    """

    __slots__ = ("_again", "_name", "_why_not")

    def __init__(self, name: str, again: Callable[[], object] | None = None, why_not: str = "") -> None:
        self._name = name
        self._again = again
        self._why_not = why_not

    @property
    def name(self) -> str:
        """The name given to the function that returned this, or that of its optimizer."""
        return self._name

    def run(self, feed_dict: None = None, session: None = None) -> None:
        """Perform the update once more; see the class. There are no placeholders and no sessions, so the arguments must be None."""
        if feed_dict is not None or session is not None:
            raise ValueError(f"{self._name}: run takes no feed_dict and no session: a loss that is a function reads its inputs itself")
        if self._again is None:
            raise RuntimeError(f"{self._name}: this update is already done and cannot run again: {self._why_not}")
        self._again()

    def __repr__(self) -> str:
        return f"<Operation {self._name!r}, done>"
