"""`explain_grad`: why a gradient is None, zero or not finite.

The graph shows what is connected. If provenance was recorded, the records show where the connection was
cut. One observed backward pass shows at which node a gradient became zero or non-finite.
"""

from __future__ import annotations

from undertow import _C
from undertow.autograd._backward import grad as _grad
from undertow.autograd._diagnostics.places import shown_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, overload

    from undertow import Tensor
    from undertow.nn import Module

# State of an observed gradient (graph_ops::Look in the core).
_UNDEFINED, _ZERO, _FINITE, _INFINITE, _NAN = range(5)

_CASTS = frozenset({"to", "copy_"})
_PLAIN_NAMES = {"_to_copy": "to", "to_dtype": "to"}  # internal operators, by their public name

_HOW_TO_RECORD = (
    "To find out, pass a function that computes the loss, explain_grad(param, lambda: ...), or record provenance: set UNDERTOW_TRACE=1 "
    "in the environment, or call undertow.autograd.set_detect_anomaly(True) before the forward pass."
)


class GradExplanation:
    """The result of `explain_grad`; its string form is an explanation."""

    line: str | None
    cuts: list[tuple[str, str, str]]

    def __init__(
        self,
        reason: str,
        text: str,
        operation: str | None = None,
        line: str | None = None,
        grad: Tensor | None = None,
        cuts: Iterable[tuple[str, str, str]] = (),
    ) -> None:
        #: A short code: see `explain_grad`.
        self.reason = reason
        #: The operation or node that caused it, if there is one.
        self.operation = operation
        #: Where it was called, as file:line, if lines were recorded.
        self.line = line or None
        #: The gradient, if one was computed.
        self.grad = grad
        #: Every point where the connection was cut: (reason, operation, line), earliest first.
        self.cuts = list(cuts)
        self._text = text

    def __str__(self) -> str:
        return f"{self.reason}: {self._text}"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p><b>{escape(self.reason)}</b>: {escape(self._text).replace(chr(10), '<br>')}</p>"

    def __repr__(self) -> str:
        place = f", line={self.line!r}" if self.line else ""
        return f"GradExplanation(reason={self.reason!r}, operation={self.operation!r}{place})"


class ModuleExplanation(dict[str, GradExplanation]):
    """The result of `explain_grad` for a module: an explanation for each parameter, by name. Its string form groups those with one cause."""

    def __str__(self) -> str:
        groups: dict[str, list[str]] = {}
        for name, why in self.items():
            groups.setdefault(str(why), []).append(name)
        return "\n".join(f"{', '.join(names)}: {text}" for text, names in groups.items()) or "the module has no parameters"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(str(self)).replace(chr(10), '<br>')}</p>"


def _at(line: str | None) -> str:
    return f" at {shown_line(line)}" if line else ""


