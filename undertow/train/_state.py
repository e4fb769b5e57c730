"""`StateHolder`: an object with variables that it creates when it first needs them, and how their values are saved and restored.

State that does not exist yet is restored later: a source of values is asked whenever a variable of the state is created. Optimizers and
moving averages are state holders. Does not know files.
"""

from __future__ import annotations

import undertow
from undertow._C import Tensor
from undertow.train._registry import remember_holder
from undertow.train._variable import Variable, described, state_variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Protocol

    class Source(Protocol):
        """Where restored values come from. A value is returned once; None means that there is none, or no more."""

        def slot(self, holder: StateHolder, var: Tensor, slot_name: str, name: str) -> Tensor | None: ...

        def non_slot(self, holder: StateHolder, name: str) -> Tensor | None: ...

        def is_empty(self) -> bool: ...


def fits(v: Tensor, value: Tensor, what: str) -> None:
    """Raise unless `value` has the shape and dtype of `v`: a conversion would not continue bit for bit."""
    if value.shape != v.shape or value.dtype != v.dtype:
        raise ValueError(f"{what}: the saved value has shape {tuple(value.shape)} and dtype {value.dtype}, but it belongs to {described(v)}")


def put(v: Tensor, value: Tensor) -> None:
    """Set a variable to a saved value that fits, in place."""
    with undertow.no_grad():
        v.copy_(value)


