"""Type stubs of what the package gets from the tables, so that editors and type checkers know every operator.

A stub is a template of `tools/opgen/stubs` with the tables' declarations inserted at its marks:

    # opgen: functions MODULE     the functions of a module, "package" for the package's own
    # opgen: methods              the methods of Tensor
    # opgen: results              the classes of results with names

What a template declares itself is not inserted again: a handwritten declaration is more exact.
"""
from __future__ import annotations

import ast
import keyword
import re
from pathlib import Path

from .public_names import functions_and_methods, python_args
from .schema import Arg, Entry

TEMPLATES = Path(__file__).resolve().parent / "stubs"
WIDTH = 150

# How an argument reads in a stub. The names with an underscore are types that functions or methods of the same name hide.
ARGUMENT = {
    "Tensor": "Tensor", "Tensor[]": "Sequence[Tensor]", "Tensor?[]": "Sequence[Tensor | None]", "Scalar": "Number", "int": "_int", "float": "_float", "bool": "_bool",
    "true": "Literal[True]", "false": "Literal[False]", "int[]": "Sequence[_int]", **{f"int[{n}]": "_int | Sequence[_int]" for n in (1, 2, 3)},
    "dtype": "DTypeLike", "str": "str", "Generator": "Generator", "device": "DeviceLike", "memory_format": "_memory_format", "layout": "_layout",
}
RESULT = {"Tensor": "Tensor", "Tensor[]": "tuple[Tensor, ...]", "int": "_int", "bool": "_bool", "Scalar": "Number", "float": "_float", "dtype": "_dtype", "void": "None"}


def argument_type(entries: list[Entry], name: str, types: list[str]) -> str:
    """The union of the types that the variants of an entry accept, None last."""
    parts: list[str] = []
    for t in types:
        closed = entries[0].spec.get("choices", {}).get(name) if t.startswith("str") else None
        parts.append("Literal[" + ", ".join(f'"{c}"' for c in closed) + "]" if closed else ARGUMENT[t.removesuffix("?")])
    if any(t.endswith("?") for t in types):
        parts.append("None")
    return " | ".join(dict.fromkeys(parts))


def default(a: Arg) -> str:
    """The default as Python spells it. A list of one number means any number of equal ones."""
    assert a.default is not None
    if a.is_ints and a.default.startswith("["):
        numbers = [n.strip() for n in a.default[1:-1].split(",") if n.strip()]
        return numbers[0] if len(numbers) == 1 else "(" + ", ".join(numbers) + ")"
    return a.default


def result_type(e: Entry, kind: str, method: bool) -> str:
    if kind == "inplace" and method:
        return "Self"
    t = e.return_type
    if t.startswith("("):
        return f"return_types.{e.public}" if e.spec.get("returns") else "tuple[" + ", ".join(RESULT[p.strip()] for p in t[1:-1].split(",")) + "]"
    return RESULT[t]


def parameters(group: list[Entry], kind: str, method: bool, separate: bool) -> list[str]:
    """The parameters of one declaration. `separate` writes the only list of ints as separate ints, as in x.view(2, 4)."""
    out, star, positional_only = [], False, 0
    rows = [python_args(e, kind) for e in group]
    for i, a in enumerate(rows[0]):
        if method and i == 0:
            out.append("self")
            continue
        if method and a.name == "out":
            continue  # as in torch, although the parser that functions and methods share would accept it
        if a.kwonly and not star:
            out.append("*")
            star = True
        types = [row[i].type for row in rows]
        if a.name == "out" and a.type == "Tensor[]":
            kind_text = "Sequence[Tensor] | None"
        else:
            kind_text = argument_type(group, a.name, types)
            if a.type == "int[1]" and a.default == "[]":
                kind_text += " | None"
        name = "input" if a.name == "self" else a.name
        if separate and a.is_ints and not a.kwonly:
            out.append(f"*{name}: _int")
            star = True
            continue
        if keyword.iskeyword(name):
            name, positional_only = name + "_", len(out) + 1
        out.append(f"{name}: {kind_text}" + (f" = {default(a)}" if a.default is not None else ""))
    if positional_only:
        out.insert(positional_only, "/")
    return out


