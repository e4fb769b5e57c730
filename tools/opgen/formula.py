"""Formulas: which names they use, what a node must save for them, and how they are written inside a node's apply."""
from __future__ import annotations

import re
from dataclasses import dataclass

from .schema import SAVED, Entry

# Facts of a tensor that a formula may use without keeping the tensor alive: C++ type, expression, public suffix.
FACTS = {
    "sizes": ("Dims", "Dims({0}.sizes())", "sym_sizes"),
    "strides": ("Dims", "Dims({0}.strides())", "sym_strides"),
    "dim": ("int64_t", "{0}.dim()", "dim"),
    "numel": ("int64_t", "{0}.numel()", "sym_numel"),
    "dtype": ("DType", "{0}.dtype()", "scalar_type"),
    "device": ("Device", "{0}.device()", "device"),
    "storage_offset": ("int64_t", "{0}.storage_offset()", "sym_storage_offset"),
    "requires_grad": ("bool", "{0}.requires_grad()", "requires_grad"),
    "column_major": ("bool", "is_column_major({0})", "column_major"),
}
LIST_FACTS = {
    "all_sizes": ("std::vector<Dims>", "all_sizes({0})", "sizes"),
    "all_dtypes": ("std::vector<DType>", "all_dtypes({0})", "dtypes"),
    "size": ("int64_t", "static_cast<int64_t>({0}.size())", "size"),
}


@dataclass
class Saved:
    """One member of a node: a tensor, a list of tensors, a plain value, or a fact of a tensor."""

    member: str  # C++ member
    public: str  # Python attribute after _saved_
    kind: str  # tensor, list, value, fact
    type: str  # C++ type of the member
    source: str  # C++ expression at recording time
    arg: str  # the argument (or result) it comes from
    output: bool = False


def identifiers(text: str) -> set[str]:
    return set(re.findall(r"\b[A-Za-z_]\w*\b", re.sub(r'"[^"]*"', "", text)))


def uses(text: str, name: str) -> bool:
    """True if the formula needs the tensor `name` itself, beyond its facts."""
    return bool(re.search(rf"(?<![\w.]){name}\b(?!\s*\.\s*(?:{'|'.join(FACTS) + '|' + '|'.join(LIST_FACTS)})\(\))", text))


def facts_of(text: str, name: str, table: dict) -> list[str]:
    return [f for f in table if re.search(rf"(?<![\w.]){name}\s*\.\s*{f}\(\)", text)]


def saved_for(entry: Entry, formula: str) -> list[Saved]:
    """What `formula` needs, in a fixed order."""
    out: list[Saved] = []
    for a in entry.args:
        if a.is_tensor:
            if uses(formula, a.name):
                out.append(Saved(f"{a.name}_", a.name, "tensor", "SavedTensor", a.name, a.name))
            for f in facts_of(formula, a.name, FACTS):
                t, expr, public = FACTS[f]
                out.append(Saved(f"{a.name}_{f}", f"{a.name}_{public}", "fact", t, expr.format(a.name), a.name))
        elif a.is_list:
            if uses(formula, a.name):
                out.append(Saved(f"{a.name}_", a.name, "list", "std::vector<SavedTensor>", a.name, a.name))
            for f in facts_of(formula, a.name, LIST_FACTS):
                t, expr, public = LIST_FACTS[f]
                out.append(Saved(f"{a.name}_{f}", f"{a.name}_{public}", "fact", t, expr.format(a.name), a.name))
        elif re.search(rf"(?<![\w.]){a.name}\b", formula):
            if a.type not in SAVED:
                entry.fail(f"argument {a.name} of type {a.type} cannot be saved for a formula")
            out.append(Saved(f"{a.name}_", a.name, "value", SAVED[a.type], a.name, a.name))
    for r in entry.returns:
        if uses(formula, r):
            out.append(Saved(f"{r}_", r, "tensor", "SavedTensor", r, r, output=True))
        for f in facts_of(formula, r, FACTS):
            t, expr, public = FACTS[f]
            out.append(Saved(f"{r}_{f}", f"{r}_{public}", "fact", t, expr.format(r), r))
    return out


def all_saved(entry: Entry) -> list[Saved]:
    seen: dict[str, Saved] = {}
    for a in entry.diff_args:
        for s in saved_for(entry, entry.grad[a.name]):
            seen.setdefault(s.member, s)
    for s in saved_for(entry, " ".join(entry.spec.get("shown", []))):
        if s.kind not in ("value", "fact"):
            entry.fail(f"shown: {s.arg} is a tensor, which would be kept alive; name a fact of it")
        seen.setdefault(s.member, s)
    return list(seen.values())


def in_node(entry: Entry, formula: str) -> tuple[list[str], str]:
    """Lines that unpack what the formula uses, and the formula with facts replaced by members."""
    lines = []
    text = formula
    for s in saved_for(entry, formula):
        if s.kind == "fact":
            fact = s.member[len(s.arg) + 1:]
            text = re.sub(rf"(?<![\w.]){s.arg}\s*\.\s*{fact}\(\)", s.member, text)
        elif s.kind == "tensor":
            lines.append(f"Tensor {s.arg} = {s.member}.unpack(this);")
        elif s.kind == "list":
            lines.append(f"std::vector<Tensor> {s.arg} = unpack_list({s.member}, this);")
        else:
            lines.append(f"const auto& {s.arg} = {s.member};")
    # conj(x) of a real tensor is x: conj_of returns it without counting a reference.
    return lines, re.sub(r"\bconj\((\w+)\)", r"conj_of(\1)", text)


def check(entry: Entry, known: set[str]) -> None:
    """Raises for a formula that is too long or that uses an unknown name."""
    local = {a.name for a in entry.args} | set(entry.returns) | {"grad", "grads", "true", "false", "std", "DType", "Scalar", "Dims", "nullopt",
             "optional", "int64_t", "double", "Tensor", "Float32", "Int64", "Bool", "IntSpan", "self_t", "other_t", "needs", "wanted", "TensorSpan"}
    local |= {f"{a.name}_t" for a in entry.args} | set(FACTS) | set(LIST_FACTS) | {"value_or", "has_value", "defined", "size", "conj", "to_double",
             "is_complex", "equals", "to_complex", "to_int", "empty", "begin", "end", "data"}
    formulas = dict(entry.grad)
    rule = entry.spec.get("jvp", "")
    if isinstance(rule, dict):
        formulas |= {f"jvp.{k}": v for k, v in rule.items()}
    elif rule not in ("", "elementwise", "linear"):
        formulas["jvp"] = rule
    for key, text in formulas.items():
        if len(text) > 110 or ";" in text:
            entry.fail(f"formula {key} is longer than one expression of 110 columns: move it to core/autograd/formulas/")
        bad = identifiers(text) - local - known
        if bad:
            entry.fail(f"{key}: unknown names {sorted(bad)} (no such argument, operator or formula function)")
