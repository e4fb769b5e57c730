"""`einsum`: Einstein summation. The plan is computed once per equation and shapes, and runs as ordinary operators.

Every step is a method of Tensor or a matrix product, so the result is differentiable. Strides and
dtypes are handled by the operators.

Note [Einsum Plans]: Each dimension has a label: the code of its letter, or a negative number for a
dimension covered by the ellipsis, counted from the right, so that these broadcast as in NumPy. First,
repeated labels of an operand are removed by taking the diagonal, and its dimensions of size 1 are
dropped. After that a label has the same size in all operands that have it, and a broadcast dimension
is simply a missing label. Then operands are combined pairwise, from left to right: labels that occur
nowhere else are summed, labels of both operands are contracted (in a matrix product) or become batch
dimensions, and the other labels are kept. Finally the result is permuted to the output's order, and
dimensions of size 1 are inserted again.
"""

from __future__ import annotations

import undertow
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    Labels = tuple[int, ...]
    Shape = tuple[int, ...]
    Step = tuple[str, tuple[Any, ...]]  # a method's name and its arguments

_ELLIPSIS = 0  # marks the ellipsis in a parsed term; no letter has this code
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_MAX_PLANS = 1024  # the cache is cleared when it reaches this size, so that changing shapes do not use unbounded memory

_plans: dict[tuple[str, tuple[Shape, ...]], _Plan] = {}


def _parse_term(equation: str, start: int, end: int, owner: str) -> Labels:
    """Return the labels between two positions of the equation, with _ELLIPSIS for the dots."""
    labels: list[int] = []
    place = start
    while place < end:
        char = equation[place]
        if char == ".":
            if _ELLIPSIS in labels:
                again = "but an ellipsis (...)" if owner == "output" else "for which an ellipsis"
                raise RuntimeError(f"einsum(): found '.' for {owner} {again} was already found")
            if not equation.startswith("...", place, end):
                which = " (...)" if owner == "output" else ""
                raise RuntimeError(
                    f"einsum(): found '.' for {owner} that is not part of any ellipsis{which}"
                )
            labels.append(_ELLIPSIS)
            place += 2
        elif char.isascii() and char.isalpha():
            labels.append(ord(char))
        elif char != " ":
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {place} in the equation string, "
                f"subscripts must be in [a-zA-Z]: got {char!r} in {equation!r}"
            )
        place += 1
    return tuple(labels)


def _parse(equation: str) -> tuple[list[Labels], Labels | None]:
    """Return the operands' labels and the output's labels (None if the equation has no output)."""
    arrow = equation.find("->")
    end = len(equation) if arrow < 0 else arrow
    terms: list[Labels] = []
    start = 0
    while start <= end:
        comma = equation.find(",", start, end)
        stop = end if comma < 0 else comma
        terms.append(_parse_term(equation, start, stop, f"operand {len(terms)}"))
        start = stop + 1
    if arrow < 0:
        return terms, None
    return terms, _parse_term(equation, arrow + 2, len(equation), "output")


def _expanded(labels: Labels, ndim: int, operand: int) -> Labels:
    """Return an operand's labels, one per dimension, with negative labels instead of the ellipsis."""
    if _ELLIPSIS not in labels:
        if len(labels) != ndim:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(labels)}) does not "
                f"match the number of dimensions ({ndim}) for operand {operand} and no ellipsis "
                "was given"
            )
        return labels
    covered = ndim - len(labels) + 1
    if covered < 0:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({len(labels) - 1}) is more than "
            f"the number of dimensions ({ndim}) for operand {operand}"
        )
    place = labels.index(_ELLIPSIS)
    return (*labels[:place], *range(-covered, 0), *labels[place + 1 :])


def _output_labels(output: Labels | None, terms: Sequence[Labels]) -> Labels:
    """Return the output's labels: as given, or by default the ellipsis followed by every letter that occurs once."""
    everything = [label for term in terms for label in term]
    ellipsis = sorted({label for label in everything if label < 0})
    if output is None:
        once = sorted(label for label in everything if label > 0 and everything.count(label) == 1)
        return (*ellipsis, *once)
    for label in output:
        if label != _ELLIPSIS and output.count(label) > 1:
            raise RuntimeError(
                f"einsum(): output subscript {chr(label)} appears more than once in the output"
            )
        if label != _ELLIPSIS and label not in everything:
            raise RuntimeError(
                f"einsum(): output subscript {chr(label)} does not appear in the equation for any "
                "input operand"
            )
    if _ELLIPSIS not in output:
        return output
    place = output.index(_ELLIPSIS)
    return (*output[:place], *ellipsis, *output[place + 1 :])


def _sizes(terms: Sequence[Labels], shapes: Sequence[Shape]) -> dict[int, int]:
    """The size of each label, after broadcasting."""
    sizes: dict[int, int] = {}
    for operand, (labels, shape) in enumerate(zip(terms, shapes, strict=True)):
        for dim, (label, size) in enumerate(zip(labels, shape, strict=True)):
            first = labels.index(label)
            if shape[first] != size:
                raise RuntimeError(
                    f"einsum(): subscript {chr(label)} is repeated for operand {operand} but the "
                    f"sizes don't match, {size} != {shape[first]}"
                )
            seen = sizes.get(label, 1)
            if seen == 1:
                sizes[label] = size
            elif size not in (1, seen):
                covered = dim - sum(other > 0 for other in labels[:dim])
                _raise_broadcast_error(label, size, operand, covered, seen)
    return sizes


