"""`functional_call`: call a module with other tensors instead of its parameters and buffers."""

from __future__ import annotations

from contextlib import contextmanager

from undertow import _C

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
        if not replaced:
            continue
        if any(given[name] is not given[replaced[0]] for name in replaced):
            continue  # given separately on purpose
        out.update(dict.fromkeys(names, given[replaced[0]]))
    return out


def _slot(owner: Any, name: str) -> Any:
    """Return where an attribute is stored: a module's dictionary of members, or the object itself."""
    for keeper in ("_parameters", "_buffers"):
        kept = owner.__dict__.get(keeper) if hasattr(owner, "__dict__") else None
        if kept is not None and name in kept:
            return kept
    return None


def _exchange(module: Any, path: str, value: Any) -> Any:
    """Set the attribute with a dotted name, and return its previous value."""
    *owners, name = path.split(".")
    for part in owners:
        module = getattr(module, part)
    kept = _slot(module, name)
    if kept is not None:
        before, kept[name] = kept[name], value
        return before
    before = getattr(module, name)
    setattr(module, name, value)
    return before


@contextmanager
def _reparametrized(module: Any, values: Mapping[str, Tensor]) -> Iterator[None]:
    before: list[tuple[str, Any]] = []
    try:
        for path, value in values.items():
            before.append((path, _exchange(module, path, value)))
        yield
    finally:
        for path, value in reversed(before):
            _exchange(module, path, value)


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
    other names. With `strict`, the given names must be exactly those of the module.

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
    given = _merged(parameter_and_buffer_dicts)
    for value in given.values():
        if not isinstance(value, _C.Tensor):
            raise TypeError(f"{value} is not an instance of undertow.Tensor")
    own = _named(module)
    wanted = _tied(given, own) if tie_weights else given
    if strict:
        _check_names(type(module).__name__, wanted, own)
    known = {name: value for name, value in wanted.items() if name in own}
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrized(module, known):
        return module(*arguments, **(kwargs or {}))


def _check_names(module: str, given: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> None:
    unexpected = sorted(set(given) - set(own))
    missing = sorted(set(own) - set(given))
    if not unexpected and not missing:
        return
    lines = [f"Error(s) in reparametrizing for {module}:"]
    if unexpected:
        lines.append(f"Unexpected key(s): {', '.join(map(repr, unexpected))}.")
    if missing:
        lines.append(f"Missing key(s): {', '.join(map(repr, missing))}.")
    raise RuntimeError("\n\t".join(lines))
