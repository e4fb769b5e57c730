"""`gradients`: which gradients a pass captures, as tensors or as rows, and how their terms are summed.

Uses the engine's `_run_configured_pass`; does not depend on optimizers.
"""

from __future__ import annotations

from threading import Lock

import undertow
from undertow import _C
from undertow._C import Tensor
from undertow.autograd.graph import GradientEdge, _log_nodes, get_gradient_edge
from undertow.train._slices import IndexedSlices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Gradient = Tensor | IndexedSlices | None


class AggregationMethod:
    """How the contributions to one gradient are summed.

    - `ADD_N` (the default): all of them at once, when the last has arrived.
    - `EXPERIMENTAL_TREE`: in pairs, then the sums in pairs; lowest rounding error.
    - `EXPERIMENTAL_ACCUMULATE_N`: each is added as it arrives; lowest memory use.
    """

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


# The engine's numbers: see Note [Ways To Sum] in core/graph/engine/aggregate.h.
_ENGINE = {None: 1, AggregationMethod.ADD_N: 1, AggregationMethod.EXPERIMENTAL_TREE: 2, AggregationMethod.EXPERIMENTAL_ACCUMULATE_N: 0}


class UnconnectedGradients:
    """The result of `gradients` for an x that the ys do not depend on."""

    NONE = "none"
    ZERO = "zero"


class _Rows:
    """A node that looked up rows of a table: how its gradient becomes rows of the table's gradient."""

    def __init__(self, node: Any, table: Tensor, indices: Tensor, padding: int = -1, spread: Callable[[Tensor], Tensor] | None = None) -> None:
        self.edge = GradientEdge(node, 0)
        self.spread = spread  # creates one row per index from the node's gradient, if that has fewer
        self.width = table.shape[1:]
        self.indices = undertow.where(indices < 0, indices + len(table), indices).reshape(-1)
        self.padding = padding

    def slices(self, grad: Tensor) -> tuple[Tensor, Tensor]:
        """Return the rows and their indices."""
        values = (grad if self.spread is None else self.spread(grad)).reshape(-1, *self.width)
        if self.padding < 0:
            return values, self.indices
        kept = self.indices != self.padding
        return values[kept], self.indices[kept]


def _bag_rows(node: Any, table: Tensor) -> _Rows | None:
    """Handle sums or means of bags of rows: every row of a bag has the bag's gradient."""
    if node._saved_by_freq or node._saved_mode > 1:
        return None
    bags, counts, scales, mean = node._saved_bags, node._saved_counts, node._saved_scales, node._saved_mode == 1

    def spread(grad: Tensor) -> Tensor:
        rows = grad.index_select(0, bags)
        if mean:
            rows = rows / counts[bags].clamp(min=1).to(grad.dtype).unsqueeze(1)
        return rows if scales is None else rows * scales.unsqueeze(1)

    return _Rows(node, table, node._saved_indices, node._saved_padding_idx, spread)


def _rows_of(node: Any, table: Tensor) -> _Rows | None:
    """Return the node as a lookup of whole rows, if it is one and its indices have not been freed."""
    try:
        name = node.name()
        if name == "EmbeddingBackward0":
            return None if node._saved_scale_grad_by_freq else _Rows(node, table, node._saved_indices, node._saved_padding_idx)
        if name == "EmbeddingBagBackward0":
            return _bag_rows(node, table)
        if name == "IndexSelectBackward0":
            return _Rows(node, table, node._saved_index) if node._saved_dim in (0, -table.dim()) else None
        first, *others = node._saved_indices
    except RuntimeError:  # freed: the pass raises a clearer error
        return None
    whole_rows = first is not None and first.dtype in (undertow.int64, undertow.int32) and all(i is None for i in others)
    return _Rows(node, table, first) if whole_rows else None


class _Wanted:
    """A tensor to differentiate with respect to, and the edges whose gradients add up to its own."""

    def __init__(self, x: Tensor, users: list[Any] | None) -> None:
        self.shape = x.shape
        self.rows: list[_Rows] = []
        if users and not x._backward_hooks:  # hooks need the whole gradient
            rows = [r for node in users if (r := _rows_of(node, x)) is not None]
            self.rows = rows if len(rows) == len(users) else []
        self.edges: list[Any] = [r.edge for r in self.rows] or [x]
        self.parts: list[Tensor | None] = [None] * len(self.edges)
        self.left = len(self.edges)

    def put(self, number: int, grad: Tensor | None) -> bool:
        """Store the gradient of edge `number`; return True if all have arrived."""
        self.parts[number] = grad
        self.left -= 1
        return self.left == 0

    def gradient(self) -> Gradient:
        """Return the total gradient, once; None if none arrived."""
        parts, self.parts = self.parts, []
        if not self.rows:
            whole = parts[0]
            return IndexedSlices.from_sparse(whole) if whole is not None and whole.is_sparse and whole.sparse_dim() == 1 else whole
        slices = [r.slices(g) for r, g in zip(self.rows, parts, strict=True) if g is not None]
        if not slices:
            return None
        values, indices = ([s[i] for s in slices] for i in (0, 1))
        if len(slices) == 1:
            return IndexedSlices(values[0], indices[0], self.shape)
        return IndexedSlices(undertow.cat(values), undertow.cat(indices), self.shape)