def _raise_broadcast_error(label: int, size: int, operand: int, dim: int, seen: int) -> None:
    if label > 0:
        raise RuntimeError(
            f"einsum(): subscript {chr(label)} has size {size} for operand {operand} which does "
            f"not broadcast with previously seen size {seen}"
        )
    raise RuntimeError(
        f"einsum(): dimension {dim} covered by ellipsis in operand {operand} has size {size} which "
        f"does not broadcast with previously seen ellipsis with size {seen} for the respective "
        "dimension"
    )


class _Term:
    """One factor while the plan is created: its labels in order, and the steps that compute it."""

    def __init__(self, labels: Iterable[int], sizes: dict[int, int]) -> None:
        self.labels = list(labels)
        self.sizes = sizes
        self.steps: list[Step] = []

    def drop_repeats(self) -> None:
        """Take diagonals until each label occurs once."""
        for label in dict.fromkeys(self.labels):
            while self.labels.count(label) > 1:
                first = self.labels.index(label)
                second = self.labels.index(label, first + 1)
                self.steps.append(("diagonal", (0, first, second)))
                del self.labels[second], self.labels[first]
                self.labels.append(label)

    def drop_ones(self, shape: dict[int, int]) -> None:
        """Drop dimensions of size 1; `shape` has this operand's own sizes."""
        kept = [label for label in self.labels if shape[label] != 1]
        if len(kept) < len(self.labels):
            self.steps.append(("reshape", (tuple(shape[label] for label in kept),)))
            self.labels = kept

    def sum_all_but(self, wanted: Iterable[int]) -> None:
        """Sum over the labels that are no longer needed."""
        dims = tuple(dim for dim, label in enumerate(self.labels) if label not in wanted)
        if dims:
            self.steps.append(("sum", (dims,)))
            self.labels = [label for label in self.labels if label in wanted]

    def arrange(self, order: Sequence[int], shape: Shape) -> None:
        """Permute the labels to `order` and reshape to `shape`, which may merge dimensions or add dimensions of size 1."""
        permutation = tuple(self.labels.index(label) for label in order)
        if permutation != tuple(range(len(permutation))):
            self.steps.append(("permute", (permutation,)))
        self.labels = list(order)
        if shape != tuple(self.sizes[label] for label in order):
            self.steps.append(("reshape", (shape,)))

    def take_steps(self) -> tuple[Step, ...]:
        """Return the steps so far and clear them."""
        steps, self.steps = tuple(self.steps), []
        return steps


class _Plan:
    """The steps for the first operand, then for each following operand, then for the result."""

    __slots__ = ("last", "pairs")

    def __init__(self, terms: list[_Term], output: Labels, sizes: dict[int, int]) -> None:
        self.pairs: list[tuple[tuple[Step, ...], tuple[Step, ...], str]] = []
        left = terms[0]
        for index, right in enumerate(terms[1:], 2):
            wanted = {*output, *(label for term in terms[index:] for label in term.labels)}
            left = self._join(left, right, wanted, sizes)
        left.sum_all_but(output)
        held = [label for label in output if label in left.labels]
        left.arrange(held, tuple(sizes[label] for label in output))
        if not left.steps and not self.pairs:
            left.steps.append(("permute", (tuple(range(len(output))),)))  # return a new tensor, as in all other cases
        self.last = left.take_steps()

    def _join(self, left: _Term, right: _Term, wanted: set[int], sizes: dict[int, int]) -> _Term:
        """Plan the product of two terms."""
        left.sum_all_but(wanted | set(right.labels))
        right.sum_all_but(wanted | set(left.labels))
        shared = [label for label in left.labels if label in right.labels]
        batch = [label for label in shared if label in wanted]
        contracted = [label for label in shared if label not in wanted]
        own = [label for label in left.labels if label not in shared]
        other = [label for label in right.labels if label not in shared]
        if contracted:
            return self._join_matrices(left, right, (batch, own, contracted, other), sizes)
        joined = [*batch, *own, *other]
        for term in (left, right):
            shape = tuple(sizes[label] if label in term.labels else 1 for label in joined)
            while shape and shape[0] == 1 and joined[len(joined) - len(shape)] not in term.labels:
                shape = shape[1:]  # leading ones are broadcast automatically
            term.arrange([label for label in joined if label in term.labels], shape)
        self.pairs.append((left.take_steps(), right.take_steps(), "mul"))
        return _Term(joined, sizes)

    def _join_matrices(
        self,
        left: _Term,
        right: _Term,
        groups: tuple[list[int], list[int], list[int], list[int]],
        sizes: dict[int, int],
    ) -> _Term:
        """Plan a contraction as (batch, own, contracted) @ (batch, contracted, other)."""

        def volume(labels: list[int]) -> int:
            product = 1
            for label in labels:
                product *= sizes[label]
            return product

        batch, own, contracted, other = groups
        in_front = (volume(batch),) if batch else ()
        left.arrange([*batch, *own, *contracted], (*in_front, volume(own), volume(contracted)))
        right.arrange([*batch, *contracted, *other], (*in_front, volume(contracted), volume(other)))
        self.pairs.append((left.take_steps(), right.take_steps(), "bmm" if batch else "mm"))
        result = _Term([*batch, *own, *other], sizes)
        shape = tuple(sizes[label] for label in result.labels)
        if shape != (*in_front, volume(own), volume(other)):
            result.steps.append(("reshape", (shape,)))
        return result


