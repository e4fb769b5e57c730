"""Recordings in the formats of other tools: Perfetto's trace viewer, Graphviz, pandas."""

from __future__ import annotations

from undertow.inspect._tables import EVENT_NAMES, FINISHED, LEAF, STARTED, rows_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from undertow.inspect._recording import Recording

_HOOKS = {4: "tensor hook", 5: "retain_grad", 6: "pre-hook", 7: "post-hook"}
_COLOURS = ("#dbe7f6", "#dcefdc", "#f6e7c8", "#e6e6e6", "#eadcf2")  # by kind of node


def spans(r: Recording) -> list[tuple[int, int, int, int, int]]:
    """Return (node, row of its pass, thread, start, end) of each node that ran to its end, in order of their ends."""
    open_: dict[tuple[int, int], int] = {}
    found = []
    events = r.data["events"]
    for kind, at, node, thread, time in zip(*(events[key] for key in ("kind", "pass", "node", "thread", "time")), strict=True):
        if kind == STARTED:
            open_[at, node] = time
        elif kind == FINISHED and (at, node) in open_:
            found.append((node, at, thread, open_.pop((at, node)), time))
    return found


def to_perfetto(r: Recording) -> dict[str, Any]:
    """Return the recording as an object of the trace event format, which ui.perfetto.dev and chrome://tracing read."""
    data = r.data
    out: list[dict[str, Any]] = [{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": r._program()}}]
    for number, name in zip(data["threads"]["number"], data["threads"]["name_s"], strict=True):
        out.append({"ph": "M", "pid": 1, "tid": number, "name": "thread_name", "args": {"name": r.string(name)}})
    for row in rows_of(data["passes"]):
        label = f"{r.string(row['kind_s'])} pass, step {row['step']}"
        span = {"ts": row["start"] / 1000, "dur": (row["end"] - row["start"]) / 1000}
        out.append({"ph": "X", "pid": 1, "tid": row["thread"], "name": label, "cat": "pass", **span})
    first_run: dict[int, tuple[int, int]] = {}
    for node, _, thread, start, end in spans(r):
        first_run.setdefault(node, (thread, start))
        args = {"node": node, "line": r.line(node), "module": r.module(node)}
        event = {"ph": "X", "pid": 1, "tid": thread, "ts": start / 1000, "dur": (end - start) / 1000, "name": r.name(node), "cat": "node"}
        out.append({**event, "args": {k: v for k, v in args.items() if v is not None}})
    _add_flows(r, out, first_run)
    events, before = data["events"], None
    for kind, thread, time, memory in zip(*(events[key] for key in ("kind", "thread", "time", "memory")), strict=True):
        if kind in _HOOKS:
            out.append({"ph": "i", "pid": 1, "tid": thread, "ts": time / 1000, "s": "t", "name": _HOOKS[kind], "cat": "hook"})
        if memory is not None and memory != before:  # the viewer keeps a counter until it changes
            out.append({"ph": "C", "pid": 1, "ts": time / 1000, "name": "memory", "args": {"bytes": memory}})
            before = memory
    ranks = data["meta"].get("ranks")
    for event in out if ranks else ():
        event["pid"] = 1 + ranks[0]  # so that the files of all ranks can be opened together
    return {"traceEvents": out, "displayTimeUnit": "ns"}


def _add_flows(r: Recording, out: list[dict[str, Any]], first_run: dict[int, tuple[int, int]]) -> None:
    """Add an arrow from each recorded operation of the forward pass to the node that it made."""
    nodes = r.data["nodes"]
    for node, (thread, start) in first_run.items():
        when, where = nodes["forward_time"][node], nodes["forward_thread"][node]
        if when is None:
            continue
        name = r.name(node)
        out.append({"ph": "X", "pid": 1, "tid": where, "ts": when / 1000, "dur": 0.001, "name": f"record {name}", "cat": "forward"})
        flow = {"pid": 1, "id": node, "name": "forward to backward", "cat": "forward_backward"}
        out.append({"ph": "s", "tid": where, "ts": when / 1000, **flow})
        out.append({"ph": "f", "bp": "e", "tid": thread, "ts": start / 1000, **flow})


def quoted(text: str) -> str:
    """Return a string as Graphviz quotes it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def label(r: Recording, node: int) -> str:
    """Return the text of a node: its name, or the name of its parameter, and the shapes of what enters it."""
    nodes = r.data["nodes"]
    name = r.string(nodes["leaf_s"][node]) or r.name(node)
    shapes = ", ".join(str(sizes) for _, sizes in nodes["outputs"][node])
    return f"{name}\n{shapes}" if shapes else name


def to_dot(r: Recording) -> str:
    """Return the graph in the language of Graphviz, with a box for each module."""
    data = r.data
    lines = ["digraph backward {", "  rankdir=TB;", '  node [shape=box, style="rounded,filled", fontname="sans-serif", fontsize=10];']
    inside: dict[int, list[int]] = {}
    for node, module in enumerate(data["nodes"]["module"]):
        inside.setdefault(max(module, 0), []).append(node)
    children: dict[int, list[int]] = {}
    for row, parent in enumerate(data["modules"]["parent"]):
        if parent >= 0:
            children.setdefault(parent, []).append(row)
    used = _used_modules(inside, data["modules"]["parent"])
    work: list[tuple[int, bool]] = [(0, True)]
    while work:
        row, opens = work.pop()
        if row and opens:
            lines += [f"  subgraph cluster_{row} {{", f"    label={quoted(r.string(data['modules']['path_s'][row]) or '')}; color=gray;"]
        if opens:
            for node in inside.get(row, ()):
                lines.append(f"    n{node} [label={quoted(label(r, node))}, fillcolor={quoted(_COLOURS[data['nodes']['kind'][node] % 5])}];")
            if row:
                work.append((row, False))
            work += [(child, True) for child in reversed(children.get(row, ())) if child in used]
        else:
            lines.append("  }")
    lines += [f"  n{a} -> n{b};" for a, b in zip(data["edges"]["from"], data["edges"]["to"], strict=True)]
    return "\n".join([*lines, "}"]) + "\n"


def _used_modules(inside: dict[int, list[int]], parents: list[int]) -> set[int]:
    used = set()
    for row in inside:
        while row >= 0 and row not in used:
            used.add(row)
            row = parents[row]
    return used


def node_rows(r: Recording) -> list[dict[str, Any]]:
    """Return a dictionary for each node: name, module, line, shapes, bytes, and the time and norm of its last run."""
    took = {node: (end - start, at) for node, at, _, start, end in spans(r)}
    values = r.data["values"]
    norms = dict(zip(values["node"], values["norm"], strict=True))
    nodes = r.data["nodes"]
    return [
        {
            "node": i,
            "name": r.name(i),
            "parameter": r.string(nodes["leaf_s"][i]),
            "module": r.module(i),
            "line": r.line(i),
            "shapes": [tuple(sizes) for _, sizes in nodes["outputs"][i]],
            "saved_bytes": sum(row[3] for row in nodes["saved"][i]),
            "time_ns": took[i][0] if i in took else None,
            "pass": took[i][1] if i in took else None,
            "norm": norms.get(i),
            "is_leaf": nodes["kind"][i] == LEAF,
        }
        for i in range(len(nodes["kind"]))
    ]


def event_rows(r: Recording) -> list[dict[str, Any]]:
    """Return a dictionary for each event, with names."""
    return [{**e, "kind": EVENT_NAMES[e["kind"]], "name": r.name(e["node"]) if e["node"] >= 0 else None} for e in rows_of(r.data["events"])]


def hook_rows(r: Recording) -> Iterator[tuple[int, str, str, str | None, str | None]]:
    """Yield (node, its name, kind of the hook, function, file:line) of every function that hooks call."""
    for row in rows_of(r.data["hooks"]):
        line = f"{r.data['files'][row['file']]['path']}:{row['line']}" if row["file"] >= 0 else None
        yield row["node"], r.name(row["node"]), row["kind"], r.string(row["name_s"]), line


def to_pandas(r: Recording, table: str) -> Any:
    """Return a table as a pandas DataFrame."""
    try:
        import pandas
    except ImportError:
        raise ImportError("to_pandas needs pandas, which is not installed: pip install pandas") from None
    if table == "nodes":
        return pandas.DataFrame(node_rows(r)).set_index("node")
    if table == "events":
        return pandas.DataFrame(event_rows(r))
    if table == "hooks":
        return pandas.DataFrame(hook_rows(r), columns=["node", "name", "kind", "function", "line"])
    if table in ("values", "passes", "edges"):
        return pandas.DataFrame(r.data[table])
    raise ValueError(f'to_pandas: table should be "nodes", "events", "values", "passes", "edges" or "hooks", got {table!r}')
