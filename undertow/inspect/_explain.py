"""`Recording.explain()`: what happened in a recording, in plain words and with figures.

Each finding is a sentence about something that was recorded. Nothing is said about what was not recorded: without `values=True` there is
no word about vanishing gradients.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from statistics import median

from undertow.autograd._diagnostics.saved_report import _readable as readable
from undertow.inspect._export import spans
from undertow.inspect._tables import ACCUMULATED, LEAF, RELEASED, counted, rows_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow.inspect._recording import Recording

_SHOWN = 5  # entries of a list
VANISHES_BELOW = 1e-7  # norm of a parameter's gradient, per element
EXPLODES_ABOVE = 1e3


def milliseconds(ns: float) -> str:
    """Return a duration with a unit.

    >>> milliseconds(1_500_000)
    '1.50 ms'
    """
    return f"{ns / 1e6:.2f} ms" if ns >= 1e6 else f"{ns / 1e3:.1f} us"


class Explanation:
    """The result of `Recording.explain`; its string form is the text. `notes` are the same findings as rows of the file format."""

    def __init__(self, sections: dict[str, list[str]], notes: list[dict[str, Any]]) -> None:
        #: The sentences by their headings.
        self.sections = sections
        #: The findings that deserve attention: level, text and node (-1: none).
        self.notes = notes

    def __str__(self) -> str:
        parts = [f"{title}\n" + "\n".join(f"  {line}" for line in lines) for title, lines in self.sections.items() if lines]
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


class _Facts:
    """Figures that several sections use."""

    def __init__(self, r: Recording) -> None:
        self.r, self.data = r, r.data

    @cached_property
    def spans(self) -> list[tuple[int, int, int, int, int]]:
        """Node, pass, thread, start, end of every node that ran."""
        return spans(self.r)

    @cached_property
    def took(self) -> Counter[int]:
        """The time of each node, over all passes."""
        found: Counter[int] = Counter()
        for node, _, _, start, end in self.spans:
            found[node] += end - start
        return found

    def label(self, node: int) -> str:
        """Return the name of a node, with its parameter, module and line."""
        name = self.r.name(node)
        parameter = self.r.string(self.data["nodes"]["leaf_s"][node])
        places = [p for p in (parameter or self.r.module(node), self.r.line(node)) if p]
        return f"{name} ({', '.join(places)})" if places else name

    def owner(self, node: int) -> str:
        """Return whose gradient enters a node: a parameter's name, else the node's label."""
        return self.r.string(self.data["nodes"]["leaf_s"][node]) or self.label(node)

    @cached_property
    def top_passes(self) -> list[int]:
        """The outermost pass around each pass."""
        found: list[int] = []
        for i, parent in enumerate(self.data["passes"]["parent"]):
            found.append(found[parent] if 0 <= parent < i else i)
        return found

    @cached_property
    def largest(self) -> tuple[int, list[int]]:
        """The outermost pass whose nodes saved most, and these nodes; -1 without a pass. A node belongs to the first pass that ran it."""
        ran_in: dict[int, int] = {}
        for node, at, *_ in self.spans:
            ran_in.setdefault(node, self.top_passes[at])
        nodes: dict[int, list[int]] = {}
        for node, at in sorted(ran_in.items()):
            nodes.setdefault(at, []).append(node)
        if not nodes:
            return -1, list(range(len(self.data["nodes"]["saved"])))
        most = max(nodes, key=lambda at: self._saved_by(nodes[at], str).total())
        return most, nodes[most]

    def saved_by(self, key: Any) -> Counter[str]:
        """Sum the bytes saved for the largest pass, each storage once, by key(node)."""
        return self._saved_by(self.largest[1], key)

    def _saved_by(self, nodes: list[int], key: Any) -> Counter[str]:
        found: Counter[str] = Counter()
        seen: set[int] = set()
        saved = self.data["nodes"]["saved"]
        for node in nodes:
            for _, _, _, size, storage in saved[node]:
                if storage not in seen:
                    seen.add(storage)
                    found[key(node) or "(unknown)"] += size
        return found


def _summary(f: _Facts) -> list[str]:
    passes = f.data["passes"]
    outer = [i for i, parent in enumerate(passes["parent"]) if parent < 0]
    time = sum(passes["end"][i] - passes["start"][i] for i in outer)
    nodes = counted(len(f.data["nodes"]["kind"]), "node")
    lines = [f"{counted(len(outer), 'backward pass', 'backward passes')} over {nodes} took {milliseconds(time)}."]
    inside = time - sum(end - start for _, at, _, start, end in f.spans if passes["parent"][at] < 0)
    if f.spans and inside > time // 4 and set(passes["error_s"]) == {-1}:  # the time of a node that failed is not known
        rest = "the engine, hooks and the statistics of gradients" if f.data["meta"].get("values") else "the engine and hooks"
        lines.append(f"{milliseconds(inside)} of it lay between nodes: {rest}.")
    if len(outer) < len(passes["parent"]):
        inner = len(passes["parent"]) - len(outer)
        lines.append(f"{counted(inner, 'more pass', 'more passes')} ran inside, at most {max(passes['depth'])} deep.")
    threads = set(f.data["events"]["thread"])
    if len(threads) > 1:
        lines.append(f"{len(threads)} threads ran nodes.")
    for i, error in enumerate(passes["error_s"]):
        if error >= 0:
            lines.append(f"Pass {i} failed: {f.r.string(error)}")
    if f.data["meta"].get("truncated"):
        lines.append("The recording is not complete: there were more events than its limit.")
    return lines


def critical_path(r: Recording, number: int = 0) -> tuple[list[int], int, int]:
    """Return the chain of dependent nodes of a pass that took longest, its time, and the time of all nodes of the pass.

    More threads cannot make the pass faster than this chain.
    """
    return _critical_path(_Facts(r), number)


def _critical_path(f: _Facts, number: int) -> tuple[list[int], int, int]:
    own = {node: end - start for node, at, _, start, end in f.spans if at == number}
    order = sorted({node: (start, node) for node, at, _, start, end in f.spans if at == number}.values())  # each once, also in a damaged file
    into: dict[int, list[int]] = {}
    for a, b in zip(f.data["edges"]["from"], f.data["edges"]["to"], strict=True):
        if a in own and b in own:
            into.setdefault(b, []).append(a)
    done: dict[int, int] = {}
    before: dict[int, int | None] = {}
    for _, node in order:  # producers run before their consumers
        best = max((n for n in into.get(node, ()) if n in done), key=lambda n: done[n], default=None)
        done[node] = own[node] + (0 if best is None else done[best])
        before[node] = best
    if not done:
        return [], 0, 0
    at: int | None = max(done, key=lambda n: done[n])
    length, path = done[at] if at is not None else 0, []
    while at is not None:
        path.append(at)
        at = before[at]
    return path[::-1], length, sum(own.values())


def _time(f: _Facts) -> list[str]:
    if not f.spans:
        return []
    total = sum(f.took.values()) or 1
    lines = []
    longest = max(range(f.r.passes), key=lambda i: f.data["passes"]["end"][i] - f.data["passes"]["start"][i])
    path, length, busy = _critical_path(f, longest)
    if path:
        ends = f"{f.r.name(path[0])} to {f.r.name(path[-1])}"
        lines.append(
            f"Critical path of pass {longest}: {len(path)} nodes from {ends}, {milliseconds(length)} of {milliseconds(busy)} in nodes "
            f"({length / max(busy, 1):.0%}): at most {busy / max(length, 1):.1f} threads could be busy."
        )
    columns = [f.data["nodes"][key] for key in ("name_s", "leaf_s", "module", "file", "line")]
    alike: dict[tuple[int, ...], list[int]] = {}  # the same operation of several passes counts together
    for node in f.took:
        alike.setdefault(tuple(column[node] for column in columns), []).append(node)
    runs = Counter(node for node, *_ in f.spans)
    groups = sorted(((sum(f.took[n] for n in nodes), nodes) for nodes in alike.values()), reverse=True)[:_SHOWN]
    slowest = [(f"{f.label(nodes[0])} {milliseconds(t)}", sum(runs[n] for n in nodes)) for t, nodes in groups]
    lines.append("Slowest nodes: " + ", ".join(text + (f" in {n} runs" if n > 1 else "") for text, n in slowest) + ".")
    for title, key in (("operation", f.r.name), ("module", f.r.module), ("line", f.r.line)):
        sums: Counter[str] = Counter()
        for node, t in f.took.items():
            if (name := key(node)) is not None:
                sums[name or "(the model itself)"] += t
        if len(sums) > 1:
            lines.append(f"By {title}: " + ", ".join(f"{name} {t / total:.0%}" for name, t in sums.most_common(_SHOWN)) + ".")
    return lines


def _memory(f: _Facts) -> list[str]:
    by_node = f.saved_by(lambda node: str(node))
    if not by_node:
        return []
    number, _ = f.largest
    which = "the pass" if len(set(f.top_passes)) < 2 else f"pass {number}"
    most = "" if len(set(f.top_passes)) < 2 else f", the most of {len(set(f.top_passes))} passes"
    lines = [f"Saved tensors held {readable(sum(by_node.values()))} when {which} began{most}."]
    known = [m for m in f.data["events"]["memory"] if m is not None]
    if known and max(known):
        lines.append(f"Tensors used {readable(max(known))} at most while nodes ran, {readable(known[-1])} at the end.")
    lines.append("Largest: " + ", ".join(f"{f.label(int(node))} {readable(size)}" for node, size in by_node.most_common(_SHOWN) if size) + ".")
    for title, key in (("module", f.r.module), ("line", f.r.line)):
        sums = f.saved_by(key)
        if set(sums) - {"(unknown)"} and len(sums) > 1:
            lines.append(f"By {title}: " + ", ".join(f"{name} {readable(size)}" for name, size in sums.most_common(_SHOWN)) + ".")
    return lines


def _still_held(f: _Facts, notes: list[dict[str, Any]]) -> list[str]:
    """Say which objects of the program held graphs when the recording ended."""
    held = [note for note in f.data["notes"] if "holder" in note]
    notes += held
    return [f"At the end {note['text']}" for note in held]


def _gradients(f: _Facts, notes: list[dict[str, Any]]) -> list[str]:
    lines: list[str] = []

    def note(level: str, text: str, node: int = -1) -> None:
        lines.append(text)
        notes.append({"level": level, "text": text, "node": node})

    bad = first_bad(f.r)
    if bad is not None:
        node, row = bad
        what = "NaN" if row["nan"] else "Inf"
        made = _producers(f, row["event"])
        by = f", computed by {f.label(made[0])}" if made else ""
        note("error", f"The first gradient with {what} entered {f.label(node)}{by}: {row['nan']} NaN and {row['inf']} Inf of {row['size']}.", node)
    leaves = [row for row in rows_of(f.data["values"]) if f.data["nodes"]["kind"][row["node"]] == LEAF and row["norm"] is not None]
    sizes = {row["node"]: row["norm"] / max(row["size"], 1) ** 0.5 for row in leaves}  # the last pass counts
    middle = median(sizes.values()) if sizes else 0.0
    for node, size in sizes.items():
        if size == 0:
            note("warn", f"The gradient of {f.owner(node)} is zero everywhere.", node)
        elif size < VANISHES_BELOW or (middle and size < middle * 1e-6):
            note("warn", f"The gradient of {f.owner(node)} vanishes: {_against(size, middle, size < middle * 1e-6, 'under', VANISHES_BELOW)}.", node)
        elif size > EXPLODES_ABOVE or (middle and size > middle * 1e4):
            note("warn", f"The gradient of {f.owner(node)} explodes: {_against(size, middle, size > middle * 1e4, 'over', EXPLODES_ABOVE)}.", node)
    if sizes and len(lines) == 0:
        whose = f"of {len(sizes)} leaves are" if len(sizes) > 1 else f"of {f.owner(*sizes)} is"
        span = f"{min(sizes.values()):.1e} to {max(sizes.values()):.1e}" if len(sizes) > 1 else f"{min(sizes.values()):.1e}"
        lines.append(f"Gradient{'s' if len(sizes) > 1 else ''} {whose} finite; root mean square {span}.")
    missing = [n for n in f.data["notes"] if "parameter" in n]
    for reason in dict.fromkeys(n.get("reason") for n in missing):
        group = [n for n in missing if n.get("reason") == reason]
        names = ", ".join(n["parameter"] for n in group[:_SHOWN]) + (f" and {len(group) - _SHOWN} more" if len(group) > _SHOWN else "")
        each = "in each case " if len(group) > 1 else ""
        note("warn", f"No gradient for {names}: {each}{group[0]['text'].partition(': ')[2]}")
    return lines


def _against(size: float, middle: float, unusual: bool, word: str, limit: float) -> str:
    """Return what a size is compared with: that of the other gradients if it differs from them, else a fixed limit."""
    return f"root mean square {size:.1e}, {f'{middle:.1e} is usual here' if unusual else f'{word} {limit:g}'}"


def first_bad(r: Recording) -> tuple[int, dict[str, Any]] | None:
    """Return the first node that a gradient with NaN or Inf entered, and the row of that gradient. Needs values."""
    rows = [row for row in rows_of(r.data["values"]) if row["nan"] or row["inf"]]
    first = min(rows, key=lambda row: row["event"], default=None)
    return None if first is None else (first["node"], first)


def _producers(f: _Facts, event: int) -> list[int]:
    """Return the nodes whose gradients had arrived when an event happened."""
    events = f.data["events"]
    node, number = events["node"][event], events["pass"][event]
    found = (events["other"][i] for i in range(event) if events["kind"][i] == 9 and events["node"][i] == node and events["pass"][i] == number)
    return [n for n in found if n >= 0]


def _for_nothing(f: _Facts, notes: list[dict[str, Any]]) -> list[str]:
    data, lines = f.data, []
    names = {n for n in data["params"]["node"] if n >= 0}
    events = zip(data["events"]["kind"], data["events"]["node"], data["events"]["pass"], strict=True)
    outer = {i for i, parent in enumerate(data["passes"]["parent"]) if parent < 0}  # a checkpoint's own pass needs the gradients of its inputs
    gathered = dict.fromkeys(n for kind, n, at in events if kind == ACCUMULATED and at in outer)
    by_shape: dict[str, list[int]] = {}
    for node in gathered:
        if names and node not in names and data["nodes"]["leaf_s"][node] < 0:
            shape = data["nodes"]["outputs"][node][0][1] if data["nodes"]["outputs"][node] else []
            by_shape.setdefault(str(shape), []).append(node)
    for shape_text, nodes in list(by_shape.items())[:_SHOWN]:
        whose = "a leaf that is no parameter" if len(nodes) == 1 else f"{len(nodes)} leaves that are no parameters"
        text = f"A gradient of shape {shape_text} was computed for {whose}: set requires_grad=False if it is an input."
        lines.append(text)
        notes.append({"level": "info", "text": text, "node": nodes[0]})
    unused = data["meta"].get("unused_nodes") or 0
    if unused:
        were = "recorded operation was" if unused == 1 else "recorded operations were"
        lines.append(f"{unused} {were} in no pass. What is never differentiated costs less under no_grad().")
    released = {n for kind, n in zip(data["events"]["kind"], data["events"]["node"], strict=True) if kind == RELEASED}
    ran = set(f.took)
    idle = sum(row[3] for n, rows in enumerate(data["nodes"]["saved"]) if n not in ran for row in rows)
    if idle:
        lines.append(f"{readable(idle)} were saved by nodes that never ran.")
    for i, keeps in enumerate(data["passes"]["keep_graph"]):
        mine = {node for node, at, *_ in f.spans if at == i}
        later = any(at > i and node in mine and data["nodes"]["kind"][node] != LEAF for node, at, *_ in f.spans)
        held = sum(row[3] for n in mine - released for row in data["nodes"]["saved"][n])
        if keeps and not later and held and not data["passes"]["create_graph"][i]:
            lines.append(f"Pass {i} kept its graph ({readable(held)}), and no later pass used it: leave out retain_graph=True.")
    return lines


def _savings(f: _Facts) -> list[str]:
    lines = []
    top = f.saved_by(lambda node: _outermost(f, node))
    total = sum(top.values())
    for name, size in top.most_common(1):
        if name != "(unknown)" and total and size > 1 << 20:
            share = f"{readable(size)} of {readable(total)}"
            lines.append(f"checkpoint() around {name} would free up to {share} of saved tensors, for one more forward of it.")
    params = f.data["params"]
    rows = zip(params["shape"], params["dtype"], params["grad"], strict=True)
    grads = sum(_bytes(shape, dtype) for shape, dtype, grad in rows if grad == "dense")
    if grads:
        lines.append(f"Gradients of parameters hold {readable(grads)} until zero_grad(); with set_to_none=True, the default, it frees them.")
    return lines


def _outermost(f: _Facts, node: int) -> str | None:
    """Return the outermost module below the model that made a node; "each module in blocks" if blocks is only a list of modules."""
    modules = f.data["modules"]
    row = f.data["nodes"]["module"][node]
    while row > 0 and modules["parent"][row] > 0:
        row = modules["parent"][row]
    path = f.r.string(modules["path_s"][row]) if row > 0 else None
    return f"each module in {path}" if path and f.r.string(modules["class_s"][row]) in ("ModuleList", "ModuleDict") else path


def _bytes(shape: list[int], dtype: str) -> int:
    size = {"float64": 8, "complex64": 8, "complex128": 16, "float16": 2, "bfloat16": 2}.get(dtype, 4)
    for n in shape:
        size *= n
    return size


def explain(r: Recording) -> Explanation:
    """Explain a recording; see `Recording.explain`."""
    facts = _Facts(r)
    notes: list[dict[str, Any]] = []
    sections = {
        "Passes": _summary(facts),
        "Time": _time(facts),
        "Memory": _memory(facts) + _still_held(facts, notes),
        "Gradients": _gradients(facts, notes),
        "Work for nothing": _for_nothing(facts, notes),
        "What would save memory": _savings(facts),
    }
    return Explanation(sections, notes)
