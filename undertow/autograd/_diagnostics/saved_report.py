"""Report of the memory that a graph keeps for its backward pass: by node, by source line, each storage counted once.

The core walks the graph; this module sums and prints. Nothing is unpacked, no hook runs.
"""

from __future__ import annotations

from undertow import _C
from undertow.autograd._diagnostics.places import shown_line
from undertow.autograd._node import GradientEdge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeAlias

    from undertow import Tensor, dtype
    from undertow.autograd._node import Node

    Root: TypeAlias = Tensor | GradientEdge | Node

_SHOWN = 20  # maximum number of rows in a printed table


class SavedRow(tuple):
    """One saved tensor of one node."""

    __slots__ = ()
    _fields = ("node", "sequence_nr", "line", "name", "packed", "shape", "dtype", "tensor_bytes", "bytes", "exclusive")

    @property
    def node(self) -> str:
        """The node's name, such as MulBackward0."""
        return self[0]

    @property
    def sequence_nr(self) -> int:
        """The node's sequence number: later operations have greater numbers."""
        return self[1]

    @property
    def line(self) -> str:
        """Where the operation was called, as file:line; empty if lines were not recorded."""
        return self[2]

    @property
    def name(self) -> str:
        """Its name in the node: `other` for `_saved_other`."""
        return self[3]

    @property
    def packed(self) -> bool:
        """Whether hooks packed it. If the packed object contains a tensor, the row describes that tensor."""
        return self[4]

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Its shape; None if hooks packed it into something other than a tensor."""
        return self[5]

    @property
    def dtype(self) -> dtype | None:
        """Its dtype, or None like `shape`."""
        return self[6]

    @property
    def tensor_bytes(self) -> int:
        """The size of its elements in bytes."""
        return self[7]

    @property
    def bytes(self) -> int:
        """The size of its whole storage, if this is the first row of that storage; otherwise 0."""
        return self[8]

    @property
    def exclusive(self) -> bool:
        """For a row with bytes: whether only saved tensors hold the storage."""
        return self[9]

    def __repr__(self) -> str:
        fields = ", ".join(f"{n}={v!r}" for n, v in zip(self._fields, self, strict=True))
        return f"SavedRow({fields})"


class SavedGroup(tuple):
    """The rows of one node or of one line, summed: key, line, bytes, rows."""

    __slots__ = ()
    _fields = ("key", "line", "bytes", "rows")

    @property
    def key(self) -> str:
        """The node's name, or the line."""
        return self[0]

    @property
    def line(self) -> str:
        """The line; empty if lines were not recorded."""
        return self[1]

    @property
    def bytes(self) -> int:
        """The bytes of the storages that were first saved here."""
        return self[2]

    @property
    def rows(self) -> list[SavedRow]:
        """The saved tensors."""
        return self[3]


