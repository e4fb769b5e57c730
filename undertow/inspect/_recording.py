"""`Recording`: what `record` gives: the tables of one recording, and everything that can be made of them."""

from __future__ import annotations

import json
from pathlib import Path

from undertow.inspect import _file
from undertow.inspect._tables import STARTED, counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any

    from undertow.inspect._explain import Explanation


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

    def to_html(self, path: str | os.PathLike[str] | None = None, *, compare: Recording | None = None) -> str:
        """Return the recording as one self-contained HTML page, which works offline; write it to `path` if given.

        `compare` puts a second recording beside it.
        """
        from undertow.inspect import _page

        meta = {**self.data["meta"], "program": self._program()}
        data = {**self.data, "meta": meta, "notes": self.explain().notes}
        text = _page.with_recording(data, None if compare is None else compare.data)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def _program(self) -> str:
        """Return the name of the program, with the rank of the process if there were several."""
        meta = self.data["meta"]
        name, ranks = meta.get("program", "python"), meta.get("ranks")
        return f"{name}, rank {ranks[0]} of {ranks[1]}" if ranks else name

    def show(self, path: str | os.PathLike[str] | None = None, *, open_page: bool = True) -> str:
        """Write the page to `path`, by default to a temporary file, open it in the browser or below the cell of a notebook, and return its path."""
        from undertow.inspect._show import announce_file

        if path is None:
            import tempfile

            path = Path(tempfile.mkdtemp(prefix="undertow-inspect-")) / "recording.html"
        self.to_html(path)
        announce_file(str(path), open_page)
        return str(path)

    # -- other formats -----------------------------------------------------------------------------------------------

    def to_perfetto(self, path: str | os.PathLike[str] | None = None) -> dict[str, Any]:
        """Return the recording for ui.perfetto.dev, with arrows from forward operations to their nodes; write it to `path` if given."""
        from undertow.inspect._export import to_perfetto

        found = to_perfetto(self)
        if path is not None:
            Path(path).write_text(json.dumps(found), encoding="utf-8")
        return found

    def to_dot(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the graph in the language of Graphviz; write it to `path` if given."""
        from undertow.inspect._export import to_dot

        found = to_dot(self)
        if path is not None:
            Path(path).write_text(found, encoding="utf-8")
        return found

    def to_pandas(self, table: str = "nodes") -> Any:
        """Return a table as a pandas DataFrame: "nodes", "events", "values", "passes", "edges" or "hooks". Needs pandas."""
        from undertow.inspect._export import to_pandas

        return to_pandas(self, table)

    # -- explanations ------------------------------------------------------------------------------------------------

    def explain(self) -> Explanation:
        """Explain in plain words where time and memory went, and which gradients are missing, vanish, explode or are not finite.

        >>> import undertow as ut
        >>> x = ut.ones(1000, requires_grad=True)
        >>> with ut.inspect.record() as r:
        ...     x.exp().sum().backward()
        >>> print(r.explain().sections["Memory"][0])
        Saved tensors held 3.9 KiB when the pass began.
        """
        from undertow.inspect._explain import explain

        return explain(self)

    def slowest(self, count: int = 10) -> list[tuple[str, str | None, int]]:
        """Return (name, line, nanoseconds) of the nodes that took longest."""
        from undertow.inspect._export import spans

        took = sorted(((end - start, node) for node, _, _, start, end in spans(self)), reverse=True)
        return [(self.name(node), self.line(node), time) for time, node in took[:count]]

    def critical_path(self, number: int = 0) -> list[str]:
        """Return the chain of dependent nodes of a pass that took longest; no number of threads can be faster than it."""
        from undertow.inspect._explain import critical_path

        return [self.name(node) for node in critical_path(self, number)[0]]

    def first_nonfinite(self) -> tuple[str, str | None] | None:
        """Return (name, line) of the first node that a gradient with NaN or Inf entered; None if there is none. Needs values=True."""
        from undertow.inspect._explain import first_bad

        found = first_bad(self)
        return None if found is None else (self.name(found[0]), self.line(found[0]))

    def norms(self) -> dict[str, list[float | None]]:
        """Return the norms of the gradients of each named parameter, one per pass that reached it. Needs values=True."""
        found: dict[str, list[float | None]] = {}
        for node, norm in zip(self.data["values"]["node"], self.data["values"]["norm"], strict=True):
            name = self.string(self.data["nodes"]["leaf_s"][node])
            if name is not None:
                found.setdefault(name, []).append(norm)
        return found

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
        parts = counted(self.passes, "pass", "passes"), counted(len(self.data["nodes"]["kind"]), "node"), counted(len(self), "event")
        return f"<Recording: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        if self._data is None:
            return "<p>a recording that is still running</p>"
        from html import escape

        from undertow.inspect._draw import draw

        return f'<div style="max-height:640px;overflow:auto">{draw(self)}</div><pre>{escape(str(self.explain()))}</pre>'
