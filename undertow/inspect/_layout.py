"""A layered drawing of a graph: ranks by longest path, order by barycentres, coordinates by averaging. No recursion."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    Point: TypeAlias = tuple[float, float]

_SWEEPS = 6
GAP_X, GAP_Y = 18.0, 42.0


def ranks(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return for each box its layer: one below the lowest of those that point to it. Edges that close a cycle are ignored.

    >>> ranks(4, [(0, 1), (1, 3), (0, 2), (2, 3), (0, 3)])
    [0, 1, 1, 2]
    """
    below: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for a, b in edges:
        if a != b:
            below[a].append(b)
            waiting[b] += 1
    found = [0] * count
    ready = [i for i in range(count) if not waiting[i]]
    done = [False] * count
    while True:
        while ready:
            at = ready.pop()
            done[at] = True
            for b in below[at]:
                found[b] = max(found[b], found[at] + 1)
                waiting[b] -= 1
                if waiting[b] == 0 and not done[b]:
                    ready.append(b)
        left = next((i for i in range(count) if not done[i]), None)  # part of a cycle
        if left is None:
            return found
        waiting[left] = 0
        ready.append(left)


def place(widths: Sequence[float], heights: Sequence[float], edges: Sequence[tuple[int, int]]) -> tuple[list[Point], list[list[Point]]]:
    """Return the centre of each box, and the points of each edge. Long edges get a point in each layer that they cross."""
    count = len(widths)
    layer_of = ranks(count, edges)
    w, h = list(widths), list(heights)
    chains: list[list[int]] = []
    for a, b in edges:
        chain = [a]
        if layer_of[b] > layer_of[a]:
            for layer in range(layer_of[a] + 1, layer_of[b]):  # a point in each layer between
                chain.append(len(w))
                w.append(4.0)
                h.append(0.0)
                layer_of.append(layer)
        chains.append([*chain, b])
    layers: list[list[int]] = [[] for _ in range(max(layer_of, default=-1) + 1)]
    for box, layer in enumerate(layer_of):
        layers[layer].append(box)
    up: list[list[int]] = [[] for _ in w]
    down: list[list[int]] = [[] for _ in w]
    for chain in chains:
        for a, b in zip(chain, chain[1:], strict=False):
            down[a].append(b)
            up[b].append(a)
    _order(layers, up, down)
    x = _coordinates(layers, up, down, w)
    y, top = [0.0] * len(w), 0.0
    for boxes in layers:
        tall = max((h[box] for box in boxes), default=0.0)
        for box in boxes:
            y[box] = top + tall / 2
        top += tall + GAP_Y
    lines = [[(x[box], y[box]) for box in chain] for chain in chains]
    return [(x[i], y[i]) for i in range(count)], lines


def _order(layers: list[list[int]], up: list[list[int]], down: list[list[int]]) -> None:
    """Sort each layer by the mean position of the neighbours above, then below, several times."""
    position = {box: i for layer in layers for i, box in enumerate(layer)}
    for sweep in range(_SWEEPS):
        near = up if sweep % 2 == 0 else down
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            key = {box: sum(position[n] for n in near[box]) / len(near[box]) if near[box] else position[box] for box in layer}
            layer.sort(key=lambda box: key[box])
            for i, box in enumerate(layer):
                position[box] = i


def _coordinates(layers: list[list[int]], up: list[list[int]], down: list[list[int]], widths: list[float]) -> list[float]:
    """Return the middle of each box: close to its neighbours, with the order and the gaps of its layer kept."""
    x = [0.0] * len(widths)
    for layer in layers:
        at = 0.0
        for box in layer:
            x[box] = at + widths[box] / 2
            at += widths[box] + GAP_X
        for box in layer:
            x[box] -= at / 2
    for sweep in range(_SWEEPS):
        near = up if sweep % 2 == 0 else down
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted = [sum(x[n] for n in near[box]) / len(near[box]) if near[box] else x[box] for box in layer]
            left = _pushed(wanted, [widths[box] for box in layer])
            right = [-v for v in reversed(_pushed([-v for v in reversed(wanted)], [widths[box] for box in reversed(layer)]))]
            for box, a, b in zip(layer, left, right, strict=True):
                x[box] = (a + b) / 2
    low = min((x[i] - widths[i] / 2 for i in range(len(x))), default=0.0)
    return [v - low for v in x]


def _pushed(wanted: list[float], widths: list[float]) -> list[float]:
    """Move positions to the right until no two boxes overlap."""
    out: list[float] = []
    for i, want in enumerate(wanted):
        least = out[-1] + (widths[i - 1] + widths[i]) / 2 + GAP_X if out else want
        out.append(max(want, least))
    return out
