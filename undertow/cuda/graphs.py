"""Graphs: work of a stream, captured once and replayed by one call, without the host's cost for each operation."""

from __future__ import annotations

import gc

import undertow
from undertow import _C
from undertow.cuda._devices import synchronize
from undertow.cuda._library import available, functions
from undertow.cuda.memory import empty_cache
from undertow.cuda.streams import Stream, StreamContext, current_stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"]

_MODES = {"global": 0, "thread_local": 1, "relaxed": 2}


def is_current_stream_capturing() -> bool:
    """Return True if the current stream is being captured into a graph."""
    if not available():
        return False
    stream = current_stream()
    return functions().is_capturing(stream.device_index, stream.cuda_stream)


def graph_pool_handle() -> tuple[int, int]:
    """Return a name for memory that several graphs share; they must never run at the same time."""
    return 0, functions("graph_pool_handle").new_pool()


class CUDAGraph:
    """Captured work. `replay()` runs it again, on the same memory: change its inputs in place before.

    >>> import undertow as ut
    >>> if ut.cuda.is_available():
    ...     x, g = ut.zeros(3, device="cuda"), ut.cuda.CUDAGraph()
    ...     with ut.cuda.graph(g):
    ...         y = x + 1
    ...     x.fill_(2)
    ...     g.replay()  # y is 3 now
    """

    _handle = 0
    _capturing = False

    def __init__(self, keep_graph: bool = False) -> None:
        if not available():
            raise RuntimeError(f"Tried to instantiate dummy base class CUDAGraph; there is no GPU to use: {_C._cuda_missing()}")

    def capture_begin(self, pool: tuple[int, int] | None = None, capture_error_mode: str = "global") -> None:
        """Begin to capture the current stream. `pool` is a `graph_pool_handle()` or another graph's `pool()`."""
        if capture_error_mode not in _MODES:
            raise RuntimeError(f"Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got {capture_error_mode}")
        if self._handle or self._capturing:
            raise RuntimeError("This CUDAGraph instance already owns a captured graph. To capture a new graph, create a new instance.")
        self._device = current_stream().device_index
        self._pool = (0, functions().new_pool()) if pool is None else pool
        functions().capture_begin(self._device, self._pool[1], _MODES[capture_error_mode])
        self._capturing = True

    def capture_end(self) -> None:
        """End the capture; the graph can be replayed."""
        if not self._capturing:
            raise RuntimeError("capture_end: no capture is under way; call capture_begin first")
        self._capturing = False
        self._handle = functions().capture_end(self._device, self._pool[1])

    def _abandon(self) -> None:
        if self._capturing:
            self._capturing = False
            functions().capture_abandon(self._device, self._pool[1])

    def register_generator_state(self, generator: _C.Generator) -> None:
        """Do nothing: a generator belongs to the graph once the captured work draws from it, so that each replay draws new numbers."""

    def instantiate(self) -> None:
        """Do nothing: the graph is ready when its capture ends."""

    def replay(self) -> None:
        """Run the captured work on the current stream."""
        if not self._handle:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        functions().graph_launch(self._handle, self._device)

    def reset(self) -> None:
        """Forget the captured work and give up its memory."""
        if self._handle:
            functions().graph_destroy(self._handle)
            functions().release_pool(self._pool[1], self._device)
            self._handle = 0

    def pool(self) -> tuple[int, int]:
        """Return the name of the graph's memory, to share it with another graph."""
        if not (self._handle or self._capturing):
            raise RuntimeError("Called CUDAGraph::pool() without a preceding successful capture.")
        return self._pool

    def __del__(self) -> None:
        self.reset()


class graph:
    """Context manager that captures the work of its block into a graph, on a stream of its own if none is given."""

    default_capture_stream: Stream | None = None

    def __init__(
        self, cuda_graph: CUDAGraph, pool: tuple[int, int] | None = None, stream: Stream | None = None, capture_error_mode: str = "global"
    ) -> None:
        if not available():
            raise RuntimeError(f"torch.cuda.graph requires CUDA support; there is no GPU to use: {_C._cuda_missing()}")
        if stream is None and graph.default_capture_stream is None:
            graph.default_capture_stream = Stream()
        self.capture_stream = graph.default_capture_stream if stream is None else stream
        self.cuda_graph, self._pool, self._mode = cuda_graph, pool, capture_error_mode
        self._context = StreamContext(self.capture_stream)

    def __enter__(self) -> None:
        synchronize()
        gc.collect()  # memory that dies during the capture could not be given back
        empty_cache()
        self._context.__enter__()
        try:
            self.cuda_graph.capture_begin(self._pool, self._mode)
        except BaseException:
            self._context.__exit__(None, None, None)
            raise

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            if kind is None:
                self.cuda_graph.capture_end()
            else:
                self.cuda_graph._abandon()
        finally:
            self._context.__exit__(kind, error, trace)