def _listed(x: Any) -> list[Any]:
    return list(x) if isinstance(x, (list, tuple)) else [x]


def _root_grads(ys: list[Tensor], grad_ys: Any) -> list[Tensor]:
    """Return a gradient for each y: ones if none is given."""
    grads = [None] * len(ys) if grad_ys is None else _listed(grad_ys)
    if len(grads) != len(ys):
        raise ValueError(f"Passed {len(grads)} grad_ys for {len(ys)} ys")
    made = []
    for y, g in zip(ys, grads, strict=True):
        g = undertow.ones_like(y) if g is None else undertow.as_tensor(g, dtype=y.dtype)
        if g.shape != y.shape:
            raise ValueError(f"gradients: grad_ys must have the shape of ys, got {tuple(g.shape)} for {tuple(y.shape)}")
        made.append(g)
    return made


def _stop_edges(tensors: Sequence[Tensor]) -> tuple[list[GradientEdge], list[Any]]:
    """Return where gradients stop: nodes with one output that need not run, and hooks on the others that drop one input."""
    ends, handles = [], []
    for t in tensors:
        if not t.requires_grad:
            continue
        edge = get_gradient_edge(t)
        if t.is_leaf or len(edge.node._input_metadata) == 1:
            ends.append(edge)
        else:
            handles.append(edge.node.register_prehook(lambda gs, nr=edge.output_nr: tuple(None if i == nr else g for i, g in enumerate(gs))))
    return ends, handles


def run(
    ys: list[Tensor],
    xs: Sequence[Tensor],
    grad_ys: Any = None,
    *,
    aggregation_method: int | None = None,
    stop_gradients: Sequence[Tensor] = (),
    keep_graph: bool = False,
    create_graph: bool = False,
    ready: Callable[[int, Gradient], None] | None = None,
    each_node: bool = False,
) -> list[Gradient]:
    """Return the gradient of the sum of ys with respect to each x, or None.

    With `ready`, each gradient is passed to it during the pass instead: as soon as it is complete, or, with `each_node`, when the node
    that completed it has finished.
    """
    if aggregation_method not in _ENGINE:
        raise ValueError(f"Invalid aggregation_method specified {aggregation_method}.")
    pairs = [(y, g) for y, g in zip(ys, _root_grads(ys, grad_ys), strict=True) if y.requires_grad]
    roots = [y for y, _ in pairs]
    users = {id(leaf): nodes for leaf, nodes in _C._graph_leaves(roots)}
    wanted = {i: _Wanted(x, users.get(id(x))) for i, x in enumerate(xs) if x.requires_grad and (not x.is_leaf or id(x) in users)}
    places = [(i, number) for i, w in wanted.items() for number in range(len(w.edges))]
    if not places:
        return [None] * len(xs)
    edges = [wanted[i].edges[number] for i, number in places]

    lock = Lock()  # guards the counts of edges: workers may deliver gradients at the same time

    def arrived(index: int, grad: Tensor | None) -> None:
        i, number = places[index]
        with lock:
            complete = wanted[i].put(number, grad)
        if complete and ready is not None:
            ready(i, wanted[i].gradient())

    ends, handles = _stop_edges(stop_gradients)
    handles += _log_nodes(roots)
    sink = None if ready is None else arrived
    try:
        method = _ENGINE[aggregation_method]
        grads = _C._run_configured_pass(roots, [g for _, g in pairs], edges, ends, keep_graph, create_graph, method, sink, each_node)
    finally:
        for handle in handles:
            handle.remove()
    if ready is not None or grads is None:
        return []
    for (i, number), grad in zip(places, grads, strict=True):
        wanted[i].put(number, grad)
    return [wanted[i].gradient() if i in wanted else None for i in range(len(xs))]


