"""Docstrings of functions and methods, for `help` and `inspect.signature`: a signature, a sentence, the overloads, an example.

The first line is what CPython reads as `__text_signature__`. One Python signature covers all overloads: where they differ
in their positional parameters, the rest is `*args, **kwargs`, and the overloads are listed below the sentence.
"""
from __future__ import annotations

import keyword
import re

from .emit_stub import default, overload_groups, parameters, result_type, takes_separate_ints
from .public_names import python_args
from .schema import Arg, Entry

SOMETIMES = "..."  # the default of a parameter that some overloads require and others lack


def shown(a: Arg, method: bool, first: bool) -> str:
    if method and first:
        return "$self"
    return "input" if a.name == "self" else a.name + "_" * keyword.iskeyword(a.name)


def text_signature(list_: list[tuple[Entry, str]], method: bool) -> str:
    """One signature that matches every call of any overload: "(input, dim=..., keepdim=False)"."""
    rows = []
    for group, kind in overload_groups(list_, method):
        args = [a for a in python_args(group[0], kind) if not (method and a.name == "out")]
        rows.append(([(shown(a, method, i == 0), a) for i, a in enumerate(args) if not a.kwonly], {a.name: a for a in args if a.kwonly}))
    longest = max((row[0] for row in rows), key=len)
    agree = 0  # how many positional parameters have the same name in every overload that has them
    while agree < len(longest) and all(len(row) <= agree or row[agree][0] == longest[agree][0] for row, _ in rows):
        agree += 1
    keywords: dict[str, list[Arg]] = {}
    for _, row in rows:
        for name, a in row.items():
            keywords.setdefault(name, []).append(a)
    if agree < len(longest) or any(name in keywords for name, _ in longest):
        common = [name for name, _ in longest[: min(agree, min(len(row) for row, _ in rows))]]
        return "(" + ", ".join([*common, "*args", "**kwargs"]) + ")"

    def value(found: list[Arg]) -> str:
        """Its default, or none if every overload requires it."""
        given = [default(a) for a in found if a.default is not None]
        if len(found) == len(rows):
            return f"={given[0]}" if len(given) == len(found) else f"={SOMETIMES}" if given else ""
        return f"={given[0]}" if len(given) == len(found) else f"={SOMETIMES}"

    parts = []
    separate = all(takes_separate_ints(group[0], kind, method) for group, kind in overload_groups(list_, method))
    for i, (name, a) in enumerate(longest):
        if separate and a.is_ints:
            parts.append(f"*{name}")
        else:
            parts.append(name + value([row[i][1] for row, _ in rows if len(row) > i]))
    if keywords and not separate:
        parts.append("*")
    parts += [name + value(found) for name, found in keywords.items()]
    return "(" + ", ".join(parts) + ")"


def readable(text: str) -> str:
    """A declaration's types without the stub's names for hidden ones."""
    return re.sub(r"\b_(int|float|bool|memory_format|layout|dtype)\b", r"\1", text)


def docstring(module: str, name: str, list_: list[tuple[Entry, str]], method: bool, listed: bool = False) -> str:
    """What `__doc__` and `__text_signature__` are read from. `listed`: the function of the same name lists the overloads."""
    groups = overload_groups(list_, method)
    called = name  # CPython looks for the function's own name, which is not its name in the module for linear algebra
    name = name.removeprefix("linalg_") if module == "linalg" else name

    def sentence(e: Entry) -> str:
        return e.doc if method else re.sub(r"\bself\b", "input", e.doc)

    sentences = list(dict.fromkeys(sentence(group[0]) for group, _ in groups))
    paragraphs = [sentences[0]] if listed or len(sentences) == 1 else []
    if len(groups) > 1 and listed:
        paragraphs.append(f"All overloads: `help(undertow.{name})`; the tensor is its `input`.")
    elif len(groups) > 1:
        lines = []
        for group, kind in groups:
            parts = parameters(group, kind, method, False)
            lines.append(readable(f"{name}({', '.join(parts)}) -> {result_type(group[0], kind, method)}"))
            if len(sentences) > 1:
                lines.append("    " + sentence(group[0]))
        paragraphs.append("\n".join(lines))
    example = next((e.spec["example"] for e, kind in list_ if "example" in e.spec and kind != "inplace" and name == own_name(e, module)), "")
    if example and not method:
        paragraphs.append(example.strip())
    return f"{called}{text_signature(list_, method)}\n--\n\n" + "\n\n".join(paragraphs)


def own_name(e: Entry, module: str) -> str:
    """The name under which an entry's example calls it: aliases have none."""
    return e.public.removeprefix("linalg_") if module == "linalg" else e.public