def _make_plan(equation: str, shapes: tuple[Shape, ...]) -> _Plan:
    """See Note [Einsum Plans]."""
    parsed, parsed_output = _parse(equation)
    if len(parsed) != len(shapes):
        which = "fewer" if len(shapes) < len(parsed) else "more"
        raise RuntimeError(
            f"einsum(): {which} operands were provided than specified in the equation: "
            f"got {len(shapes)} for {equation!r}"
        )
    labels = [
        _expanded(term, len(shape), operand)
        for operand, (term, shape) in enumerate(zip(parsed, shapes, strict=True))
    ]
    output = _output_labels(parsed_output, labels)
    sizes = _sizes(labels, shapes)
    terms = []
    for held, shape in zip(labels, shapes, strict=True):
        term = _Term(held, sizes)
        term.drop_repeats()
        if len(shapes) > 1:  # a single operand does not broadcast, and its sum must promote integers even for size 1
            term.drop_ones(dict(zip(held, shape, strict=True)))
        terms.append(term)
    return _Plan(terms, output, sizes)


def _follow(t: Tensor, steps: tuple[Step, ...]) -> Tensor:
    for method, args in steps:
        t = getattr(t, method)(*args)
    return t


def _run(plan: _Plan, operands: Sequence[Tensor]) -> Tensor:
    result = operands[0]
    for operand, (left, right, product) in zip(operands[1:], plan.pairs, strict=True):
        a, b = _follow(result, left), _follow(operand, right)
        result = a * b if product == "mul" else getattr(undertow, product)(a, b)
    return _follow(result, plan.last)


def _subscripts(labels: Any) -> str:
    """Convert a list of subscripts (the sublist format) to a part of an equation."""
    text = ""
    for label in labels:
        if label is Ellipsis:
            text += "..."
        elif 0 <= label < len(_LETTERS):
            text += _LETTERS[label]
        else:
            raise ValueError(
                "einsum(): subscript in subscript list is not within the valid range [0, 52): "
                f"got {label}"
            )
    return text


def _from_sublists(args: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Return the equation and operands of `einsum(a, [0, 1], b, [1, 2], [0, 2])`."""
    if len(args) < 2 or (len(args) % 2 and isinstance(args[-1], Tensor)):
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, "
            "or at least one operand and its subscripts list"
        )
    pairs = len(args) // 2 * 2
    equation = ",".join(_subscripts(labels) for labels in args[1:pairs:2])
    if len(args) % 2:
        equation += "->" + _subscripts(args[-1])
    return equation, args[0:pairs:2]


def _checked(operands: tuple[Any, ...]) -> tuple[Tensor, ...]:
    while len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])  # the old form, with a list of operands
    if not operands:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, "
            "or at least one operand and its subscripts list"
        )
    for index, operand in enumerate(operands):
        if not isinstance(operand, Tensor):
            raise TypeError(
                f"expected Tensor as element {index} in argument 1, "
                f"but got {type(operand).__name__}: einsum() takes tensors only"
            )
    return operands


def einsum(*args: Any) -> Tensor:
    """Multiply tensors and sum over dimensions, in Einstein notation: `einsum(equation, *operands)`.

    The equation names the dimensions of each operand with letters; a letter that the output does not
    have is summed over. A letter repeated within an operand takes its diagonal; `...` covers the
    unnamed dimensions, which broadcast. Without `->` the output has the letters that occur once,
    in alphabetical order. Instead of an equation, each operand can be followed by a list of numbers:
    `einsum(a, [0, 1], b, [1, 2], [0, 2])`.

    >>> import undertow as ut
    >>> a, b = ut.arange(6.0).reshape(2, 3), ut.ones(3, 2)
    >>> ut.einsum("ij,jk->ik", a, b)
    tensor([[ 3.,  3.],
            [12., 12.]])
    >>> ut.einsum("ii", ut.eye(3))
    tensor(3.)
    """
    if args and isinstance(args[0], str):
        equation, operands = args[0], args[1:]
    else:
        equation, operands = _from_sublists(args)
    operands = _checked(operands)
    key = (equation, tuple(tuple(operand.shape) for operand in operands))
    plan = _plans.get(key)
    if plan is None:
        if len(_plans) >= _MAX_PLANS:
            _plans.clear()
        plan = _plans[key] = _make_plan(*key)
    return _run(plan, operands)
