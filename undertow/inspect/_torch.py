"""`record_torch`: records the passes of a program that runs on real PyTorch, by hooks, so that `diff` can compare the two."""

from __future__ import annotations

import re
import time
from typing import Any

from undertow.inspect._recording import Recording
from undertow.inspect._tables import ACCUMULATED, FINISHED, STARTED, Tables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

_FRAME = re.compile(r'\s*File "([^"]+)", line (\d+)')


class record_torch:
    """Context manager: records the backward passes of PyTorch, the real one, in the block; gives a `Recording`.

    Every node gets hooks while its pass runs, so times include them and there are no ready or arrived events. `values=True` adds the
    statistics of gradients. Lines are known for what the block itself computes; `model` gives the names of parameters.
    """

    def __init__(self, *, values: bool = True, model: Any = None) -> None:
        self._tables = Tables(forward=False, values=values, memory=False, library="torch")
        self._values, self._recording = values, Recording()
        self._names = {id(p): name for name, p in model.named_parameters()} if model is not None else {}
        self._numbers: dict[Any, int] = {}
        self._leaves: dict[int, str] = {}
        self._passes = 0

    def __enter__(self) -> Recording:
        import torch

        if getattr(torch, "__name__", "") != "torch" or not hasattr(torch.version, "git_version"):
            raise RuntimeError("record_torch records the real PyTorch, but import torch gives Undertow here; use record()")
        self._torch = torch
        self._graph = torch.autograd.graph
        self._homes = [m for m in (torch.autograd, self._graph, torch.autograd.graph) if hasattr(m, "_engine_run_backward")]
        self._engine = self._graph._engine_run_backward
        for home in self._homes:
            home._engine_run_backward = self._run  # type: ignore[attr-defined, unused-ignore]  # torch's own name
        self._anomaly = torch.autograd.set_detect_anomaly(True, check_nan=False)  # nodes then know their lines
        self._anomaly.__enter__()
        return self._recording

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._anomaly.__exit__(kind, error, trace)
        for home in self._homes:
            home._engine_run_backward = self._engine  # type: ignore[attr-defined, unused-ignore]  # torch's own name
        data = self._tables.build(self)  # type: ignore[arg-type]  # has what build asks of modules
        data["meta"]["library_version"] = self._torch.__version__
        self._recording._set(data)

    # -- what Tables.build asks of modules ---------------------------------------------------------------------------

    def table(self, number: Any) -> tuple[dict[str, list[int]], dict[int, int]]:
        """Return a table with only the root: torch's modules are not recorded."""
        return {"path_s": [number("")], "class_s": [number("")], "parent": [-1]}, {}

    def leaf_names(self) -> dict[int, str]:
        """Return the names of parameters by the number of their node."""
        return self._leaves

    def parameters(self) -> tuple[()]:
        """Return nothing: the table of parameters is for Undertow's tensors."""
        return ()

    # -- a pass ------------------------------------------------------------------------------------------------------

    def _run(self, t_outputs: Any, *args: Any, **kwargs: Any) -> Any:
        nodes = self._walk(t_outputs)
        number = self._passes = self._passes + 1
        roots = [self._numbers[node] for node in nodes[:1]]
        keeps, accumulates = bool(args[1]) if len(args) > 1 else False, bool(kwargs.get("accumulate_grad", False))
        self._tables.passes.append((number, 0, 0, 0, keeps, False, accumulates, roots[0] if roots else -1, []))
        self._tables.steps.append(0)
        handles = []
        for node in nodes:
            row = self._numbers[node]
            handles.append(node.register_prehook(lambda grads, row=row: self._started(number, row, grads)))
            handles.append(node.register_hook(lambda given, entered, row=row: self._finished(number, row)))
        self._event(0, number, roots[0] if roots else -1)
        try:
            return self._engine(t_outputs, *args, **kwargs)
        except Exception as error:
            self._tables.errors[number] = str(error)
            raise
        finally:
            self._event(1, number, roots[0] if roots else -1)
            for handle in handles:
                handle.remove()

    def _walk(self, outputs: Any) -> list[Any]:
        """Number every node below the outputs; return them."""
        get = self._graph._get_grad_fn_or_grad_acc
        stack = [get(t) for t in outputs if getattr(t, "requires_grad", True)]
        found: dict[Any, None] = {}
        while stack:
            node = stack.pop()
            if node in found:
                continue
            found[node] = None
            self._number(node)
            stack.extend(following for following, _ in node.next_functions if following is not None)
        for node in found:
            for slot, (following, to_slot) in enumerate(node.next_functions):
                if following is not None:
                    for name, value in zip(("from", "from_slot", "to", "to_slot"), (self._numbers[node], slot, self._numbers[following], to_slot)):
                        self._tables.edges[name].append(value)
        return list(found)

    def _number(self, node: Any) -> None:
        if node in self._numbers:
            return
        row = self._numbers[node] = len(self._tables.nodes)  # keeps the node, so that its number stays its own
        name = node.name().rpartition("::")[2]
        variable = getattr(node, "variable", None)
        is_leaf = name == "AccumulateGrad"
        if is_leaf and id(variable) in self._names:
            self._leaves[row + 1] = self._names[id(variable)]
        metas: Any = [variable] if is_leaf else node._input_metadata
        outputs = [[str(m.dtype).rpartition(".")[2], list(m.shape)] for m in metas]
        kind = 1 if is_leaf else 2 if isinstance(node, self._torch.autograd.function.BackwardCFunction) else 0
        self._tables.nodes.append((name, self._line(node), kind, row + 1 if is_leaf else 0, outputs, []))
        for column, value in (("sequence", 0 if is_leaf else node._sequence_nr()), ("place", -1), ("module", -1), ("time", -1), ("thread", -1)):
            self._tables.node_columns[column].append(value)

    def _line(self, node: Any) -> str:
        """Return the innermost line outside of torch that made a node."""
        for text in reversed(node.metadata.get("traceback_", [])):
            found = _FRAME.match(text)
            if found and "/torch/" not in found[1]:
                return f"{found[1]}:{found[2]}"
        return ""

    def _event(self, kind: int, number: int, node: int) -> None:
        row = {"kind": kind, "time": time.monotonic_ns(), "thread": 0, "pass": number, "node": node, "other": -1, "slot": -1}
        for name, column in self._tables.events.items():
            column.append(row.get(name, 0))

    def _started(self, number: int, node: int, grads: Any) -> None:
        event = len(self._tables.events["kind"])
        self._event(STARTED, number, node)
        if not self._values:
            return
        for slot, grad in enumerate(grads):
            if grad is not None:
                row = {"event": event, "node": node, "slot": slot, **self._figures(grad)}
                for name, column in self._tables.values.items():
                    column.append(row[name])

    def _finished(self, number: int, node: int) -> None:
        if self._tables.nodes[node][2] == 1:
            self._event(ACCUMULATED, number, node)
        self._event(FINISHED, number, node)

    def _figures(self, grad: Any) -> dict[str, Any]:
        import undertow
        from undertow.inspect._statistics import statistics

        dense = grad.detach().to_dense() if grad.layout is not self._torch.strided else grad.detach()
        return statistics(undertow.tensor(dense.double().cpu().contiguous().numpy()))
