"""The schemas of torch's operators: `add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor`.

The text is in `schemas.txt`, one line for each overload (`python -m tools.aten_schemas` writes it). A schema is parsed when its operator is
first used.
"""

from __future__ import annotations

from undertow import _data_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_texts: dict[str, dict[str, str]] = {}


def texts() -> dict[str, dict[str, str]]:
    """Return the text of every schema, by the names of the operator and of the overload."""
    if not _texts:
        for line in _data_files.read_text("_aten/schemas.txt").splitlines():
            name, _, overload = line.partition("(")[0].partition(".")
            _texts.setdefault(name, {})[overload or "default"] = line
    return _texts


class AliasInfo:
    """Which arguments and results share memory: equal sets do. `is_write` says that the operator writes to it."""

    def __init__(self, text: str) -> None:
        self.is_write = "!" in text
        before, _, after = text.replace("!", "").partition("->")
        self.before_set = {s.strip() for s in before.split("|")}
        self.after_set = {s.strip() for s in after.split("|")} if after else self.before_set


class Type:
    """The type of an argument, by torch's name for it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text

    __repr__ = annotation_str = __str__

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other)

    def __hash__(self) -> int:
        return hash(self.text)

    def kind(self) -> str:
        """Return torch's name for this kind of type."""
        if self.text.endswith("?"):
            return "OptionalType"
        return "ListType" if self.text.endswith("]") else f"{self.text.capitalize()}Type"


class Argument:
    """One argument or result of an operator."""

    def __init__(self, text: str, kwarg_only: bool = False) -> None:
        declared, _, default = text.partition("=")
        self.kwarg_only = kwarg_only
        self.alias_info: AliasInfo | None = None
        if "(" in declared:
            before, _, rest = declared.partition("(")
            inside, _, after = rest.partition(")")
            self.alias_info = AliasInfo(inside)
            declared = before + after
        kind, _, self.name = declared.strip().partition(" ")
        self.type = self.real_type = Type(kind)
        self._has_default = bool(default)
        self.default_value = _value(default) if default else None
        if kind == "ScalarType?" and self.default_value is not None:  # torch writes the number of the dtype; 4 is the only one
            import undertow

            self.default_value = undertow.int64
        self.is_out = kwarg_only and self.alias_info is not None and self.alias_info.is_write
        self.N = None

    def has_default_value(self) -> bool:
        """Return True if the argument can be left out."""
        return self._has_default


def _value(text: str) -> Any:
    if text[0] == "[":
        return [_value(part.strip()) for part in text[1:-1].split(",") if part.strip()]
    if text[0] in "\"'":
        return text[1:-1]
    known = {"None": None, "True": True, "False": False, "inf": float("inf")}
    if text in known:
        return known[text]
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        import undertow

        return getattr(undertow, text, text)  # contiguous_format


def _split(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth:
            parts.append(text[start:i].strip())
            start = i + 1
    parts.append(text[start:].strip())
    return [p for p in parts if p]


class FunctionSchema:
    """The name, the arguments and the results of one overload.

    >>> schema = FunctionSchema("aten", "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")
    >>> schema.name, schema.overload_name, [a.name for a in schema.arguments]
    ('aten::add', 'Tensor', ['self', 'other', 'alpha'])
    """

    def __init__(self, namespace: str, text: str) -> None:
        head, _, rest = text.partition("(")
        name, _, self.overload_name = head.partition(".")
        self.name = f"{namespace}::{name}"
        arguments, _, returns = rest.rpartition(") -> ")
        self.arguments: list[Argument] = []
        only = False
        for part in _split(arguments):
            if part == "*":
                only = True
            else:
                self.arguments.append(Argument(part, only))
        results = returns[1:-1] if returns.startswith("(") else returns
        self.returns = [Argument(part) for part in _split(results)]
        self._text = f"{namespace}::{text}"

    @property
    def is_mutable(self) -> bool:
        """True if the operator writes to an argument."""
        return any(a.alias_info is not None and a.alias_info.is_write for a in self.arguments)

    def bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the value of each argument, with defaults."""
        if len(args) > len(self.arguments):
            raise RuntimeError(
                f"{self.name}() expected at most {len(self.arguments)} argument(s) but received {len(args)} argument(s). Declaration: {self}"
            )
        values = dict(zip((a.name for a in self.arguments), args, strict=False))
        names = {a.name for a in self.arguments}
        for name, value in kwargs.items():
            key = "self" if name == "input" and "input" not in names else name
            if key not in names:
                raise RuntimeError(f"Unknown keyword argument '{name}' for operator '{self.name}'. Schema: {self}")
            values[key] = value
        for a in self.arguments:
            if a.name not in values:
                if not a.has_default_value():
                    raise RuntimeError(f"{self.name}() is missing value for argument '{a.name}'. Declaration: {self}")
                values[a.name] = a.default_value
        return values

    def unbind(self, values: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments as torch passes them on: by position, without those at the end that have their defaults."""
        positional = [a for a in self.arguments if not a.kwarg_only]
        while positional and positional[-1].has_default_value() and _same(values[positional[-1].name], positional[-1].default_value):
            positional.pop()
        args = tuple(values[a.name] for a in positional)
        only = (a for a in self.arguments if a.kwarg_only)
        return args, {a.name: values[a.name] for a in only if not (a.has_default_value() and _same(values[a.name], a.default_value))}

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) in (int, float, bool, str, list) and isinstance(b, (int, float, str, list)) and a == b)