class StateHolder:
    """Base class of optimizers and moving averages. Slots belong to one variable each; the other state has a name only."""

    def __init__(self) -> None:
        self._slots: dict[str, dict[Tensor, Variable]] = {}
        self._non_slots: dict[str, Variable] = {}
        self._slot_names: set[str] = set()
        self._sources: list[Source] = []
        remember_holder(self)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_sources": [source for source in self._sources if not source.is_empty()]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        remember_holder(self)

    def _make_slot(self, var: Tensor, value: Tensor, slot_name: str, base: str) -> Variable:
        """Create a slot with `value`, or with its restored value. Its name is `base`, with a number if that is taken."""
        name, number = base, 0
        while name in self._slot_names:
            number += 1
            name = f"{base}_{number}"
        self._slot_names.add(name)
        made = self._slots.setdefault(slot_name, {})[var] = state_variable(value, name)
        for source in self._sources:
            saved = source.slot(self, var, slot_name, name)
            if saved is not None:
                fits(made, saved, f"restore: slot {slot_name!r}")
                put(made, saved)
        return made

    def _make_non_slot(self, value: Tensor, name: str) -> Variable:
        """Create a variable that does not belong to another one, with `value`, or with its restored value."""
        made = self._non_slots[name] = state_variable(value, name)
        for source in self._sources:
            saved = source.non_slot(self, name)
            if saved is not None:
                fits(made, saved, f"restore: {name!r}")
                put(made, saved)
        return made

    def _all_slots(self) -> Iterable[tuple[str, Tensor, Variable]]:
        return [(slot_name, var, slot) for slot_name, kind in self._slots.items() for var, slot in kind.items()]

    def _restore_from(self, source: Source, others: Iterable[Tensor] = ()) -> None:
        """Take the whole state from a source, now and when more of it is created.

        Slots that the source does not have did not exist when it was saved, and get their initial values; those of the variables `others` stay.
        """
        kept = {id(v) for v in others}
        slots = [(n, var, slot, source.slot(self, var, n, slot.name)) for n, var, slot in self._all_slots() if id(var) not in kept]
        rest = [(name, v, source.non_slot(self, name)) for name, v in self._non_slots.items()]
        for v, value in [*((slot, value) for _, _, slot, value in slots), *((v, value) for _, v, value in rest)]:
            if value is not None:
                fits(v, value, "restore")  # all are checked before the first is changed
        for slot_name, var, slot, value in slots:
            if value is not None:
                put(slot, value)
                continue
            del self._slots[slot_name][var]
            self._slot_names.discard(slot.name)
            if not self._slots[slot_name]:
                del self._slots[slot_name]
        for name, v, value in rest:
            if value is None:
                del self._non_slots[name]
            else:
                put(v, value)
        self._sources = [source]

    def state_dict(self, var_list: Sequence[Tensor] | Mapping[str, Tensor] | None = None) -> dict[str, Any]:
        """Return the state as plain dicts of tensors, which `ut.save` writes and `ut.load` reads without running code.

        Slots are stored under the names of their variables. Tensors that are not a `Variable` have no name: give names for them by
        `var_list`, such as dict(model.named_parameters()), or a list, whose positions are the names. Options such as the learning rate
        are not part of the state. The tensors share memory with the state.

        >>> import undertow as ut
        >>> w = ut.train.Variable(1.0, name="w")
        >>> opt = ut.train.MomentumOptimizer(0.1, 0.9)
        >>> _ = opt.minimize(w * w)
        >>> opt.state_dict()
        {'class': 'MomentumOptimizer', 'slots': {'momentum': {'w': tensor(2.)}}, 'non_slots': {}}
        """
        keys = _keys(var_list)
        slots: dict[str, dict[str, Tensor]] = {}
        for slot_name, var, slot in self._all_slots():
            key = _key(keys, var)
            if key is None:
                raise ValueError(
                    f"state_dict: there is a slot of {described(var)}, which has no name{' in var_list' if keys is not None else ''}; "
                    "pass var_list, for example dict(model.named_parameters())"
                )
            if key in slots.setdefault(slot_name, {}):
                raise ValueError(f"state_dict: two variables are named {key!r}; pass var_list with different names for them")
            slots[slot_name][key] = slot.detach()
        return {"class": type(self).__name__, "slots": slots, "non_slots": {name: v.detach() for name, v in self._non_slots.items()}}

    def load_state_dict(self, state_dict: dict[str, Any], var_list: Sequence[Tensor] | Mapping[str, Tensor] | None = None) -> None:
        """Replace the state by one that `state_dict` returned, of the same class; `var_list` as there.

        State that this object has not created yet is kept and used at its creation, so that a new optimizer can be loaded before its
        first step. Training then continues bit for bit.
        """
        if not isinstance(state_dict, dict) or set(state_dict) != {"class", "slots", "non_slots"}:
            raise ValueError("load_state_dict: expected the dict that state_dict() returned, with 'class', 'slots' and 'non_slots'")
        if state_dict["class"] != type(self).__name__:
            raise ValueError(f"load_state_dict: the state is one of {state_dict['class']}, this is a {type(self).__name__}")
        for kind in (*state_dict["slots"].values(), state_dict["non_slots"]):
            for key, value in kind.items():
                if not isinstance(value, Tensor):
                    raise ValueError(f"load_state_dict: the value of {key!r} is a {type(value).__name__}, not a tensor")
        keys = _keys(var_list)
        if keys is not None:
            named = set(keys.values())
            unknown = sorted({key for kind in state_dict["slots"].values() for key in kind if key not in named})
            if unknown:
                raise ValueError(f"load_state_dict: the state has slots of variables that var_list does not name: {unknown}")
        slots = {(slot_name, key): value.detach().clone() for slot_name, kind in state_dict["slots"].items() for key, value in kind.items()}
        self._restore_from(_DictSource(slots, {name: value.detach().clone() for name, value in state_dict["non_slots"].items()}, keys))


def _keys(var_list: Any) -> dict[Tensor, str] | None:
    """Return the names of the variables in a list or a mapping."""
    if var_list is None:
        return None
    items = var_list.items() if hasattr(var_list, "items") else ((str(i), v) for i, v in enumerate(var_list))
    return {v: key for key, v in items}


def _key(keys: dict[Tensor, str] | None, var: Tensor) -> str | None:
    if keys is not None:
        return keys.get(var)
    return var.name if isinstance(var, Variable) else None


class _DictSource:
    """The values of a state dict."""

    def __init__(self, slots: dict[tuple[str, str], Tensor], non_slots: dict[str, Tensor], keys: dict[Tensor, str] | None) -> None:
        self._slots, self._non_slots, self._keys = slots, non_slots, keys

    def slot(self, holder: StateHolder, var: Tensor, slot_name: str, name: str) -> Tensor | None:
        key = _key(self._keys, var)
        return None if key is None else self._slots.pop((slot_name, key), None)

    def non_slot(self, holder: StateHolder, name: str) -> Tensor | None:
        return self._non_slots.pop(name, None)

    def is_empty(self) -> bool:
        return not self._slots and not self._non_slots