def _flat(value: Any) -> list[Any]:
    from undertow.utils._pytree import tree_leaves

    return tree_leaves(value)


def make_graphed_callables(
    callables: Any, sample_args: Any, num_warmup_iters: int = 3, allow_unused_input: bool = False, pool: tuple[int, int] | None = None
) -> Any:
    """Return versions of functions or modules that replay captured graphs, forward and backward.

    Arguments must have the shapes of the samples. A module is changed in place: in training mode, its `forward` replays.

    >>> import undertow as ut
    >>> if ut.cuda.is_available():
    ...     net = ut.nn.Linear(4, 4).cuda()
    ...     net = ut.cuda.make_graphed_callables(net, (ut.rand(2, 4, device="cuda"),))
    """
    single = not isinstance(callables, tuple)
    functions_, samples = ((callables,), (sample_args,)) if single else (callables, sample_args)
    pool = graph_pool_handle() if pool is None else pool
    synchronize()
    stream = Stream()
    with StreamContext(stream):
        for function, args in zip(functions_, samples, strict=True):
            _warm_up(function, args, num_warmup_iters, allow_unused_input)
    synchronize()
    captured = [_Captured(f, args, pool, allow_unused_input) for f, args in zip(functions_, samples, strict=True)]
    for one in captured:
        one.capture_forward()
    for one in reversed(captured):
        one.capture_backward()
    results = tuple(one.callable() for one in captured)
    return results[0] if single else results


def _parameters(function: Any) -> tuple[Any, ...]:
    return tuple(function.parameters()) if isinstance(function, undertow.nn.Module) else ()


def _differentiable(tensors: Sequence[Any]) -> list[Any]:
    return [t for t in tensors if t is not None and t.requires_grad]


def _warm_up(function: Any, args: Any, times: int, allow_unused: bool) -> None:
    inputs = _differentiable((*_flat(args), *_parameters(function)))
    for _ in range(times):
        outputs = _differentiable(_flat(function(*args)))
        if outputs and inputs:
            undertow.autograd.grad(outputs, inputs, [undertow.empty_like(o) for o in outputs], only_inputs=True, allow_unused=allow_unused)


class _Captured:
    """One function, its two graphs, and the tensors that they read and write."""

    def __init__(self, function: Any, args: Any, pool: tuple[int, int], allow_unused: bool) -> None:
        self.function, self.args, self.pool, self.allow_unused = function, args, pool, allow_unused
        self.inputs = [t for t in _flat(args) if isinstance(t, _C.Tensor)]
        self.sources = (*self.inputs, *_parameters(function))
        self.forward, self.backward = CUDAGraph(), CUDAGraph()

    def capture_forward(self) -> None:
        with graph(self.forward, pool=self.pool):
            self.result = self.function(*self.args)
        self.outputs = _flat(self.result)

    def capture_backward(self) -> None:
        wanted = _differentiable(self.sources)
        outputs = _differentiable(self.outputs)
        self.grad_outputs = [undertow.empty_like(o) if o.requires_grad else None for o in self.outputs]
        found: list[Any] = []
        if outputs and wanted:
            given = [g for g in self.grad_outputs if g is not None]
            with graph(self.backward, pool=self.pool):
                found = list(undertow.autograd.grad(outputs, wanted, given, only_inputs=True, allow_unused=self.allow_unused))
        grads = iter(found)
        self.grad_inputs = [next(grads, None) if t.requires_grad else None for t in self.sources]

    def callable(self) -> Any:
        one = self

        class Graphed(undertow.autograd.Function):
            @staticmethod
            def forward(ctx: Any, *sources: Any) -> Any:
                for own, given in zip(one.inputs, sources, strict=False):
                    if own.data_ptr() != given.data_ptr():
                        own.copy_(given)
                one.forward.replay()
                return tuple(o.detach() for o in one.outputs)

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                for own, given in zip(one.grad_outputs, grads, strict=True):
                    if own is not None and own.data_ptr() != given.data_ptr():
                        own.copy_(given)
                one.backward.replay()
                return tuple(None if g is None else g.detach() for g in one.grad_inputs)

        def run(*args: Any) -> Any:
            from undertow.utils._pytree import tree_flatten, tree_unflatten

            tensors = [t for t in _flat(args) if isinstance(t, _C.Tensor)]
            outputs = Graphed.apply(*tensors, *_parameters(one.function))
            return tree_unflatten(list(outputs), tree_flatten(one.result)[1])

        return _as_module(one.function, run) if isinstance(one.function, undertow.nn.Module) else run


def _as_module(module: Any, run: Callable[..., Any]) -> Any:
    """Make a module replay its graphs in the mode in which it was captured, and compute as before in the other."""
    original, training = module.forward, module.training

    def forward(*args: Any) -> Any:
        return run(*args) if module.training == training else original(*args)

    module.forward = forward
    return module