def _short(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def _is_differentiable(dtype: Any) -> bool:
    return dtype.is_floating_point or dtype.is_complex


def _classify(cut: tuple[Any, ...]) -> tuple[str, str]:
    """Return the reason code of a cut, and its description."""
    operation, line, no_grad, inference, result, source, frozen, _no_derivative = cut
    where = _at(line)
    if frozen:
        return "frozen", f"it did not require grad when {operation} used it{where}; requires_grad was set later"
    if operation in ("detach", "detach_"):
        return "detached", f"{operation}(){where} detached it"
    if operation == ".data":
        return "detached", f".data{where} detached it"
    if operation in ("tensor", "Parameter"):
        return "detached", f"{operation}(){where} copied its values without their history"
    if inference:
        return "inference_mode", f"{operation}{where} ran in inference mode"
    if no_grad:
        return "no_grad", f"{operation}{where} ran in no_grad mode"
    if not _is_differentiable(result) and operation in _CASTS:
        made = _short(result)
        return "integer", f"{operation}{where} converted {_short(source)} to {made}, and gradients do not pass through {made}"
    if not _is_differentiable(result):
        return "nondifferentiable", f"{operation}{where} has no derivative: its result is {_short(result)}"
    return "nondifferentiable", f"{operation}{where} has no derivative with respect to this argument"


def _from_history(history: tuple[Any, ...]) -> GradExplanation:
    """Explain from complete records: where the connection was cut, or that the tensor was never used."""
    depends, incomplete, found, exits = history
    cuts = []
    texts: list[str] = []
    for recorded in found:
        cut = (_PLAIN_NAMES.get(recorded[0], recorded[0]), *recorded[1:])
        reason, text = _classify(cut)
        if text not in texts:
            cuts.append((reason, cut[0], cut[1]))
            texts.append(text)
    if cuts:
        reason, operation, line = cuts[0]
        text = f"the loss was computed from it, but {texts[0]}."
        if len(texts) > 1:
            text += "".join(f"\n  Also: {other}." for other in texts[1:6])
            text += f"\n  And {len(texts) - 6} more." if len(texts) > 6 else ""
        return GradExplanation(reason, text, operation, line, cuts=cuts)
    if incomplete:
        return GradExplanation(
            "unused_or_cut",
            "no path from it to the loss was found, but the records are incomplete because of their limit: record a shorter part of the program.",
        )
    if depends:
        return GradExplanation(
            "unused_or_cut",
            "the loss was computed from it by differentiable operations, but the graph does not lead to it: its history was replaced.",
        )
    text = "the loss was not computed from it, as far as was recorded."
    if exits:
        places = list(dict.fromkeys(f"{operation}(){_at(line)}" for operation, line in exits))
        text += f" Its value was converted to Python numbers, which have no history: {', '.join(places[:5])}."
    return GradExplanation("unused", text)


def _from_graph(param: Tensor, loss: Tensor) -> GradExplanation:
    """Explain without records, from the saved tensors in the graph of the loss."""
    hints = []
    for relation, operation, node, line, name, dtype, shape in _C._cut_saved((loss,), param):
        saved, where = f"{node} saved as `{name}`", _at(line)
        if relation == "same":
            text = f"it did not require grad when it was used: {saved} the tensor itself{where}; requires_grad was set later."
            return GradExplanation("frozen", text, node, line)
        if relation in ("no_grad", "inference_mode"):
            mode = relation.replace("_mode", " mode")
            return GradExplanation(relation, f"the loss uses it through a view created in {mode}: {saved} a view of it{where}.", node, line)
        if relation in ("detach", "data"):
            how = ".data" if relation == "data" else "detach()"
            text = f"the loss uses its memory, detached by {how}: {saved} a tensor that shares its memory and does not require grad{where}."
            return GradExplanation("detached", text, how.rstrip("()"), line)
        made = _PLAIN_NAMES.get(operation, operation)
        hints.append(f"\n  {made} made {_short(dtype)} {list(shape)}, which {saved}{where}, from a tensor that required grad.")
    text = (
        "the graph of the loss does not lead to it: either the loss was not computed from it, or the path was cut by detach, no_grad, an "
        "integer conversion or similar. "
    )
    if hints:
        text += "The loss uses results that were detached:" + "".join(hints[:5]) + "\n"
    return GradExplanation("unused_or_cut", text + _HOW_TO_RECORD)


def _unconnected(param: Tensor, loss: Tensor, known_exits: int = 0) -> GradExplanation:
    history = _C._cut_history(param, loss)
    if history is not None:
        found = _from_history((*history[:3], history[3][known_exits:]))
        if found.reason != "unused_or_cut" or not loss.requires_grad:
            return found
    if loss.requires_grad:
        return _from_graph(param, loss)
    if loss.is_inference():
        return GradExplanation("inference_mode", "the loss has no graph: it was computed in inference mode.")
    operation, line = _C._how_made(loss)
    if operation is not None:
        text = f"the loss has no graph: {operation}{_at(line)}, which computed it, has no derivative."
        return GradExplanation("nondifferentiable", text, operation, line)
    text = "the loss has no graph: none of its inputs requires grad, or it was computed in no_grad mode, or detached. "
    return GradExplanation("unused_or_cut", text + _HOW_TO_RECORD)


def _not_wanted(param: Tensor) -> GradExplanation:
    """Explain a tensor that does not require grad itself."""
    operation, line = _C._how_made(param)
    if operation in ("detach", "detach_", ".data"):
        return GradExplanation("detached", f"it does not require grad: it was created by {operation}{_at(line)}.", operation, line)
    if not _is_differentiable(param.dtype):
        text = f"its dtype is {_short(param.dtype)}, and only floating point and complex tensors have gradients."
        return GradExplanation("integer", text, operation, line)
    if param.is_inference():
        return GradExplanation("inference_mode", f"it was created in inference mode{_at(line)}, and does not require grad.", operation, line)
    made = f" (it was created by {operation}{_at(line)})" if operation else ""
    return GradExplanation("frozen", f"it does not require grad{made}: requires_grad is False.", operation, line)


class _Pass:
    """An observed pass: the gradients of each node on arrival, after its hooks, and as returned."""

    def __init__(self, seen: list[tuple[Any, ...]]) -> None:
        self.order = {node[0]: k for k, node in enumerate(seen)}
        self.nodes = {node[0]: node for node in seen}
        self.into: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for node in seen:
            for k, edge in enumerate(node[6]):
                if k < len(node[5]):
                    self.into.setdefault(edge, []).append((node[0], k))

    def culprit(self, target: tuple[int, int], bad: Callable[[int], bool], wholly: bool) -> tuple[str, tuple[Any, ...]] | None:
        """Return the first node, in the order of the pass, that produced a `bad` gradient from good ones on the path to `target`.

        `wholly`: a node is not the cause only if all of its incoming gradients were bad (zero); otherwise if any was (nan).
        """
        found: list[tuple[int, str, tuple[Any, ...]]] = []
        stack, seen = [target], {target}

        def good(look: int) -> bool:
            return look != _UNDEFINED and not bad(look)

        while stack:
            at = stack.pop()
            node = self.nodes.get(at[0])
            if node is None:  # not part of the pass
                continue
            if good(node[3][at[1]]):  # good on arrival, so a hook made it bad
                found.append((self.order[at[0]], "hook", node))
                continue
            left = [(source, self.nodes[source][5][k]) for source, k in self.into.get(at, [])]
            guilty = {source for source, look in left if bad(look)}
            if left and (any(good(look) for _, look in left) if wholly else not guilty):
                found.append((self.order[at[0]], "sum", node))
                continue
            for source in guilty:
                entered = self.nodes[source][4]
                spoiled = [k for k, look in enumerate(entered) if bad(look)]
                if not spoiled or (wholly and any(good(look) for look in entered)):
                    found.append((self.order[source], "node", self.nodes[source]))
                    continue
                fresh = [(source, k) for k in spoiled if (source, k) not in seen]
                seen.update(fresh)
                stack.extend(fresh)
        if not found:
            return None
        _, how, node = min(found, key=lambda f: f[0])
        return how, node


def _watched(param: Tensor, loss: Tensor) -> tuple[Tensor | None, _Pass]:
    from undertow import ones_like

    _C._watch_grads()
    try:
        grads: Any = _grad(loss, param, grad_outputs=ones_like(loss), retain_graph=True, allow_unused=True)
    finally:
        seen = _C._watched_grads()
    return grads[0], _Pass(seen)


def _what(how: str, node: tuple[Any, ...], became: str) -> str:
    name, line = node[1], node[2]
    if how == "hook":
        return f"a hook on the gradient that enters {name}{_at(line)} made it {became}"
    if how == "sum":
        return f"the contributions summed before {name}{_at(line)} add up to {became}"
    return f"{name}{_at(line)} was the first to make it {became}"


def _from_values(param: Tensor, loss: Tensor) -> GradExplanation:
    """Explain a tensor that the graph leads to, by observing its gradient."""
    grad, watched = _watched(param, loss)
    target = _C._edge_id(param)
    if grad is None:
        found = watched.culprit(target, lambda look: look == _UNDEFINED, wholly=True)
        operation, line = (found[1][1], found[1][2]) if found else (None, None)
        by = f": {operation}{_at(line)} returned None for it" if found else ""
        return GradExplanation("nondifferentiable", f"the graph leads to it, but no gradient arrives{by}.", operation, line)
    with _no_grad():
        finite = bool(grad.isfinite().all())
        nonzero = bool((grad != 0).any())
        loss_finite = bool(loss.isfinite().all())
    if finite and nonzero and loss.numel() != 1:
        text = (
            f"the loss has {loss.numel()} elements (shape {list(loss.shape)}), and backward() needs a scalar: use sum() or mean(), or pass a "
            "gradient of its shape. With a gradient of ones, the gradient of this tensor is finite and not zero."
        )
        return GradExplanation("non_scalar", text, grad=grad)
    if finite and nonzero:
        return GradExplanation("fine", "its gradient is finite and not zero.", grad=grad)
    bad: Callable[[int], bool] = (lambda look: look in (_INFINITE, _NAN)) if not finite else (lambda look: look == _ZERO)
    became = "not finite" if not finite else "zero"
    found = watched.culprit(target, bad, wholly=finite)
    text = f"its gradient is {became}"
    text += f": {_what(*found, became)}." if found else "."
    if not finite and not loss_finite:
        text += " The loss itself is not finite."
    if found is None:
        return GradExplanation("nonfinite" if not finite else "zero", text, grad=grad)
    return GradExplanation("nonfinite" if not finite else "zero", text, found[1][1], found[1][2], grad)


def _no_grad() -> Any:
    from undertow.autograd.grad_mode import no_grad

    return no_grad()


def _after_backward(param: Tensor) -> GradExplanation:
    """Explain after the graph has been freed, from `.grad` only."""
    again = "The graph has been freed by a backward pass; for more, call explain_grad before it, or pass a function that computes the loss."
    grad = param.grad if param.is_leaf or param.retains_grad else None
    if grad is None:
        text = "the graph leads to it, but its .grad is None: it was cleared, or the pass was run for other inputs. "
        return GradExplanation("freed", text + again)
    with _no_grad():
        if not bool(grad.isfinite().all()):
            return GradExplanation("nonfinite", f"its .grad is not finite. {again}", grad=grad)
        if not bool((grad != 0).any()):
            return GradExplanation("zero", f"its .grad is zero. {again}", grad=grad)
    return GradExplanation("fine", "its .grad is finite and not zero.", grad=grad)


def _exits_so_far(param: Tensor) -> int:
    """Return how many conversions of values computed from `param` are known already; later facts are those after them."""
    history = _C._cut_history(param, param)
    return 0 if history is None else len(history[3])


def _computed(loss: Callable[[], Tensor]) -> Tensor:
    before = _C._record_lines(True)
    try:
        result = loss()
    finally:
        _C._record_lines(before)
    if not isinstance(result, _C.Tensor):
        raise TypeError(f"explain_grad: the function should return a tensor, got {type(result).__name__}")
    return result


def _named_parameters(module: Any) -> dict[str, Tensor] | None:
    from undertow.nn.modules.module import Module

    return dict(module.named_parameters()) if isinstance(module, Module) else None


if TYPE_CHECKING:

    @overload
    def explain_grad(param: Tensor, loss: Tensor | Callable[[], Tensor]) -> GradExplanation: ...
    @overload
    def explain_grad(param: Module, loss: Tensor | Callable[[], Tensor]) -> ModuleExplanation: ...


def explain_grad(param: Tensor | Module, loss: Tensor | Callable[[], Tensor]) -> GradExplanation | ModuleExplanation:
    """Explain why the gradient of `loss` with respect to `param` is None, zero or not finite.

    `loss` may be a function without arguments that computes it; the function runs once, and everything it does
    is recorded. If `loss` is a tensor, cuts are known completely only if lines were recorded while it was computed
    (`UNDERTOW_TRACE=1`, anomaly mode); otherwise the explanation uses only the graph. `param` may be a module: then
    the result is a dictionary with an explanation for each of its parameters.

    `.reason` is one of: "fine"; "frozen" (requires_grad is or was False); "non_leaf" (not a leaf, and no
    `retain_grad()`); "unused"; cut by "detached", "no_grad", "inference_mode", "integer" (a cast) or
    "nondifferentiable" (an operation); "unused_or_cut" (nothing more is known); "zero" and "nonfinite" (with the
    node where it began); "non_scalar" (fine, but `backward()` needs a scalar); "freed" (the graph was freed).
    `.operation` and `.line` identify the operation and its source line.

    One backward pass is run and the graph is kept; `.grad` of every tensor is unchanged. Hooks do run.

    >>> import undertow as ut
    >>> w = ut.ones(3, requires_grad=True)
    >>> x = ut.ones(3, requires_grad=True)
    >>> why = ut.autograd.explain_grad(w, lambda: (w.detach() * x).sum())
    >>> why.reason, why.operation
    ('detached', 'detach')
    >>> ut.autograd.explain_grad(x, (x.clamp(max=0.5) * 2).sum()).operation
    'ClampBackward1'
    """
    parameters = {"": param} if isinstance(param, _C.Tensor) else _named_parameters(param)
    if parameters is None:
        raise TypeError(f"explain_grad expects a tensor or a module, got {type(param).__name__}")
    exits = dict.fromkeys(parameters, 0)
    if not isinstance(loss, _C.Tensor):
        if not callable(loss):
            raise TypeError(f"explain_grad expects a tensor or a function that computes one, got {type(loss).__name__}")
        exits = {name: _exits_so_far(p) for name, p in parameters.items()}
        loss = _computed(loss)
    found = {name: _explained(p, loss, exits[name]) for name, p in parameters.items()}
    return found[""] if isinstance(param, _C.Tensor) else ModuleExplanation(found)


def _explained(param: Tensor, loss: Tensor, known_exits: int) -> GradExplanation:
    if not param.requires_grad:
        return _not_wanted(param)
    reached, freed = _C._graph_reaches((loss,), param)
    if not reached:
        return _unconnected(param, loss, known_exits)
    if not param.is_leaf and not param.retains_grad:
        node = param.grad_fn.name() if param.grad_fn is not None else "an operation"
        text = f"the gradient passes through it, but it is not a leaf ({node} created it): call retain_grad() on it before the backward pass."
        return GradExplanation("non_leaf", text, node)
    return _after_backward(param) if freed else _from_values(param, loss)
