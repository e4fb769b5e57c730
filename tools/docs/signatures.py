"""Signatures and facts of operators, from the tables; signatures of everything else, from the objects."""
from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from tools.opgen import schema
from tools.opgen.public_names import FACTORY_ARGS

ROOT = Path(__file__).resolve().parents[2]
# undertow.cuda has a class of the same name as undertow.device, so that a link needs the whole name.
TYPES = {key: re.sub(r"\bdevice\b", "undertow.device", python) for key, (_, python) in schema.TYPES.items()}
RETURNS = {"Tensor[]": "tuple[Tensor, ...]", "Scalar": "Number", "void": "None"}  # where Python has another name


def returned(t: str) -> str:
    if t.startswith("("):
        return "tuple[" + ", ".join(returned(p.strip()) for p in t[1:-1].split(",")) + "]"
    return RETURNS.get(t, t)


def default(text: str) -> str:
    return {"true": "True", "false": "False", "none": "None"}.get(text, text)


def from_entry(e: schema.Entry, method: bool, inplace: bool) -> str:
    """(arguments) -> result, as Python has them."""
    parts, star = [], False
    for i, a in enumerate(e.args):
        if a.kwonly and not star:
            parts.append("*")
            star = True
        if method and i == 0:
            continue
        parts.append(f"{public(a.name)}: {TYPES[a.type]}" + (f" = {default(a.default)}" if a.default is not None else ""))
    if "out" in e.variants and not method and not inplace:
        parts += ([] if star else ["*"]) + ["out: Tensor | None = None"]
        star = True
    if e.is_factory:
        parts += [] if star else ["*"]
        parts += [f"{a.name}: {TYPES[a.type]} = {default(a.default or 'None')}" for a in FACTORY_ARGS]
    return f"({', '.join(parts)}) -> {returned(e.return_type)}"


def public(text: str) -> str:
    """A text of the tables with the name that their first argument, self, has in Python."""
    return re.sub(r"\bself\b", "input", text)


class Tables:
    """The operator tables by the Python names of their functions and methods."""

    def __init__(self) -> None:
        self.functions: dict[str, list[schema.Entry]] = {}
        self.methods: dict[str, list[schema.Entry]] = {}
        for e in schema.load(ROOT / "ops"):
            for module, name in e.python_names:
                path = ".".join(p for p in ("undertow", module, name) if p)
                if "function" in e.variants:
                    self.functions.setdefault(path, []).append(e)
                if "inplace_function" in e.variants:
                    self.functions.setdefault(path + "_", []).append(e)
                if "method" in e.variants and not module:
                    self.methods.setdefault(name, []).append(e)
                if "inplace" in e.variants and not module:
                    self.methods.setdefault(name + "_", []).append(e)

    def family(self, path: str) -> str:
        entries = self.functions.get(path) or self.functions.get(path.rstrip("_"))
        return entries[0].family if entries else ""


def entry_signatures(name: str, entries: list[schema.Entry], method: bool) -> list[str]:
    found = [name + from_entry(e, method, name.endswith("_") and e.public != name) for e in entries]
    return list(dict.fromkeys(found))


def entry_doc(entries: list[schema.Entry]) -> str:
    """The sentence of each overload, once."""
    return "\n\n".join(dict.fromkeys(e.doc for e in entries if e.doc))


def entry_facts(entries: list[schema.Entry]) -> list[tuple[str, str]]:
    """(field, text): other forms of the operator, its node, its gradients."""
    first = entries[0]
    facts = []
    aliases = [f"``undertow.{a}``" for e in entries for a in e.spec.get("aliases", []) if "__" not in a]
    if aliases:
        facts.append(("Also named", ", ".join(dict.fromkeys(aliases))))
    if any("inplace" in e.variants for e in entries):
        facts.append(("In place", f"``Tensor.{first.public}_``"))
    recorded = [e for e in entries if e.diff_args and not e.is_composite]
    if recorded:
        facts.append(("Recorded as", ", ".join(dict.fromkeys(f"``{re.sub(r'{.*?}', '', e.node)}``" for e in recorded))))
        formulas = {argument: formula for e in recorded for argument, formula in e.grad.items() if len(str(formula)) <= 88}
        facts += [(f"Gradient of {public(a)}", f"``{public(f)}``") for a, f in formulas.items()]
    elif any(e.is_composite for e in entries):
        facts.append(("Recorded as", "the operators it is made of"))
    return facts


def from_object(value: Any, name: str) -> str:
    """The signature from `inspect`; addresses in defaults are replaced, so that the page is reproducible."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return name + ("" if inspect.isclass(value) else "(...)")
    parameters = list(signature.parameters.values())
    if inspect.isclass(value) and parameters and parameters[0].name == "self":
        parameters = parameters[1:]
    text = str(signature.replace(parameters=parameters))
    text = re.sub(r"<[^<>]*>", "...", text)
    return name + re.sub(r"\b(undertow\._C|typing|collections\.abc)\.", "", text).replace("undertow.Tensor", "Tensor")
