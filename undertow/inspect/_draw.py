"""`draw`: the graph of a tensor, a node or a recording as SVG, at once. A large graph is drawn with one box per module."""

from __future__ import annotations

from html import escape

from undertow import _C
from undertow.inspect._layout import place, ranks

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from typing import Any

    from undertow import Tensor
    from undertow.autograd._node import Node
    from undertow.inspect._recording import Recording

MOST_BOXES = 150  # more are collapsed
_MOST_STEPS = 40  # boxes of a graph that has no modules to show
_PADDING, _LINE, _CHARACTER = 8.0, 15.0, 7.4
_LIGHT = {
    "text": "font:12px system-ui,sans-serif;fill:#1c2430", ".s": "font-size:10.5px;fill:#5b6675", "rect": "stroke:#8a96a6;rx:6",
    ".k0": "fill:#dbe7f6", ".k1": "fill:#d7eed9", ".k2": "fill:#f8e3bd", ".k3": "fill:#e8eaee", ".k4": "fill:#eadcf4",
    ".m": "fill:#f3f5f8;stroke-dasharray:4 2",
    "path": "fill:none;stroke:#8a96a6", "marker path": "fill:#8a96a6;stroke:none",
}  # fmt: skip
_DARK = {
    "text": "fill:#e6ebf2", ".s": "fill:#a3b0c0", "rect": "stroke:#6c7888", ".k0": "fill:#243a57", ".k1": "fill:#23432a", ".k2": "fill:#533e17",
    ".k3": "fill:#333a44", ".k4": "fill:#43304f", ".m": "fill:#262c35", "path": "stroke:#7c8898", "marker path": "fill:#7c8898;stroke:none",
}  # fmt: skip


def _rules(rules: dict[str, str]) -> str:
    """Return the rules of a style sheet, limited to our pictures: a notebook has other ones too."""
    return "".join(f".ut-graph {name}{{{rule}}}" for name, rule in rules.items())


_STYLE = f"{_rules(_LIGHT)}@media(prefers-color-scheme:dark){{{_rules(_DARK)}}}"


class Drawing:
    """An SVG picture: shown in a notebook as it is, written by `save`."""

    def __init__(self, svg: str) -> None:
        self._svg = svg

    def _repr_svg_(self) -> str:
        return self._svg

    def __str__(self) -> str:
        return self._svg

    def __repr__(self) -> str:
        return f"<Drawing: {len(self._svg)} characters of SVG; save(path) writes it>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file."""
        from pathlib import Path

        Path(path).write_text(self._svg, encoding="utf-8")


class _Box:
    """One box of the picture: its lines of text, and the class that gives its colour."""

    def __init__(self, title: str, lines: Iterable[str], colour: str, tip: str = "") -> None:
        self.title, self.lines, self.colour, self.tip = title, [line for line in lines if line], colour, tip
        longest = max(len(self.title), *(len(line) * 0.9 for line in self.lines), 4)
        self.width = longest * _CHARACTER + 2 * _PADDING
        self.height = (1 + len(self.lines)) * _LINE + _PADDING


def _shape(sizes: Any) -> str:
    return "×".join(map(str, sizes)) if sizes else "scalar"


def _tensor_graph(root: Tensor | Node) -> tuple[list[_Box], list[tuple[int, int]], list[str]]:
    """Return a box for each node below a tensor or a node, the edges, and a module for each box, which nobody knows here."""
    if isinstance(root, _C.Tensor):
        if root.grad_fn is None and not root.requires_grad:
            raise ValueError("draw: the tensor has no graph: it does not require grad")
        from undertow.autograd._node import _get_grad_fn_or_grad_acc

        first = _get_grad_fn_or_grad_acc(root)
    else:
        first = root
    number: dict[Any, int] = {first: 0}
    nodes, edges = [first], []
    for node in nodes:  # grows while it is walked
        for following, _ in node.next_functions:
            if following is None:
                continue
            if following not in number:
                number[following] = len(nodes)
                nodes.append(following)
            edges.append((number[node], number[following]))
    leaf_type = _C._node_type("AccumulateGrad")
    boxes = []
    for node in nodes:
        is_leaf = isinstance(node, leaf_type)
        shapes = ", ".join(_shape(m.shape) for m in node._input_metadata) if not is_leaf else _shape(node.variable.shape)  # type: ignore[attr-defined]
        name = node.name().rpartition("::")[2]
        line = _C._NodeBase.line.__get__(node) or ""
        colour = "k1" if is_leaf else "k2" if isinstance(node, _C._FunctionBase) else "k0"
        boxes.append(_Box("leaf" if is_leaf else name, [shapes, line.rpartition("/")[2]], colour, line))
    return boxes, edges, [""] * len(boxes)


def _recorded_graph(r: Recording) -> tuple[list[_Box], list[tuple[int, int]], list[str]]:
    nodes = r.data["nodes"]
    boxes = []
    for i, kind in enumerate(nodes["kind"]):
        line = r.line(i) or ""
        shapes = ", ".join(_shape(sizes) for _, sizes in nodes["outputs"][i])
        name = r.string(nodes["leaf_s"][i]) or ("leaf" if kind == 1 else r.name(i))
        boxes.append(_Box(name, [shapes, line.rpartition("/")[2]], f"k{kind}", line))
    edges = list(zip(r.data["edges"]["from"], r.data["edges"]["to"], strict=True))
    modules = [r.module(i) or "" for i in range(len(boxes))]
    for a, b in edges:  # a parameter belongs to the module that uses it
        if nodes["kind"][b] == 1 and not modules[b]:
            modules[b] = modules[a]
    return boxes, edges, modules


