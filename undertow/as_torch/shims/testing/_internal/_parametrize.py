"""One test for each set of arguments: the decorators record them, `instantiate_parametrized_tests` creates the methods."""

from __future__ import annotations

import functools
import inspect
import itertools

import undertow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

_NOTE = "_parameters"  # attribute of a test: the argument sets of its decorators, outermost first, in the order used for names


class subtest:
    """One set of arguments with its own name or decorators."""

    def __init__(self, arg_values: Any, name: str | None = None, decorators: Sequence[Callable[..., Any]] | None = None) -> None:
        self.arg_values, self.name, self.decorators = arg_values, name, list(decorators or [])


class _Choice:
    """One set of arguments of one decorator."""

    def __init__(self, names: list[str], values: tuple[Any, ...], name: str, decorators: list[Callable[..., Any]]) -> None:
        self.arguments = dict(zip(names, values, strict=True))
        self.name, self.decorators = name, decorators


def _shown(name: str, value: Any, index: int) -> str:
    if isinstance(value, (int, float, str, bool, type(None))):
        return f"{name}_{str(value).replace('.', '_')}"
    if isinstance(value, undertow.dtype):
        return str(value).rpartition(".")[2]
    return f"{name}{index}"


class parametrize:
    """`@parametrize("a,b", [(1, 2), (3, 4)])`: run the test with each set. Names end in a_1_b_2 and so on, or in the result of name_fn."""

    def __init__(self, arg_str: str, arg_values: Iterable[Any], name_fn: Callable[..., str] | None = None) -> None:
        self.names = [n.strip() for n in arg_str.split(",") if n.strip()]
        self.values, self.name_fn = list(arg_values), name_fn

    def _choices(self) -> list[_Choice]:
        out = []
        for index, given in enumerate(self.values):
            name, decorators, value = None, [], given
            if isinstance(given, subtest):
                name, decorators, value = given.name, given.decorators, given.arg_values
            values = tuple(value) if len(self.names) > 1 else (value,)
            if len(values) != len(self.names):
                raise RuntimeError(f"Expected # values == # arg names, but got: {len(values)} values and {len(self.names)} names for {self.names}")
            if name is None and self.name_fn is not None:
                name = self.name_fn(*values)
            if name is None:
                name = "_".join(_shown(n, v, index) for n, v in zip(self.names, values, strict=True))
            out.append(_Choice(self.names, values, name, decorators))
        return out

    def __call__(self, test: Callable[..., Any]) -> Callable[..., Any]:
        test.__dict__.setdefault(_NOTE, []).insert(0, self._choices())
        return test


def combinations(test: Callable[..., Any]) -> list[tuple[str, dict[str, Any], list[Callable[..., Any]]]]:
    """Return all variants of a decorated test: the suffix of the name, the arguments, additional decorators."""
    notes: list[list[_Choice]] = getattr(test, _NOTE, [])
    out = []
    for chosen in itertools.product(*notes):
        arguments: dict[str, Any] = {}
        for choice in chosen:
            arguments.update(choice.arguments)
        out.append(("_".join(c.name for c in chosen), arguments, [d for c in chosen for d in c.decorators]))
    return out


def bound(test: Callable[..., Any], arguments: dict[str, Any]) -> Callable[..., Any]:
    """Bind the arguments to the test."""

    @functools.wraps(test)
    def run(self: Any) -> Any:
        return test(self, **arguments)

    run.__dict__.pop(_NOTE, None)
    own = inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)])
    run.__signature__ = own  # type: ignore[attr-defined]  # runners ask for it
    del run.__wrapped__  # runners look through it at the arguments
    return run


def instantiate_parametrized_tests(generic_cls: type) -> type:
    """Replace each decorated test of the class by one test per set of arguments. Also a class decorator."""
    for name in [n for n, f in vars(generic_cls).items() if hasattr(f, _NOTE)]:
        test = vars(generic_cls)[name]
        delattr(generic_cls, name)
        for ending, arguments, decorators in combinations(test):
            made = bound(test, arguments)
            for decorator in decorators:
                made = decorator(made)
            full = f"{name}_{ending}" if ending else name
            if full in vars(generic_cls):
                raise AssertionError(f"Redefinition of test {full}")
            made.__name__ = full
            setattr(generic_cls, full, made)
    return generic_cls
