"""Pointwise entries: from one scalar expression, the loops for every dtype and instruction set, and the forward functions."""
from __future__ import annotations

import re

from .emit_ops import HEADER, c_string, params
from .formula import identifiers
from .schema import Entry

# dtype groups: the entries' expressions may differ between them.
GROUPS = {
    "float": [("float", "Float32"), ("double", "Float64")],
    "int": [("bool", "Bool"), ("uint8_t", "UInt8"), ("int8_t", "Int8"), ("int16_t", "Int16"), ("int32_t", "Int32"), ("int64_t", "Int64")],
    "complex": [("Complex64", "Complex64"), ("Complex128", "Complex128")],
}
# Translation units: the group and the dtypes of each. See Note [Kernel Builds] in core/kernels/cpu/pointwise/loops.h.
UNITS = {"float": ("float", GROUPS["float"]), "word": ("int", GROUPS["int"][4:]), "small": ("int", GROUPS["int"][:4]),
         "complex": ("complex", GROUPS["complex"])}
PER_ISA = ("float", "word")  # the half types run the float loops, see core/kernels/cpu/half/half_loops.h
CHEAP = ("comparison", "logic", "rounding")  # families whose operators cost a few instructions per element
# `dtypes` values: which groups (or single dtypes) an entry computes in.
CLASSES = {
    "all": {"float", "half", "int", "complex", "bool"}, "number": {"float", "half", "int", "complex"}, "real": {"float", "half", "int", "bool"},
    "realnumber": {"float", "half", "int"}, "floating": {"float", "half"}, "inexact": {"float", "half", "complex"}, "integral": {"int", "bool"},
    "integer": {"int"}, "wide": {"float"}, "complex": {"complex"},
}

# The words of `storage`, see Note [Storage DTypes] in core/tensor/dtype/dtype.h.
STORAGE = {"unsigned": "kUnsignedStorage", "complex32": "kComplexStorage", "float8": "kFloat8Storage"}


def computed_in(e: Entry, group: str, ctype: str) -> bool:
    cls = CLASSES[e.spec.get("dtypes", "all")]
    if ctype == "bool":
        return "bool" in cls
    return group in cls


def expression(e: Entry, group: str, ctype: str) -> str:
    for key in (f"scalar_{ctype.removesuffix('_t')}", f"scalar_{group}"):
        if key in e.spec:
            return e.spec[key]
    return e.spec["scalar"]


def operands(e: Entry) -> list:
    found = [a for a in e.args if a.is_tensor or (a.type == "Scalar" and is_operand(e, a.name))]
    return sorted(found, key=lambda a: a.name != e.spec.get("layout"))


def is_operand(e: Entry, name: str) -> bool:
    """Whether a number is an operand that promotes, rather than a parameter in the tensors' dtype."""
    return name in e.spec.get("operands", []) or bool(re.search(rf"(Tensor\|Scalar|Scalar\|Tensor)\s+{name}\b", e.spec["sig"]))


def plain_params(e: Entry) -> list:
    ops = {a.name for a in operands(e)}
    return [a for a in e.args if a.name not in ops]


def is_long(e: Entry, unit: str, text: str) -> bool:
    """Whether the loop is compiled only for contiguous operands: it calls functions, or there are many of it and each runs rarely."""
    if unit not in PER_ISA:
        return len(operands(e)) == 2
    calls = set(re.findall(r"(\w+)\(", text)) - {"decltype", "abs", "float", "double"}
    return bool(calls) and (unit == "float" or len(operands(e)) == 2)