def _collapsed(boxes: list[_Box], edges: list[tuple[int, int]], groups: list[str]) -> tuple[list[_Box], list[tuple[int, int]]]:
    """Return one box per group. A group of one box is that box."""
    members: dict[str, list[_Box]] = {}
    for box, group in zip(boxes, groups, strict=True):
        members.setdefault(group, []).append(box)
    rows = {group: row for row, group in enumerate(members)}
    made = [inside[0] if len(inside) == 1 else _Box(group, [f"{len(inside)} nodes", _kinds(inside)], "m") for group, inside in members.items()]
    kept = dict.fromkeys((rows[groups[a]], rows[groups[b]]) for a, b in edges if groups[a] != groups[b])
    return made, list(kept)


def _kinds(boxes: list[_Box]) -> str:
    """Return the two most frequent operations."""
    count: dict[str, int] = {}
    for title in (box.title.partition("Backward")[0] for box in boxes if box.colour != "k1"):
        count[title] = count.get(title, 0) + 1
    return ", ".join(sorted(count, key=lambda title: -count[title])[:2])


def _groups(modules: list[str], boxes: list[_Box], edges: list[tuple[int, int]], most: int) -> list[str]:
    """Return a group for each box, so that there are at most `most` and no circle of groups.

    These are the modules to the deepest level that fits; an operation between modules stands alone. A module that is called again with
    other operations in between would be in a circle, as a recurrent cell is; then the groups are equal steps of the layers.
    """
    deepest = max((m.count(".") + 1 for m in modules if m), default=0)
    outer = {m[:at] for m in set(modules) for at in range(len(m)) if m[at] == "."}  # those with modules inside
    for level in range(deepest, 0, -1):
        parts = [m.split(".") for m in modules]
        groups = [
            ".".join(p[:level]) if p[0] and (len(p) >= level or m not in outer) else f"\0{i}"
            for i, (m, p) in enumerate(zip(modules, parts, strict=True))
        ]
        if len(set(groups)) <= most and _is_acyclic(groups, edges):
            return groups
    layers = ranks(len(boxes), edges)
    step = (max(layers, default=0) + min(most, _MOST_STEPS)) // min(most, _MOST_STEPS)
    return [f"depth {layer // step * step} to {layer // step * step + step - 1}" for layer in layers]


def _is_acyclic(groups: list[str], edges: list[tuple[int, int]]) -> bool:
    """Return whether the edges between groups form no circle."""
    rows = {group: row for row, group in enumerate(dict.fromkeys(groups))}
    between = list(dict.fromkeys((rows[groups[a]], rows[groups[b]]) for a, b in edges if groups[a] != groups[b]))
    layers = ranks(len(rows), between)
    return all(layers[a] < layers[b] for a, b in between)


def draw(what: Tensor | Node | Recording, *, most_boxes: int = MOST_BOXES) -> Drawing:
    """Draw the graph of a tensor, a node or a recording: a picture that notebooks show and `save(path)` writes.

    The loss is at the top, leaves are green, custom Functions yellow. A graph of more than `most_boxes` nodes is drawn with one box per
    module (of a recording), or per some levels of its depth.

    >>> import undertow as ut
    >>> x = ut.ones(2, requires_grad=True)
    >>> "MulBackward0" in str(ut.inspect.draw(x * 2))
    True
    """
    from undertow.inspect._recording import Recording

    boxes, edges, modules = _recorded_graph(what) if isinstance(what, Recording) else _tensor_graph(what)
    if len(boxes) > most_boxes:
        boxes, edges = _collapsed(boxes, edges, _groups(modules, boxes, edges, most_boxes))
    return Drawing(_svg(boxes, edges))


def _svg(boxes: list[_Box], edges: list[tuple[int, int]]) -> str:
    centres, lines = place([b.width for b in boxes], [b.height for b in boxes], edges)
    wide = max((x + b.width / 2 for (x, _), b in zip(centres, boxes, strict=True)), default=0.0) + 20
    tall = max((y + b.height / 2 for (_, y), b in zip(centres, boxes, strict=True)), default=0.0) + 20
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ut-graph" viewBox="-10 -10 {wide:.0f} {tall:.0f}" width="{wide:.0f}" '
        f'height="{tall:.0f}" role="img" aria-label="backward graph of {len(boxes)} boxes"><style>{_STYLE}</style>',
        '<defs><marker id="ut-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z"/></marker></defs>',
    ]
    for (a, b), points in zip(edges, lines, strict=True):
        points = [(points[0][0], points[0][1] + boxes[a].height / 2), *points[1:-1], (points[-1][0], points[-1][1] - boxes[b].height / 2)]
        out.append(f'<path d="{_curve(points)}" marker-end="url(#ut-arrow)"/>')
    for (x, y), box in zip(centres, boxes, strict=True):
        left, top = x - box.width / 2, y - box.height / 2
        tip = f"<title>{escape(box.tip)}</title>" if box.tip else ""
        out.append(f'<g>{tip}<rect class="{box.colour}" x="{left:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"/>')
        out.append(f'<text x="{x:.1f}" y="{top + _LINE:.1f}" text-anchor="middle">{escape(box.title)}</text>')
        for i, line in enumerate(box.lines, 2):
            out.append(f'<text class="s" x="{x:.1f}" y="{top + _LINE * i:.1f}" text-anchor="middle">{escape(line)}</text>')
        out.append("</g>")
    return "\n".join([*out, "</svg>"])


def _curve(points: list[tuple[float, float]]) -> str:
    """Return the path of a smooth line through points that go downward."""
    text = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (x0, y0), (x1, y1) in zip(points, points[1:], strict=False):
        middle = (y0 + y1) / 2
        text += f"C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}"
    return text
