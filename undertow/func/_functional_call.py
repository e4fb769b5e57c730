"""`functional_call`: call a module with other tensors instead of its parameters and buffers."""

from __future__ import annotations

from contextlib import contextmanager

import undertow
from undertow import _C
from undertow._type_info import package_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, Protocol

    from undertow import Tensor

    class HasParameters(Protocol):
        """The required interface of a module: names of its parameters, and (nested) attributes of those names."""

        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
        def named_parameters(self) -> Iterator[tuple[str, Tensor]]: ...


def _merged(dicts: Any) -> dict[str, Tensor]:
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, (list, tuple)):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(dicts)}"
        )
    if not all(isinstance(d, dict) for d in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    names = [name for d in dicts for name in d]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous"
        )
    return {name: value for d in dicts for name, value in d.items()}


def _named(module: Any) -> dict[str, Tensor]:
    """Return the parameters and buffers under all of their names."""
    found: dict[str, Tensor] = {}
    for listing in ("named_parameters", "named_buffers"):
        method = getattr(module, listing, None)
        if method is None:
            continue
        try:
            found.update(method(remove_duplicate=False))
        except TypeError:  # a simpler object, which lists each only once
            found.update(method())
    return found


def _tied(given: Mapping[str, Tensor], own: dict[str, Tensor]) -> dict[str, Tensor]:
    """Add the given tensors under the other names of the parameters they replace."""
    by_identity: dict[int, list[str]] = {}
    for name, value in own.items():
        by_identity.setdefault(id(value), []).append(name)
    out = dict(given)
    for names in by_identity.values():
        replaced = [name for name in names if name in given]
        if any(given[name] is not given[replaced[0]] for name in replaced):
            raise ValueError(f"functional_call got multiple values for keys {sorted(names)}, which are tied. Consider using tie_weights=False")
        if replaced and len(names) > 1:
            out.update(dict.fromkeys(names, given[replaced[0]]))
    return out


_MISSING: Any = object()  # in place of an attribute that a module does not have


def _owner(module: Any, path: str) -> tuple[Any, str]:
    """Return the object that has the last attribute of a dotted name, and that attribute's name."""
    *owners, name = path.split(".")
    for part in owners:
        if not hasattr(module, part):
            raise AttributeError(f"{_class_name(module)} has no attribute `{part}`")
        module = getattr(module, part)
    return module, name


def _class_name(module: Any) -> str:
    return module._get_name() if hasattr(module, "_get_name") else type(module).__name__


def _exchange(module: Any, path: str, value: Any) -> Any:
    """Set the attribute with a dotted name, or delete it if the value is _MISSING; return its previous value."""
    if value is not _MISSING and value is not None and not isinstance(value, _C.Tensor):
        raise TypeError(f"{value} is not an instance of {package_name()}.Tensor")
    owner, name = _owner(module, path)
    for keeper in ("_parameters", "_buffers"):
        kept = getattr(owner, "__dict__", {}).get(keeper)
        if kept is not None and name in kept:
            before = kept.pop(name) if value is _MISSING else kept[name]
            if value is not _MISSING:
                kept[name] = value
            return before
    before = getattr(owner, name, _MISSING)
    if before is not _MISSING and before is not None and not isinstance(before, _C.Tensor):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of {package_name()}.Tensor")
    if value is not _MISSING:
        setattr(owner, name, value)
    elif before is not _MISSING:
        delattr(owner, name)
    return before


@contextmanager
def _reparametrize_module(
    module: Any, parameters_and_buffers: dict[str, Tensor], tie_weights: bool = False, strict: bool = False, stack_weights: bool = False
) -> Iterator[None]:
    """Context manager: the module has the given tensors instead of its own. What it assigns to their names is in the dictionary afterwards.

    `stack_weights`, which says in torch in which order to restore, has no effect: the last tensor set is always restored first.
    """
    values = _tied(parameters_and_buffers, _named(module)) if tie_weights else parameters_and_buffers
    if strict:
        _check_names(module, values, _named(module))
    before: list[tuple[str, Any]] = []
    try:
        for path, value in values.items():
            before.append((path, _exchange(module, path, value)))
        yield
    finally:
        after = {path: _exchange(module, path, value) for path, value in reversed(before)}
        parameters_and_buffers.update({path: after[path] for path in parameters_and_buffers if path in after})


def functional_call(
    module: HasParameters,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call the module with the given tensors instead of its parameters and buffers of those names.

    `args` is a tuple, or a single argument. With `tie_weights`, a tensor also replaces the parameter under its
    other names. With `strict`, the given names must be exactly those of the module; otherwise those that are missing keep their own
    tensors, and those that the module does not have become attributes during the call. What the module assigns to a given name is in
    the dictionary afterwards.

    >>> import undertow as ut
    >>> class Scale:
    ...     def __init__(self):
    ...         self.factor = ut.tensor(2.0)
    ...     def named_parameters(self):
    ...         yield "factor", self.factor
    ...     def __call__(self, x):
    ...         return self.factor * x
    >>> ut.func.functional_call(Scale(), {"factor": ut.tensor(3.0)}, (ut.ones(2),))
    tensor([3., 3.])
    """
    if isinstance(module, undertow.nn.DataParallel):
        raise RuntimeError("The stateless API can't be used with nn.DataParallel module")
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, _merged(parameter_and_buffer_dicts), tie_weights=tie_weights, strict=strict):
        return module(*arguments, **(kwargs or {}))


def _check_names(module: Any, given: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> None:
    unexpected = sorted(set(given) - set(own))
    missing = sorted(set(own) - set(given))
    if not unexpected and not missing:
        return
    lines = [f"Error(s) in reparametrizing for {_class_name(module)}:"]
    if unexpected:
        lines.append(f"Unexpected key(s): {', '.join(map(repr, unexpected))}.")
    if missing:
        lines.append(f"Missing key(s): {', '.join(map(repr, missing))}.")
    raise RuntimeError("\n\t".join(lines))