def _readable(n: int) -> str:
    """Format a size with a unit, such as 1.5 MiB."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if n >= size:
            return f"{n / size:.1f} {unit}"
    return f"{n} B"


def _described(row: SavedRow) -> str:
    """Describe a row, as in "self: float32 [2, 3]"."""
    if row.dtype is None:
        return f"{row.name} (packed)"
    kind = str(row.dtype).rpartition(".")[2]
    return f"{row.name}: {kind} {list(row.shape or ())}{' (packed)' if row.packed else ''}"


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """Format rows in aligned columns; the first column is right-aligned."""
    widths = [max(len(line[k]) for line in [head, *lines]) for k in range(len(head))]
    return [
        "  ".join(c.rjust(w) if k == 0 else c.ljust(w) for k, (c, w) in enumerate(zip(line, widths, strict=True))).rstrip()
        for line in [head, *lines]
    ]


class SavedTensorsReport:
    """The result of `saved_tensors_report`. Its string form is a table of the largest entries."""

    def __init__(self, rows: list[SavedRow], nodes: int, freed: int) -> None:
        #: One row per saved tensor, earlier operations first.
        self.rows = rows
        #: Number of nodes in the graph.
        self.nodes = nodes
        #: Number of saved tensors that a backward pass has already freed.
        self.freed = freed
        #: Bytes that saved tensors keep alive, each storage counted once.
        self.total_bytes: int = sum(row.bytes for row in rows)
        #: The part of them that no other tensor holds: freeing the graph would free it.
        self.exclusive_bytes: int = sum(row.bytes for row in rows if row.exclusive)
        #: Number of saved tensors that hooks have packed.
        self.packed: int = sum(row.packed for row in rows)

    def _grouped(self, key: Callable[[SavedRow], Any], name: Callable[[SavedRow], str]) -> list[SavedGroup]:
        groups: dict[Any, list[SavedRow]] = {}
        for row in self.rows:
            groups.setdefault(key(row), []).append(row)
        summed = [SavedGroup((name(g[0]), g[0].line, sum(r.bytes for r in g), g)) for g in groups.values()]
        return sorted(summed, key=lambda g: -g.bytes)

    def by_node(self) -> list[SavedGroup]:
        """Group the rows by node, largest first."""
        return self._grouped(lambda row: (row.node, row.sequence_nr), lambda row: row.node)

    def by_operation(self) -> list[SavedGroup]:
        """Group the rows by node name, largest first."""
        return self._grouped(lambda row: row.node, lambda row: row.node)

    def by_line(self) -> list[SavedGroup]:
        """Group the rows by source line, largest first. Needs recorded lines."""
        return self._grouped(lambda row: row.line, lambda row: row.line)

    @property
    def has_lines(self) -> bool:
        """Whether lines were recorded when the graph was created."""
        return any(row.line for row in self.rows)

    def _nodes_text(self) -> list[str]:
        groups = self.by_node()
        lines = []
        for group in groups[:_SHOWN]:
            what = ", ".join(_described(row) + ("" if row.bytes or row.dtype is None else " (counted above)") for row in group.rows[:4])
            more = f", {len(group.rows) - 4} more" if len(group.rows) > 4 else ""
            lines.append((_readable(group.bytes), group.key, what + more, shown_line(group.line)))
        head = ("bytes", "node", "saved", "line")
        columns = 4 if self.has_lines else 3
        text = _table(head[:columns], [line[:columns] for line in lines])
        left = groups[_SHOWN:]
        if left:
            text.append(f"and {len(left)} more nodes with {_readable(sum(g.bytes for g in left))}")
        return text

    def __str__(self) -> str:
        head = f"saved for backward: {_readable(self.total_bytes)} in {len(self.rows)} tensors of {self.nodes} nodes"
        if self.total_bytes:
            head += f"; {_readable(self.exclusive_bytes)} held by the graph alone"
        parts = [head]
        if self.packed:
            parts.append(f"{self.packed} packed by hooks; packed data is counted if it is a tensor{self._unknown_text()}")
        if self.freed:
            parts.append(f"{self.freed} already freed by a backward pass")
        if not self.rows:
            return "\n".join(parts)
        if self.has_lines:
            groups = self.by_line()
            lines = [(_readable(g.bytes), str(len(g.rows)), shown_line(g.key) or "(unknown)") for g in groups[:_SHOWN]]
            parts += ["", *_table(("bytes", "tensors", "line"), lines)]
            if groups[_SHOWN:]:
                left = sum(g.bytes for g in groups[_SHOWN:])
                parts.append(f"and {len(groups) - _SHOWN} more lines with {_readable(left)}")
        return "\n".join([*parts, "", *self._nodes_text()])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"

    def _unknown_text(self) -> str:
        unknown = sum(row.packed and row.dtype is None for row in self.rows)
        return f"; the size of {unknown} is unknown" if unknown else ""


def saved_tensors_report(loss: Root | Sequence[Root]) -> SavedTensorsReport:
    """Report the memory that the graph of `loss` keeps for its backward pass.

    `loss` is a tensor, a node or a GradientEdge, or several of them. Each storage is counted once, for the
    operation that saved it first. Packed tensors are not unpacked. Gradients are not counted, even retained ones.
    A checkpoint keeps its inputs instead of saved tensors; they are counted with the first operation inside it.
    Lines are known only if they were recorded: with `UNDERTOW_TRACE=1` or in anomaly mode.

    >>> import undertow as ut
    >>> x = ut.ones(1000, requires_grad=True)
    >>> report = ut.autograd.saved_tensors_report(x.exp().sum())
    >>> report.total_bytes
    4000
    >>> [(row.node, row.name, row.shape) for row in report.rows]
    [('ExpBackward0', 'result', (1000,))]
    """
    roots = loss if isinstance(loss, (tuple, list)) and not isinstance(loss, GradientEdge) else (loss,)
    rows, nodes, freed = _C._saved_report(roots)
    return SavedTensorsReport([SavedRow(row) for row in rows], nodes, freed)
