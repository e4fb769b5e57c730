"""The formulas of the operator tables, for the nodes of a recording.

`formulas.json` is made from `ops/*.toml` by `python -m tools.opgen --stubs`: for each node's name the operator, its documentation, its
forward expression if it is pointwise, and its gradients.
"""

from __future__ import annotations

import json
import re
from functools import cache

from undertow import _data_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


@cache
def _formulas() -> dict[str, list[Any]]:
    return json.loads(_data_files.read_text("inspect/formulas.json"))


@cache
def formula_of(node: str) -> list[Any] | None:
    """Return [operator, documentation, forward, [[argument, gradient], ...]] of a node's name; None if it is not in the tables.

    >>> formula_of("ExpBackward0")[3]
    [['self', 'grad * conj(result)']]
    """
    found = _formulas().get(node)
    if found is not None:
        return found
    for pattern, row in _patterns():
        if pattern.fullmatch(node):
            return row
    return None


@cache
def _patterns() -> list[tuple[re.Pattern[str], list[Any]]]:
    """Return the names with a part that depends on the call, which the tables write as {argument}."""
    return [(re.compile(re.sub(r"\{\w+\}", r"\\w*", name)), row) for name, row in _formulas().items() if "{" in name]


class Operators:
    """The operators that occur in a recording."""

    def __init__(self, number: Callable[[str | None], int]) -> None:
        self._number = number
        self._rows: dict[str, int] = {}
        self._table: dict[str, list[Any]] = {"name_s": [], "doc_s": [], "forward_s": [], "grads": []}

    def row(self, node: str) -> int:
        """Return the row of the operator that made a node, -1 if it is not in the tables."""
        if node not in self._rows:
            found = formula_of(node)
            self._rows[node] = -1 if found is None else len(self._table["grads"])
            if found is not None:
                name, doc, forward, grads = found
                for column, value in zip(self._table.values(), (self._number(name), self._number(doc), self._number(forward), grads), strict=True):
                    column.append(value)
        return self._rows[node]

    def table(self) -> dict[str, list[Any]]:
        """Return the table."""
        return self._table
