"""The public Python names of the tables: every function and method with its overloads, and the parameters of each."""
from __future__ import annotations

from dataclasses import replace

from .schema import Arg, Entry

# What every factory takes in Python besides its own arguments. See FactoryArgs in core/python/arguments/convert.h.
FACTORY_ARGS = [Arg("layout?", "layout", "None", True), Arg("bool?", "pin_memory", "None", True),
                Arg("bool?", "requires_grad", "False", True)]


def python_args(e: Entry, kind: str) -> list[Arg]:
    """The operator's own arguments, then out=, then the common arguments of factories."""
    defaults = e.spec.get("python_default", {})
    args = [replace(a, default=defaults.get(a.name, a.default)) for a in e.args]
    if kind == "plain" and "out" in e.variants:
        args.append(Arg("Tensor[]" if len(e.returns) > 1 else "Tensor?", "out", "None", True))
    if kind == "functional":
        args.append(Arg("bool", "inplace", "False"))
    return args + FACTORY_ARGS if kind == "plain" and e.is_factory else args


def functions_and_methods(entries: list[Entry]) -> tuple[dict[tuple[str, str], list[tuple[Entry, str]]], dict[str, list[tuple[Entry, str]]]]:
    """The overloads of every function, by module and name, and of every method of Tensor; each with its kind, see `glue`."""
    functions_of: dict[tuple[str, str], list[tuple[Entry, str]]] = {}
    methods_of: dict[str, list[tuple[Entry, str]]] = {}
    for e in entries:
        for module, n in e.python_names:
            kind = "functional" if e.spec.get("inplace_argument") and module == "nn.functional" else "plain"
            if "function" in e.variants and not n.startswith("__"):
                functions_of.setdefault((module, n), []).append((e, kind))
            if "method" in e.variants and not module:
                methods_of.setdefault(n, []).append((e, kind))
            if "inplace_function" in e.variants and (not module or kind == "functional"):
                functions_of.setdefault((module, n + "_"), []).append((e, "inplace"))
            if "inplace" in e.variants and not module and not n.startswith("__"):
                methods_of.setdefault(n + "_", []).append((e, "inplace"))
    return functions_of, methods_of