def overload_groups(list_: list[tuple[Entry, str]], method: bool) -> list[tuple[list[Entry], str]]:
    """The overloads of a public name, each with its kind. The variants of a Tensor|Scalar argument are one."""
    groups: dict[tuple[str, str, str], list[Entry]] = {}
    for e, kind in list_:
        if method and e.args[0].type != "Tensor":
            continue
        if not method and kind == "plain" and "function" not in e.variants:
            continue
        groups.setdefault((e.name, e.overload, kind), []).append(e)
    return [(group, kind) for (_, _, kind), group in groups.items()]


def takes_separate_ints(e: Entry, kind: str, method: bool) -> bool:
    """x.view(2, 4): a list of ints that is the only positional argument may be spelled as separate ints."""
    positional = [a for a in python_args(e, kind)[method:] if not a.kwonly]
    return len(positional) == 1 and positional[0].is_ints


def declaration(name: str, list_: list[tuple[Entry, str]], method: bool) -> list[str]:
    """All overloads of one public name."""
    forms = []
    for group, kind in overload_groups(list_, method):
        result = result_type(group[0], kind, method)
        forms.append((parameters(group, kind, method, False), result))
        if takes_separate_ints(group[0], kind, method):
            forms.append((parameters(group, kind, method, True), result))
    forms = [f for i, f in enumerate(forms) if f not in forms[:i]]
    indent = "    " if method else ""
    out = []
    for parts, result in forms:
        if len(forms) > 1:
            out.append(f"{indent}@overload")
        line = f"{indent}def {name}({', '.join(parts)}) -> {result}: ..."
        if len(line) <= WIDTH:
            out.append(line)
        else:
            out += [f"{indent}def {name}(", f"{indent}    {', '.join(parts)},", f"{indent}) -> {result}: ..."]
            if len(out[-2]) > WIDTH:
                out[-2:-1] = [f"{indent}    {part}," for part in parts]
    return out


def result_classes(entries: list[Entry]) -> list[str]:
    """The classes of results with names: tuples whose elements are attributes too."""
    out: dict[str, list[str]] = {}
    for e in entries:
        if not e.spec.get("returns") or e.public in out or not e.python_names:
            continue
        types = [RESULT[t.strip()] for t in e.return_type[1:-1].split(",")]
        lines = [f"class {e.public}(tuple[{', '.join(types)}]):"]
        for name, t in zip(e.spec["returns"], types, strict=True):
            lines += ["    @property", f"    def {name}(self) -> {t}: ..."]
        out[e.public] = [*lines, ""]
    return [line for name in sorted(out) for line in out[name]]


def declared(template: str, inside: str = "") -> set[str]:
    """The names a template declares or imports, at its top or in a class."""
    body = ast.parse(template).body
    if inside:
        body = next(node.body for node in body if isinstance(node, ast.ClassDef) and node.name == inside)
    names: set[str] = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.Assign):
            names |= {t.id for t in node.targets if isinstance(t, ast.Name)}
        elif isinstance(node, ast.ImportFrom):
            names |= {a.asname for a in node.names if a.asname}
    return names


def stubs(entries: list[Entry]) -> dict[str, str]:
    """The stubs by their paths below undertow/."""
    functions, methods = functions_and_methods(entries)
    out = {}
    for path in sorted(TEMPLATES.rglob("*.pyi")):
        template = path.read_text()
        lines = ["# Generated by tools/opgen from ops/*.toml and tools/opgen/stubs. Do not edit."]
        for line in template.splitlines():
            mark = re.fullmatch(r"\s*# opgen: (\w+) ?([\w.]*)", line)
            if not mark:
                lines.append(line)
            elif mark[1] == "functions":
                taken = declared(template)
                module = "" if mark[2] == "package" else mark[2]
                for (home, name), list_ in functions.items():
                    shown = name.removeprefix("linalg_") if module == "linalg" else name
                    if home == module and shown not in taken:
                        lines += declaration(shown, list_, False)
            elif mark[1] == "methods":
                taken = declared(template, "Tensor")
                for name, list_ in methods.items():
                    if name not in taken:
                        lines += declaration(name, list_, True)
            elif mark[1] == "results":
                lines += result_classes(entries)
            else:
                raise ValueError(f"{path}: unknown mark: {line.strip()}")
        out[path.relative_to(TEMPLATES).as_posix()] = "\n".join(lines).rstrip("\n") + "\n"
    return out