def functor(e: Entry, unit: str, ctype: str) -> str:
    group = UNITS[unit][0]
    text = expression(e, group, ctype)
    names = [a.name for a in operands(e)]
    used = [p for p in plain_params(e) if p.name in identifiers(text)]
    math = ctype
    members, init = "", ""
    for p in used:
        t = {"Scalar": math, "Scalar?": math, "float": math if group != "int" else "double", "float?": math if group != "int" else "double",
             "int": "int64_t", "bool": "bool"}.get(p.type)
        if t is None:
            e.fail(f"parameter {p.name}: {p.type} cannot reach a kernel")
        i = [q.name for q in plain_params(e)].index(p.name)
        members += f" {t} {p.name};"
        init += f" {p.name} = params[{i}].to<{t}>();"
    unused = "".join(f" (void){n};" for n in names if n not in identifiers(text))
    args = ", ".join(f"{math} {n}" for n in names)
    array = ""
    if "array" in e.spec and unit in PER_ISA:
        given = ", ".join(f"const {math}* {n}" for n in names)
        array = f" static void array({given}, {math}* out, int64_t n) {{ {e.spec['array']}({', '.join(names)}, out, static_cast<size_t>(n)); }}"
    if is_long(e, unit, text):
        array += " static constexpr bool kLong = true;"
    return (f"struct Op {{ using T = {math};{members}{array} explicit Op([[maybe_unused]] const Scalar* params) {{{init} }}\n"
            f'#line {e.line} "ops/{e.file}"\n'
            f"    UT_VECTOR_INLINE auto operator()({args}) const {{{unused} return {text}; }} }};")


def kernel_name(e: Entry) -> str:
    return f"{e.name}_{e.overload}" if e.overload else e.name


def pointwise_entries(entries: list[Entry]) -> list[Entry]:
    """One kernel per table entry, whatever its Tensor|Scalar resolutions."""
    seen, out = set(), []
    for e in entries:
        if e.is_pointwise and kernel_name(e) not in seen:
            seen.add(kernel_name(e))
            out.append(e)
    return out


def without_names(e: Entry, functor: str) -> str:
    """The functor's text without its line and with numbered operands."""
    text = re.sub(r"#line .*\n", "", functor)
    for i, a in enumerate(operands(e)):
        text = re.sub(rf"\b{a.name}\b", f"operand{i}", text)
    return text


def units_of(e: Entry) -> list[str]:
    """The units that have a loop of the entry."""
    return [unit for unit, (group, members) in UNITS.items() if any(computed_in(e, group, ctype) for ctype, _ in members)]


def kernel_source(family: str, unit: str, entries: list[Entry]) -> str:
    group, members = UNITS[unit]
    loops = "half/half_direct.h" if unit == "float" else "pointwise/loops.h"
    out = [HEADER.format(family=family), f'#include "core/kernels/cpu/{loops}"', '#include "core/kernels/cpu/math/scalar_math.h"', "",
           f"namespace undertow::core::cpu::{'UNDERTOW_ISA_NS' if unit in PER_ISA else 'any_isa'} {{", "using namespace scalar_math;", ""]
    made: dict[str, str] = {}  # the functors by their text: entries that compute the same share one
    for e in pointwise_entries(entries):
        if unit not in units_of(e):
            continue
        rows = []
        body = []
        for ctype, dtype in members:
            if not computed_in(e, group, ctype):
                continue
            text = functor(e, unit, ctype)
            ns = made.setdefault(without_names(e, text), f"{kernel_name(e)}_{ctype}")
            if ns == f"{kernel_name(e)}_{ctype}":
                body.append(f"namespace {ns} {{ {text} }}")
            ins = ", ".join([ctype] * len(operands(e)))
            rows.append(f"  table[static_cast<int>(DType::{dtype})] = pick_loop<{ns}::Op, {ins}>();")
            if ctype == "float" and "half" in e.spec:
                rows.append(f"  fill_direct<{ns}::Op, {ins}>(table);")
        out += body
        out.append(f"void fill_{kernel_name(e)}_{unit}([[maybe_unused]] LoopFn* table) {{")
        out += rows
        out.append("}")
    out += ["}", ""]
    return "\n".join(out)


