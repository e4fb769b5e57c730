"""`record_torch`: records the passes of a program that runs on real PyTorch, by hooks, so that `diff` can compare the two."""

from __future__ import annotations

import re
import threading
import time
from functools import partial
from typing import Any

from undertow.inspect._modules import ModuleRows
from undertow.inspect._recording import Recording
from undertow.inspect._tables import ACCUMULATED, FINISHED, STARTED, Tables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

_FRAME = re.compile(r'\s*File "([^"]+)", line (\d+)')


class _Entry:
    """Stands at torch's entry to its engine while recordings run: any number of them, in any threads, ending in any order."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards all members
        self._running: list[record_torch] = []

    def begin(self, recording: record_torch) -> None:
        """Add a recording."""
        with self._lock:
            self._running.append(recording)
            if len(self._running) > 1:
                return
            autograd = recording._torch.autograd
            self._homes = [home for home in (autograd, autograd.graph) if hasattr(home, "_engine_run_backward")]
            self._engine = autograd.graph._engine_run_backward
            for home in self._homes:
                home._engine_run_backward = self._run
            self._anomaly = autograd.set_detect_anomaly(True, check_nan=False)  # nodes then know their lines
            self._anomaly.__enter__()

    def end(self, recording: record_torch) -> None:
        """Remove a recording."""
        with self._lock:
            self._running.remove(recording)
            if not self._running:
                self._anomaly.__exit__(None, None, None)
                for home in self._homes:
                    home._engine_run_backward = self._engine

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        call = self._engine
        for recording in tuple(self._running):
            call = partial(recording._run, call)
        return call(*args, **kwargs)


_entry = _Entry()


class _NoModules(ModuleRows):
    """Names of leaves without modules: torch's are not recorded."""

    def __init__(self, leaves: dict[int, str]) -> None:
        super().__init__()
        self._leaves = leaves

    def of_call(self, call: int) -> int:
        """Return that no module is known."""
        return -1

    def leaf_names(self) -> dict[int, str]:
        """Return the names of parameters by the number of their node."""
        return self._leaves


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
        _entry.begin(self)
        return self._recording

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        _entry.end(self)
        data = self._tables.build(_NoModules(self._leaves))
        data["meta"]["library_version"] = self._torch.__version__
        self._recording._set(data)

    # -- a pass ------------------------------------------------------------------------------------------------------

    def _run(self, engine: Callable[..., Any], t_outputs: Any, *args: Any, **kwargs: Any) -> Any:
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
            return engine(t_outputs, *args, **kwargs)
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
        row = self._numbers[node] = len(self._tables.nodes["kind"])  # keeps the node, so that its number stays its own
        name = node.name().rpartition("::")[2]
        variable = getattr(node, "variable", None)
        is_leaf = name == "AccumulateGrad"
        if is_leaf and id(variable) in self._names:
            self._leaves[row + 1] = self._names[id(variable)]
        metas: Any = [variable] if is_leaf else node._input_metadata
        outputs = [[str(m.dtype).rpartition(".")[2], list(m.shape)] for m in metas]
        kind = 1 if is_leaf else 2 if isinstance(node, self._torch.autograd.function.BackwardCFunction) else 0
        known = {
            "name": self._tables.strings.number(name),
            "line": self._tables.lines.number(self._line(node)),
            "kind": kind,
            "leaf": row + 1 if is_leaf else 0,
            "sequence": 0 if is_leaf else node._sequence_nr(),
            "outputs": outputs,
            "saved": [],
        }
        for column, values in self._tables.nodes.items():
            values.append(known.get(column, -1))

    def _line(self, node: Any) -> str | None:
        """Return the innermost line outside of torch that made a node; None if unknown."""
        for text in reversed(node.metadata.get("traceback_", [])):
            found = _FRAME.match(text)
            if found and "/torch/" not in found[1]:
                return f"{found[1]}:{found[2]}"
        return None

    def _event(self, kind: int, number: int, node: int) -> None:
        row = {"kind": kind, "time": time.monotonic_ns() - self._tables.start, "thread": 0, "pass": number, "node": node, "other": -1, "slot": -1}
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
        if self._tables.nodes["kind"][node] == 1:
            self._event(ACCUMULATED, number, node)
        self._event(FINISHED, number, node)

    def _figures(self, grad: Any) -> dict[str, Any]:
        import undertow
        from undertow.inspect._statistics import statistics

        dense = grad.detach().to_dense() if grad.layout is not self._torch.strided else grad.detach()
        return statistics(undertow.tensor(dense.double().cpu().contiguous().numpy()))
