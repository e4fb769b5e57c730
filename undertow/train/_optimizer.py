"""`Optimizer`: minimize = compute_gradients, then apply_gradients; slots, gates, the global step.

A subclass defines how a variable is updated (`_apply_dense`, `_apply_sparse`), and its slots. `_subclass.py` chooses among its methods.
"""

from __future__ import annotations

from threading import RLock

import undertow
from undertow._C import Tensor
from undertow.train import _gradients
from undertow.train._global_step import assert_global_step
from undertow.train._operation import Operation
from undertow.train._processors import _get_processor
from undertow.train._slices import IndexedSlices
from undertow.train._subclass import UpdateMethods
from undertow.train._variable import Variable, described, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from undertow.train._gradients import Gradient
    from undertow.train._processors import _Processor

    GradsAndVars = list[tuple[Gradient, Tensor]]


# Guards the creation of slots: workers may deliver the gradients of several variables at the same time. One global lock, so that optimizers
# can be copied.
_slots_lock = RLock()


class Optimizer(UpdateMethods):
    """Base class of all optimizers of this package.

    The gate determines how early `minimize` may change a variable:

    - `GATE_NONE`: as soon as its own gradient is complete, during the backward pass.
    - `GATE_OP`: when the node that completed its gradient has finished, and with it every gradient of that node; the default.
      The pass uses one thread.
    - `GATE_GRAPH`: when all gradients are complete.

    Earlier updates need less memory for gradients. With the first two gates, code that runs during the pass, such as a hook, may see an
    already changed variable. If the pass itself still needs a changed value, it raises.
    """

    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    def __init__(self, use_locking: bool = False, name: str | None = None) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        super().__init__()
        self._use_locking = use_locking
        self._name = name

    def get_name(self) -> str:
        """Return the name, used in the names of slots."""
        return self._name

    # Called by users.

    def minimize(
        self,
        loss: Tensor | Callable[[], Tensor],
        global_step: Tensor | None = None,
        var_list: Sequence[Tensor] | None = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Tensor | None = None,
    ) -> Operation:
        """Perform one step that reduces `loss`: `compute_gradients` and `apply_gradients`, interleaved as the gate allows.

        Frees the graph of the loss. If a subclass overrides either of the two, all gradients are computed before any is applied. The
        step is done when this returns; the `Operation` has its name, and performs another step if `loss` is a function.

        `use_locking` has no effect, because a step is not interrupted. With `colocate_gradients_with_ops` a gradient that is not on the
        device of its variable raises.

        >>> import undertow as ut
        >>> w = ut.train.Variable(1.0, name="w")
        >>> opt = ut.train.GradientDescentOptimizer(0.25)
        >>> step = ut.train.Variable(0, name="global_step", trainable=False)
        >>> for _ in range(2):
        ...     _ = opt.minimize(lambda: w * w, global_step=step)
        >>> w.item(), step.item()
        (0.25, 2)
        """
        again = None
        if callable(loss) and not isinstance(loss, Tensor):
            given = (loss, global_step, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, name, grad_loss)
            again = lambda: self.minimize(*given)
        done = Operation(name or self._name, again, "the loss was a tensor, and its graph is freed; pass a function, or call minimize again")
        own = type(self).compute_gradients is Optimizer.compute_gradients and type(self).apply_gradients is Optimizer.apply_gradients
        if not own:
            pairs = self.compute_gradients(loss, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss)
            self._check_any(pairs, loss)
            self.apply_gradients(pairs, global_step=global_step, name=name)
            return done
        value, variables, processors = self._start(loss, var_list, gate_gradients, grad_loss)
        _check_step(global_step)
        _gradients.check_flag("colocate_gradients_with_ops", colocate_gradients_with_ops)
        if gate_gradients == Optimizer.GATE_GRAPH:
            grads = _gradients.run([value], variables, grad_loss, aggregation_method=aggregation_method)
            pairs = list(zip(grads, variables, strict=True))
            self._check_any(pairs, loss)
            if colocate_gradients_with_ops:
                _gradients.check_colocated(grads, variables)
            self.apply_gradients(pairs, global_step=global_step, name=name)
            return done

        for processor in processors:
            processor.check()
        self._prepare()
        updated: list[None] = []

        def update(i: int, g: Gradient) -> None:
            if g is not None:
                if colocate_gradients_with_ops:
                    _gradients.check_colocated([g], [variables[i]])
                self._update(processors[i], g, variables[i])
                updated.append(None)

        each_node = gate_gradients == Optimizer.GATE_OP
        _gradients.run([value], variables, grad_loss, aggregation_method=aggregation_method, ready=update, each_node=each_node)
        if not updated:
            self._check_any([(None, v) for v in variables], loss)
        self._end(global_step)
        return done

    def compute_gradients(
        self,
        loss: Tensor | Callable[[], Tensor],
        var_list: Sequence[Tensor] | None = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Tensor | None = None,
    ) -> GradsAndVars:
        """Return pairs (gradient, variable); a gradient is a tensor, `IndexedSlices` for a table used for row lookups, or None.

        `var_list` is by default every trainable leaf of the graph of `loss`. The graph is kept. All gradients are complete
        when this returns, with any gate.
        """
        value, variables, _ = self._start(loss, var_list, gate_gradients, grad_loss)
        _gradients.check_flag("colocate_gradients_with_ops", colocate_gradients_with_ops)
        grads = _gradients.run([value], variables, grad_loss, aggregation_method=aggregation_method, keep_graph=True)
        if colocate_gradients_with_ops:
            _gradients.check_colocated(grads, variables)
        return list(zip(grads, variables, strict=True))

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Tensor]], global_step: Tensor | None = None, name: str | None = None
    ) -> Operation:
        """Update each variable that has a gradient, then increment `global_step`. Both are done when this returns."""
        pairs = [(_converted(g), v) for g, v in grads_and_vars]
        if not pairs:
            raise ValueError("No variables provided.")
        processors = [_get_processor(v) for _, v in pairs]
        if all(g is None for g, _ in pairs):
            raise ValueError(f"No gradients provided for any variable: {[described(v) for _, v in pairs]}.")
        _check_step(global_step)
        for (g, _), processor in zip(pairs, processors, strict=True):
            if g is not None:
                processor.check()
        self._assert_valid_dtypes([v for g, v in pairs if g is not None])
        self._prepare()
        for (g, v), processor in zip(pairs, processors, strict=True):
            if g is not None:
                self._update(processor, g, v)
        self._end(global_step)
        return Operation(name or self._name, None, "gradients are not kept; call apply_gradients again")

    def get_slot(self, var: Tensor, name: str) -> Variable | None:
        """Return the slot with this name for `var`, or None."""
        return self._slots.get(name, {}).get(var)

    def get_slot_names(self) -> list[str]:
        """Return the names of the slots."""
        return sorted(self._slots)

    def variables(self) -> list[Variable]:
        """Return the optimizer's state: slots and other variables, sorted by name."""
        found = [*self._non_slots.values(), *(slot for kind in self._slots.values() for slot in kind.values())]
        return sorted(found, key=lambda v: v.name)

    # Defined by subclasses.

    def _valid_dtypes(self) -> set[undertow.dtype]:
        """Return the dtypes of variables that can be updated."""
        return {undertow.float16, undertow.bfloat16, undertow.float32, undertow.float64}

    def _create_slots(self, var_list: Sequence[Tensor]) -> None:
        """Create the slots of these variables."""

    def _prepare(self) -> None:
        """Called before a step to read values that may have changed, such as the learning rate."""

    def _finish(self) -> None:
        """Called when all variables of a step have been updated."""

    # For use in subclasses.

    def _call_if_callable(self, param: Any) -> Any:
        return param() if callable(param) and not isinstance(param, Tensor) else param

    def _number(self, param: Any) -> float:
        """Return the value of an option: a number, a one-element tensor, or a function that returns one."""
        value = self._call_if_callable(param)
        return float(value.item() if isinstance(value, Tensor) else value)

    def _get_or_make_slot(self, var: Tensor, value: Tensor, slot_name: str, op_name: str) -> Variable:
        """Return the slot, created with `value`; its name consists of the variable's name and `op_name`."""
        slot = self.get_slot(var, slot_name)
        return slot if slot is not None else self._make_slot(var, value, slot_name, f"{name_of(var)}/{op_name}")

    def _filled_slot(self, var: Tensor, value: float, slot_name: str, op_name: str) -> Variable:
        """Return the slot, created with `value` in every element."""
        slot = self.get_slot(var, slot_name)
        return slot if slot is not None else self._get_or_make_slot(var, undertow.full_like(var, value), slot_name, op_name)

    def _zeros_slot(self, var: Tensor, slot_name: str, op_name: str) -> Variable:
        return self._filled_slot(var, 0.0, slot_name, op_name)

    def _create_non_slot_variable(self, initial_value: float, name: str) -> Variable:
        """Create a number that does not belong to a variable, once."""
        found = self._non_slots.get(name)
        return found if found is not None else self._make_non_slot(undertow.tensor(initial_value, dtype=undertow.float64), name)

    def _get_non_slot_variable(self, name: str) -> Variable | None:
        return self._non_slots.get(name)

    def _assert_valid_dtypes(self, tensors: Iterable[Tensor]) -> None:
        valid = self._valid_dtypes()
        for t in tensors:
            if t.dtype not in valid:
                raise ValueError(f"Invalid type {t.dtype} for {described(t)}, expected: {sorted(map(str, valid))}.")

    # Implementation of the methods above.

    def _start(self, loss: Any, var_list: Any, gate: Any, grad_loss: Any) -> tuple[Tensor, list[Tensor], list[_Processor]]:
        """Return the checked loss, variables and their processors."""
        if gate not in (Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH):
            raise ValueError(f"gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH.  Not {gate}")
        if callable(loss) and not isinstance(loss, Tensor):
            with undertow.enable_grad():
                loss = loss()
        if not isinstance(loss, Tensor):
            raise TypeError(f"expected a loss that is a tensor, or a function that returns one, got {type(loss).__name__}")
        self._assert_valid_dtypes([loss] if not isinstance(grad_loss, Tensor) else [loss, grad_loss])
        if callable(var_list):
            var_list = var_list()
        variables = _gradients.trainable_variables(loss) if var_list is None else _flat(var_list)
        if not variables:
            raise ValueError("No variables to optimize.")
        processors = [_get_processor(v) for v in variables]
        variables = [p.target() for p in processors]
        self._assert_valid_dtypes(variables)
        return loss, variables, processors

    def _check_any(self, pairs: GradsAndVars, loss: Any) -> None:
        if all(g is None for g, _ in pairs):
            names = [described(v) for _, v in pairs]
            raise ValueError(
                f"No gradients provided for any variable: {names}; check your graph for operations that do not support gradients, "
                f"between these variables and loss {described(loss)}"
            )

    def _update(self, processor: _Processor, g: Tensor | IndexedSlices, v: Tensor) -> None:
        with undertow.no_grad():
            with _slots_lock:
                self._create_slots([v])
            processor.update_op(self, g)

    def _end(self, global_step: Tensor | None) -> None:
        with undertow.no_grad():
            self._finish()
            if global_step is not None:
                global_step.add_(1)


def _flat(var_list: Any) -> list[Tensor]:
    """Return the variables in a list, nested lists, or a dictionary."""
    if isinstance(var_list, Tensor):
        return [var_list]
    found: list[Tensor] = []
    stack = [var_list]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            item = [item[key] for key in sorted(item)]
        if isinstance(item, (list, tuple)) or (hasattr(item, "__next__") and not isinstance(item, Tensor)):
            stack.extend(reversed(list(item)))
        else:
            found.append(item)
    return found


def _converted(g: Any) -> Gradient:
    if g is None or isinstance(g, (Tensor, IndexedSlices)):
        return g
    try:
        return undertow.as_tensor(g)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {g!r}") from error


def _check_step(global_step: Any) -> None:
    """Raise unless there is no global step or it is an integer scalar."""
    if global_step is not None:
        assert_global_step(global_step)
