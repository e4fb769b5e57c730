"""`Recording`: what `record` gives: the tables of one recording, and everything that can be made of them."""

from __future__ import annotations

from undertow.inspect import _file
from undertow.inspect._tables import STARTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any


class Recording:
    """Recorded backward passes: the graph and what the engine did with it.

    `data` is the object of the file format (docs/trace_format.md). Made by `record`, or read from a file by `Recording.load`.
    """

    def __init__(self, data: dict[str, Any] | None = None) -> None:
        self._data = data

    def _set(self, data: dict[str, Any]) -> None:
        self._data = data

    @property
    def data(self) -> dict[str, Any]:
        """The tables of the recording."""
        if self._data is None:
            raise RuntimeError("the recording is still running: leave the block of record() first")
        return self._data

    # -- files -------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the recording to a file, by convention with the suffix .utrace.

        >>> import os, tempfile, undertow as ut
        >>> with ut.inspect.record() as r:
        ...     ut.ones(2, requires_grad=True).exp().sum().backward()
        >>> path = os.path.join(tempfile.mkdtemp(), "run.utrace")
        >>> r.save(path)
        >>> ut.inspect.Recording.load(path).order() == r.order()
        True
        """
        _file.write(path, self.data)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Recording:
        """Read a file that `save` wrote. Everything in it is checked; nothing in it is run."""
        return cls(_file.read(path))

    # -- reading -----------------------------------------------------------------------------------------------------

    def string(self, number: int) -> str | None:
        """Return one of the strings; None for -1."""
        return None if number < 0 else self.data["strings"][number]

    def name(self, node: int) -> str:
        """Return the name of a node."""
        return self.data["strings"][self.data["nodes"]["name_s"][node]]

    def line(self, node: int) -> str | None:
        """Return the line that made a node, as file:line; None if unknown."""
        nodes = self.data["nodes"]
        file = nodes["file"][node]
        return None if file < 0 else f"{self.data['files'][file]['path']}:{nodes['line'][node]}"

    def module(self, node: int) -> str | None:
        """Return the path of the module that made a node; None if none was running."""
        row = self.data["nodes"]["module"][node]
        return None if row < 0 else self.string(self.data["modules"]["path_s"][row])

    def order(self, number: int | None = None) -> list[str]:
        """Return the names of the nodes in the order in which they ran: of all passes, or of one row of passes."""
        return [self.name(node) for node in self.ran(number)]

    def ran(self, number: int | None = None) -> list[int]:
        """Return the nodes in the order in which they ran."""
        events = self.data["events"]
        found = zip(events["kind"], events["pass"], events["node"], strict=True)
        return [node for kind, at, node in found if kind == STARTED and number in (None, at)]

    @property
    def passes(self) -> int:
        """The number of passes."""
        return len(self.data["passes"]["number"])

    def __len__(self) -> int:
        return len(self.data["events"]["kind"])

    def __repr__(self) -> str:
        if self._data is None:
            return "<Recording: running>"
        return f"<Recording: {self.passes} passes, {len(self.data['nodes']['kind'])} nodes, {len(self)} events>"