def check_flag(name: str, value: Any) -> None:
    """Raise unless an option is True or False: a gate of `Optimizer`, for example, is neither."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r}")


def check_colocated(grads: Sequence[Gradient], xs: Sequence[Tensor]) -> None:
    """Raise if a gradient is not on the device of its x."""
    for g, x in zip(grads, xs, strict=True):
        if g is not None and g.device != x.device:
            raise RuntimeError(f"colocate_gradients_with_ops: the gradient of a tensor on {x.device} is on {g.device}")


def gradients(
    ys: Tensor | Sequence[Tensor],
    xs: Tensor | Sequence[Tensor],
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Tensor | Sequence[Tensor] | None = None,
    unconnected_gradients: str = UnconnectedGradients.NONE,
) -> list[Gradient]:
    """Return the gradient of the sum of `ys`, weighted by `grad_ys`, with respect to each of `xs`.

    They can be differentiated again, and the graph is kept. A table that was only used for row lookups gets `IndexedSlices`.
    `stop_gradients` are treated as constants.

    With `gate_gradients`, the pass uses one thread, and all gradients of a node are complete before the next node runs. All gradients
    are complete when the function returns in any case. With `colocate_gradients_with_ops`, a gradient that is not on the device of its
    x raises; an operation's gradient is always computed on the operation's device. `name` has no effect.

    >>> import undertow as ut
    >>> a = ut.tensor(0.0, requires_grad=True)
    >>> b = 2 * a
    >>> ut.train.gradients(a + b, [a, b], stop_gradients=[a, b])
    [tensor(1.), tensor(1.)]
    """
    if unconnected_gradients not in (UnconnectedGradients.NONE, UnconnectedGradients.ZERO):
        raise ValueError(f"Unknown value for unconnected_gradients: {unconnected_gradients!r}")
    ys, xs = _listed(ys), _listed(xs)
    for t in (*ys, *xs):
        if not isinstance(t, Tensor):
            raise TypeError(f"gradients: expected tensors, got {type(t).__name__}")
    check_flag("gate_gradients", gate_gradients)
    check_flag("colocate_gradients_with_ops", colocate_gradients_with_ops)
    stops = [] if stop_gradients is None else _listed(stop_gradients)
    options: dict[str, Any] = {"aggregation_method": aggregation_method, "stop_gradients": stops, "keep_graph": True, "create_graph": True}
    if gate_gradients:
        grads: list[Gradient] = [None] * len(xs)
        run(ys, xs, grad_ys, **options, ready=grads.__setitem__, each_node=True)
    else:
        grads = run(ys, xs, grad_ys, **options)
    if colocate_gradients_with_ops:
        check_colocated(grads, xs)
    if unconnected_gradients == UnconnectedGradients.ZERO:
        return [undertow.zeros_like(x) if g is None else g for g, x in zip(grads, xs, strict=True)]
    return grads


def hessians(
    ys: Tensor | Sequence[Tensor],
    xs: Tensor | Sequence[Tensor],
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
) -> list[Tensor]:
    """Return for each of `xs` the matrix of second derivatives of the sum of `ys`, of shape x.shape + x.shape.

    There are no mixed derivatives between two xs. The options are those of `gradients`. An x that the ys do not depend on raises; where
    the ys are linear in x, the result is zero.

    >>> import undertow as ut
    >>> x = ut.tensor([1.0, 2.0], requires_grad=True)
    >>> ut.train.hessians(x[0] ** 2 * x[1], x)[0].tolist()
    [[4.0, 2.0], [2.0, 0.0]]
    """
    xs = _listed(xs)
    options: dict[str, Any] = {"aggregation_method": aggregation_method, "gate_gradients": gate_gradients}
    options["colocate_gradients_with_ops"] = colocate_gradients_with_ops
    found = []
    for i, (x, first) in enumerate(zip(xs, gradients(ys, xs, **options), strict=True)):
        if first is None:
            raise ValueError(f"hessians: ys do not depend on element {i} of xs, of shape {tuple(x.shape)}")
        flat = (first.to_dense() if isinstance(first, IndexedSlices) else first).reshape(-1)
        rows: list[Tensor] = []
        for element in flat.unbind() if flat.requires_grad else []:
            (row,) = gradients(element, x, **options)
            row = row.to_dense() if isinstance(row, IndexedSlices) else row
            rows.append(undertow.zeros_like(x, requires_grad=False) if row is None else row)
        whole = undertow.stack(rows) if rows else undertow.zeros((flat.numel(), *x.shape), dtype=x.dtype, device=x.device)
        found.append(whole.reshape((*x.shape, *x.shape)))
    return found


def stop_gradient(input: Tensor, name: str | None = None) -> Tensor:
    """Return the value of `input` without its history, so that no gradient passes through.

    >>> import undertow as ut
    >>> x = ut.tensor(3.0, requires_grad=True)
    >>> ut.train.gradients(x * ut.train.stop_gradient(x), x)
    [tensor(3.)]
    """
    return input.detach()


def trainable_variables(loss: Tensor | Sequence[Tensor]) -> list[Tensor]:
    """Return the leaves of the graph of `loss` in order of first use, without variables that are not trainable."""
    return [leaf for leaf, _ in _C._graph_leaves(_listed(loss)) if getattr(leaf, "trainable", True)]