def chooser_source(family: str, entries: list[Entry]) -> str:
    """The CPU's loops of each operator in one table by dtype, for the instruction set of this machine."""
    kernels = pointwise_entries(entries)
    out = [HEADER.format(family=family), '#include "core/kernels/cpu/half/half_loops.h"', '#include "core/kernels/cpu/isa.h"', "",
           "namespace undertow::core::cpu {", ""]
    for ns, units in (("isa_baseline", PER_ISA), ("isa_avx2", PER_ISA), ("isa_avx512", PER_ISA), ("any_isa", [u for u in UNITS if u not in PER_ISA])):
        out.append(f"namespace {ns} {{")
        out += [f"void fill_{kernel_name(e)}_{u}(LoopFn*);" for e in kernels for u in units_of(e) if u in units]
        out.append("}")
    for e in kernels:
        k = kernel_name(e)
        half = "half" in CLASSES[e.spec.get("dtypes", "all")] and "half" not in e.spec
        to_bool = "true" if e.spec.get("promote") == "bool" else "false"
        if half:
            out.append(f"static LoopFn {k}_in_float;")
        fills = [f"UNDERTOW_FILL_PER_ISA(fill_{k}_{u}, t);" if u in PER_ISA else f"any_isa::fill_{k}_{u}(t);" for u in units_of(e)]
        if half:  # after the float loops, which it runs
            fills.insert(1, f"fill_half<{k}_in_float, {len(operands(e))}, {to_bool}>(t);")
        out.append(f"void loops_of_{k}(LoopFn* t) {{ {' '.join(fills)} }}")
    out += ["", "}  // namespace undertow::core::cpu", ""]
    return "\n".join(out)


def forward_source(family: str, entries: list[Entry]) -> str:
    out = [HEADER.format(family=family), f'#include "generated/fwd_{family}.h"', '#include "core/forward/pointwise/pointwise.h"',
           '#include "core/forward/pointwise/checks.h"', ""]
    kernels = pointwise_entries(entries)
    out.append("namespace undertow::core::cpu {")
    out += [f"void loops_of_{kernel_name(e)}(LoopFn*);" for e in kernels]
    out += ["}  // namespace undertow::core::cpu", "", "namespace undertow::core::fwd {", "namespace {"]
    for e in kernels:
        k = kernel_name(e)
        promote = e.spec.get("promote", "arith").capitalize()
        # A global, filled when the library loads: a function-local static would test its guard on every call.
        bool_error = f", {c_string(e.spec['bool_error'])}" if "bool_error" in e.spec else ""
        storage = " | ".join(STORAGE[g] for g in e.spec.get("storage", "").split())
        storage = f", {storage or 0}" if storage or bool_error else ""
        out.append(f"const PointwiseOp {k}_op(\"{e.public}\", \"{k}\", Promote::{promote}, cpu::loops_of_{k}{storage}{bool_error});")
    out += ["}  // namespace", ""]
    for e in entries:
        if not e.is_pointwise:
            continue
        k = kernel_name(e)
        ops = ", ".join(a.name for a in operands(e))
        plain = plain_params(e)
        plain_text = ", ".join(f"as_scalar({p.name})" for p in plain)
        decl = f"  const Scalar params[] = {{{plain_text}}};\n" if plain else ""
        if "check" in e.spec:
            decl = f'#line {e.line} "ops/{e.file}"\n  {e.spec["check"]};\n' + decl
        arg = "params" if plain else "nullptr"
        n = len(operands(e))
        out.append(f"Tensor {e.name}({params(e)}) {{\n{decl}  return pointwise{n}({k}_op, {arg}, {ops});\n}}")
        if e.variants & {"inplace", "out"}:
            out.append(f"void {e.name}_out(const Tensor& out, {params(e)}) {{\n{decl}  pointwise{n}_out({k}_op, {arg}, out, {ops});\n}}")
    out += ["", "}  // namespace undertow::core::fwd", ""]
    return "\n".join(out)
