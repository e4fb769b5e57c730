"""Everything that is generated for one operator, in the order in which a call passes through it: `opgen --show NAME`."""
from __future__ import annotations

import ast
import re
from pathlib import Path

from . import emit_cuda, emit_kernels, emit_nodes, emit_ops, emit_python, emit_stub
from .schema import Entry

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("entry", "stub", "binding", "recorder", "node", "forward", "loop", "functor")


def show(entries: list[Entry], name: str) -> str:
    """The parts of every overload of `name`, each under a heading; `name` is the operator's own or one of its Python names."""
    chosen = [e for e in entries if e.name == name] or [e for e in entries if name in python_names(e)]
    if not chosen:
        return f"no operator named {name}"
    makers = {"entry": entry, "stub": stub, "binding": binding, "recorder": recorder, "node": node, "forward": forward, "loop": loop, "functor": functor}
    return "\n\n".join(f"// ---- {part} ----\n{makers[part](entries, chosen)}" for part in PARTS)


def python_names(e: Entry) -> set[str]:
    return {n for module, n in e.python_names} | {f"{module}.{n}" for module, n in e.python_names if module}


def where(e: Entry) -> str:
    return f"// ops/{e.file}:{e.line}"


def entry(entries: list[Entry], chosen: list[Entry]) -> str:
    seen = dict.fromkeys(f"{where(e)}: {e.spec['sig']}" for e in chosen)
    return "\n".join(seen)


def stub(entries: list[Entry], chosen: list[Entry]) -> str:
    """The type stubs, file by file: functions, and methods of Tensor."""
    names = {n for e in chosen for module, name in e.python_names for n in (name, name.removeprefix(f"{module}_"))}
    names |= {n + "_" for e in chosen for n in names if e.variants & {"inplace", "inplace_function"}}
    found = []
    for path, text in emit_stub.stubs(entries).items():
        lines, here = text.splitlines(), []
        for f in ast.walk(ast.parse(text)):
            if isinstance(f, ast.FunctionDef) and f.name in names:
                start = min([f.lineno, *(d.lineno for d in f.decorator_list)])
                here += lines[start - 1 : f.end_lineno]
        found += [f"# undertow/{path}", *here] if here else []
    return "\n".join(found) or "// none: it has no Python name"


def binding(entries: list[Entry], chosen: list[Entry]) -> str:
    """The conversion of Python's arguments and the choice of an overload: of every entry with the same Python name."""
    names = {n for e in chosen for n in python_names(e)}
    shared = [e for e in entries if e in chosen or names & python_names(e)]
    text = emit_python.binding_source(shared, "shown")
    return text.partition("namespace {\n")[2].partition("}  // namespace undertow::core::python")[0].strip()


def recorder(entries: list[Entry], chosen: list[Entry]) -> str:
    out = []
    for e in chosen:
        out.append(emit_ops.recorder(e))
        if "inplace" in e.variants:
            out.append(emit_ops.inplace(e))
        if "out" in e.variants:
            out.append(emit_ops.out_variant(e))
    return "\n\n".join(out)


def node(entries: list[Entry], chosen: list[Entry]) -> str:
    out = []
    for e in chosen:
        if e.diff_args and not e.is_composite:
            out += [part for part in (emit_nodes.node_class(e), emit_nodes.node_apply(e), emit_nodes.saved_table(e)) if part]
    if out:
        return "\n\n".join(out)
    composite = all(e.is_composite for e in chosen)
    return "// none: the operators it calls record their own" if composite else "// none: no argument has a derivative"


def forward(entries: list[Entry], chosen: list[Entry]) -> str:
    out = []
    if pointwise := [e for e in chosen if e.is_pointwise]:
        out.append(emit_kernels.forward_source(pointwise[0].family, pointwise))
    if by_hand := [e for e in chosen if not e.is_pointwise and not e.is_composite]:
        out.append(emit_ops.forward_header(by_hand[0].family, by_hand))
        out += dict.fromkeys(f"// written by hand in {place}" for e in by_hand for place in definitions(e))
    return "\n".join(out).strip() or "// none: a composite calls other operators' recorders"


def definitions(e: Entry) -> list[str]:
    """The files under core/forward that define fwd::name."""
    pattern = re.compile(rf"^[\w:<>, ]+ {e.name}\([^;{{]*\) *{{", re.M)
    found = []
    for path in sorted((ROOT / "core/forward").rglob("*.cpp")):
        text = path.read_text()
        found += [f"{path.relative_to(ROOT)}:{text[: m.start()].count(chr(10)) + 1}" for m in pattern.finditer(text)]
    return found


def loop(entries: list[Entry], chosen: list[Entry]) -> str:
    """The CPU's loops of a pointwise operator: one source per group of dtypes, then the table that chooses among them."""
    pointwise = [e for e in chosen if e.is_pointwise]
    if not pointwise:
        return "// none: only an entry with `scalar` has generated loops"
    family = pointwise[0].family
    units = [emit_kernels.kernel_source(family, unit, pointwise) for unit in emit_kernels.units_of(pointwise[0])]
    return "\n".join([*units, emit_kernels.chooser_source(family, pointwise)]).strip()


def functor(entries: list[Entry], chosen: list[Entry]) -> str:
    """What the CUDA backend compiles on first use, for each group of dtypes with the same text."""
    out = []
    for e in emit_kernels.pointwise_entries(chosen):
        dtypes: dict[str, list[str]] = {}
        for dtype, text in emit_cuda.functors(e).items():
            dtypes.setdefault(text, []).append(dtype)
        out += [f"// {', '.join(names)}\n{text.strip()}" for text, names in dtypes.items()]
    return "\n".join(out) or "// none: only an entry with `scalar` has a generated functor"
