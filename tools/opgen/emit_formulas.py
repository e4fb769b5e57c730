"""The formulas of the tables as data, for undertow.inspect: undertow/inspect/formulas.json."""
from __future__ import annotations

import json
import re

from .schema import Entry

# What the tables' C++ expressions have and readers of Python do not know.
_WORDS = (
    (r"decltype\(\w+\)\(([^()]*)\)", r"\1"), (r"static_cast<\w+>\((\w+)\)", r"\1"), (r"Dims\{(.*?)\}", r"[\1]"), (r"\b(?:std|special)::", ""),
    (r"\bnullopt\b", "None"), (r"\btrue\b", "True"), (r"\bfalse\b", "False"), (r"\.sizes\(\)", ".shape"), (r"\.strides\(\)", ".stride()"),
    (r"\bScalar\((\w+)\)", r"\1"), (r"\.to_double\(\)", ""), (r"&&", "and"), (r"\|\|", "or"), (r"!(?!=)", "not "),
)  # fmt: skip


def readable(expression: str) -> str:
    """A C++ expression of the tables as Python writes it.

    >>> readable("self >= -lambd && self <= lambd ? decltype(self)(0) : self")
    '0 if self >= -lambd and self <= lambd else self'
    """
    for pattern, word in _WORDS:
        expression = re.sub(pattern, word, expression)
    return _conditional(expression)


def _conditional(text: str) -> str:
    """`a ? b : c` as `b if a else c`, also inside of parentheses and arguments."""
    parts, depth, start = [], 0, 0
    for i, letter in enumerate(text):
        if letter in "([":
            depth += 1
            if depth == 1:
                parts.append(text[start : i + 1])
                start = i + 1
        elif letter in ")]":
            depth -= 1
            if depth == 0:
                parts.append(", ".join(_conditional(argument) for argument in _arguments(text[start:i])))
                start = i
    parts.append(text[start:])
    text = "".join(parts)
    condition, _, rest = _split(text, " ? ")
    if not rest:
        return text
    first, _, second = _split(rest, " : ")
    return f"{first} if {condition} else {_conditional(second)}"


def _arguments(text: str) -> list[str]:
    first, _, rest = _split(text, ", ")
    return [first, *_arguments(rest)] if rest else [first]


def _split(text: str, mark: str) -> tuple[str, str, str]:
    """Like `text.partition(mark)`, at the first mark outside of parentheses."""
    depth = 0
    for i, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if depth == 0 and text.startswith(mark, i):
            return text[:i], mark, text[i + len(mark) :]
    return text, "", ""


def formulas(entries: list[Entry]) -> str:
    """One line per node name: the operator, its documentation, its forward expression, and its gradients by argument."""
    rows: dict[str, list] = {}
    for e in entries:
        if e.is_composite or "grad" not in e.spec:
            continue
        grads = [[name, readable(text)] for name, text in e.spec["grad"].items() if isinstance(text, str)]
        scalar = e.spec.get("scalar")
        rows.setdefault(e.node, [e.public, e.doc.strip().splitlines()[0] if e.doc else "", scalar and readable(scalar), grads])
    lines = [f"{json.dumps(node)}: {json.dumps(row, ensure_ascii=False)}" for node, row in sorted(rows.items())]
    return "{\n" + ",\n".join(lines) + "\n}\n"
