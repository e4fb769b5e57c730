"""`diff`: the first node where two recordings differ: in structure, in order or in a value."""

from __future__ import annotations

from collections import Counter
from math import isclose

from undertow.inspect._recording import Recording
from undertow.inspect._tables import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any

_COMPARED = ("norm", "min", "max", "mean")


class Difference:
    """Where two recordings differ. Its truth value says whether they do; its string form says where."""

    def __init__(self, kind: str, text: str, number: int = -1, position: int = -1, nodes: tuple[int | None, int | None] = (None, None)) -> None:
        #: "none", "passes" (their number), "structure", "order" or "value".
        self.kind = kind
        #: The row of the pass, or -1.
        self.number = number
        #: The position in the order of that pass, or -1.
        self.position = position
        #: The node of each recording there, or None.
        self.nodes = nodes
        self._text = text

    def __bool__(self) -> bool:
        return self.kind != "none"

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<Difference {self.kind}: {self._text}>"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p><b>{escape(self.kind)}</b>: {escape(self._text)}</p>"


def _key(r: Recording, node: int) -> tuple[Any, ...]:
    shapes = tuple(tuple(sizes) for _, sizes in r.data["nodes"]["outputs"][node])
    return r.name(node), shapes


def _label(r: Recording, node: int | None) -> str:
    if node is None:
        return "the end of the pass"
    name, shapes = _key(r, node)
    leaf = r.string(r.data["nodes"]["leaf_s"][node])
    places = [p for p in (leaf, r.module(node), r.line(node)) if p]
    return f"{name} {', '.join(str(list(s)) for s in shapes)}" + (f" ({', '.join(dict.fromkeys(places))})" if places else "")


def _values(r: Recording) -> dict[tuple[int, int, int], dict[str, Any]]:
    """Return the statistics of gradients by pass, node and slot."""
    table, passes = r.data["values"], r.data["events"]["pass"]
    rows = zip(table["event"], table["node"], table["slot"], range(len(table["node"])), strict=True)
    return {(passes[event], node, slot): {key: table[key][i] for key in (*_COMPARED, "nan", "inf", "size")} for event, node, slot, i in rows}


def _differing(a: dict[str, Any], b: dict[str, Any], rtol: float, atol: float) -> str | None:
    """Return the first figure that differs, in words."""
    for key in ("nan", "inf"):
        if a[key] != b[key]:
            return f"{key}: {a[key]} against {b[key]}"
    for key in _COMPARED:
        x, y = a[key], b[key]
        # An extreme or a mean near zero is compared by the size of the whole gradient.
        scale = max(a["norm"] or 0.0, b["norm"] or 0.0) / max(a["size"], 1) ** 0.5
        if (x is None) != (y is None) or (x is not None and not isclose(x, y, rel_tol=rtol, abs_tol=atol + rtol * scale)):
            return f"{key}: {x} against {y}"
    return None


def diff(a: Recording | str | os.PathLike[str], b: Recording | str | os.PathLike[str], *, rtol: float = 1e-4, atol: float = 1e-10) -> Difference:
    """Find the first node where two recordings differ: another node (structure), the same nodes in another order, or another gradient.

    Recordings may be given as files, and one of them may be of PyTorch (`record_torch`). Gradients are compared by their norm, extremes and mean if
    both recordings have values.

    >>> import undertow as ut
    >>> x = ut.ones(2, requires_grad=True)
    >>> with ut.inspect.record() as r:
    ...     x.exp().sum().backward()
    >>> with ut.inspect.record() as s:
    ...     x.sin().sum().backward()
    >>> ut.inspect.diff(r, s).kind
    'structure'
    """
    first = a if isinstance(a, Recording) else Recording.load(a)
    second = b if isinstance(b, Recording) else Recording.load(b)
    values = _values(first), _values(second)
    for number in range(min(first.passes, second.passes)):
        found = _in_pass(first, second, number, values, rtol, atol)
        if found is not None:
            return found
    if first.passes != second.passes:
        return Difference(
            "passes", f"the first recording has {counted(first.passes, 'pass', 'passes')}, the second {second.passes}; they agree up to there."
        )
    with_values = "" if all(values) else "; values were not recorded in both, so they were not compared"
    return Difference("none", f"the recordings agree in {counted(first.passes, 'pass', 'passes')}{with_values}.")


def _in_pass(first: Recording, second: Recording, number: int, values: Any, rtol: float, atol: float) -> Difference | None:
    one, two = first.ran(number), second.ran(number)
    same_nodes = Counter(_key(first, n) for n in one) == Counter(_key(second, n) for n in two)
    for position in range(max(len(one), len(two))):
        n = one[position] if position < len(one) else None
        m = two[position] if position < len(two) else None
        where = f"pass {number}, node {position}"
        if n is None or m is None or _key(first, n) != _key(second, m):
            kind = "order" if same_nodes else "structure"
            text = f"{where}: {_label(first, n)} against {_label(second, m)}" + ("; the same nodes run in another order." if same_nodes else ".")
            return Difference(kind, text, number, position, (n, m))
        for slot in range(len(first.data["nodes"]["outputs"][n])):
            x, y = values[0].get((number, n, slot)), values[1].get((number, m, slot))
            found = _differing(x, y, rtol, atol) if x and y else None
            if found is not None:
                return Difference("value", f"{where}, gradient {slot} of {_label(first, n)}: {found}.", number, position, (n, m))
    return None
