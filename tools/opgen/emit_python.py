"""Bindings: for each public name the table of its overloads, the glue that converts arguments, and the method tables."""
from __future__ import annotations

from collections.abc import Iterable

from .emit_doc import docstring
from .emit_ops import c_string, cpp_default
from .public_names import functions_and_methods, python_args
from .schema import Arg, Entry

# C++ local for a converted argument, from slot {s}; `{d}` is the default.
CONVERT = {
    "Tensor": "const Tensor& {n} = tensor_arg({s});",
    "Tensor?": "const Tensor& {n} = opt_tensor_arg({s});",
    "Tensor[]": "std::vector<Tensor> {n} = tensor_list_arg({s});",
    "Tensor?[]": "std::vector<Tensor> {n} = tensor_list_arg({s});",
    "Scalar": "Scalar {n} = {s} ? scalar_arg({s}) : Scalar({d});",
    "Scalar?": "std::optional<Scalar> {n} = opt_scalar_arg({s}, {d});",
    "int": "int64_t {n} = {s} ? int_arg({s}) : int64_t({d});",
    "int?": "std::optional<int64_t> {n} = opt_int_arg({s}, {d});",
    "float": "double {n} = {s} ? float_arg({s}) : double({d});",
    "float?": "std::optional<double> {n} = opt_float_arg({s}, {d});",
    "bool": "bool {n} = {s} ? bool_arg({s}) : bool({d});",
    "bool?": "std::optional<bool> {n} = opt_bool_arg({s}, {d});",
    "true": "std::true_type {n};",
    "false": "std::false_type {n};",
    "int[]": "Dims {n} = {s} ? ints_arg({s}) : Dims({d});",
    "int[]?": "OptInts {n}({s});",
    **{f"int[{n}]": f"Dims {{n}} = {{s}} && {{s}} != Py_None ? ints_arg({{s}}, {n}) : Dims({{d}});" for n in (1, 2, 3)},
    **{f"int[{n}]?": f"OptInts {{n}}({{s}}, {n});" for n in (1, 2, 3)},
    "dtype": "DType {n} = {s} ? dtype_arg({s}) : {d};",
    "dtype?": "std::optional<DType> {n} = opt_dtype_arg({s}, {d});",
    "str": "std::string {n} = {s} ? str_arg({s}) : std::string({d});",
    "str?": "std::optional<std::string_view> {n} = opt_str_arg({s});",
    "Generator?": "Generator* {n} = generator_arg({s});",
    "device?": "std::optional<Device> {n} = device_arg({s});",
    "memory_format?": "std::optional<MemoryFormat> {n} = memory_format_arg({s});",
    "layout?": "std::optional<Layout> {n} = layout_arg({s});",
}


def default_of(a: Arg) -> str:
    if a.default is None:
        return {"int[]": "", "int[1]": "", "int[2]": "", "int[3]": "", "Scalar": "0", "int": "0", "float": "0", "bool": "false", "dtype": "DType::Float32", "str": '""'}.get(a.type, "std::nullopt")
    if a.type == "str":
        return a.default
    return cpp_default(a.type, a.default)


def convert(e: Entry, a: Arg, i: int) -> str:
    if a.type == "device?" and e.is_factory and not e.tensor_args:  # the device of set_default_device or `with device:`
        return f"std::optional<Device> {a.name} = device_or_default(slot[{i}]);"
    return CONVERT[a.type].format(n=a.name, s=f"slot[{i}]", d=default_of(a))


def long_guard(e: Entry) -> str:
    if e.spec.get("view"):
        return ""  # copies nothing, however large
    tensors = [a.name for a in e.tensor_args]
    return f"LongOp unlocked({', '.join(tensors)});" if tensors else "LongOp unlocked;" if e.name in ("zeros", "ones", "full", "rand", "randn", "arange") else ""


def glue(e: Entry, kind: str) -> tuple[str, str]:
    """The C function of one overload, and its name. kind is plain, inplace, or functional (with an argument `inplace`)."""
    fname = f"{kind}_{e.name}_{e.overload or 'x'}_{e.variant}"
    lines = [f"PyObject* {fname}(PyObject** slot) {{", "  (void)slot;"]
    lines += [f"  {convert(e, a, i)}" for i, a in enumerate(e.args)]
    call = ", ".join(f"{a.name}.get()" if a.is_ints and a.type.endswith("?") else a.name for a in e.args)
    if kind == "inplace":
        lines.append(f"  {{ {long_guard(e)} ops::{e.name}_({call}); }}\n  return new_ref(slot[0]);\n}}")
        return "\n".join(lines), fname
    if kind == "functional":
        n = len(e.args)
        lines.append(f"  if (slot[{n}] && bool_arg(slot[{n}])) {{\n    {{ {long_guard(e)} ops::{e.name}_({call}); }}\n    return new_ref(slot[0]);\n  }}")
    has_out = "out" in e.variants and kind == "plain"
    if e.is_factory:
        lines.append(f"  FactoryArgs factory(slot + {len(e.args) + has_out});")
        place = next((i for i, a in enumerate(e.args) if a.type == "device?"), None)
        if has_out and place is not None:
            at = f"slot[{len(e.args)}]"
            lines.append(f"  if ({at} && {at} != Py_None) device = factory.device_of_out(slot[{place}], tensor_arg({at}));")
        lines.append(f'  if (factory.concerns_sparse(slot[0])) return factory.call_sparse("{e.public}", slot, {len(e.args)});')
    done = "factory.finish(tensor_arg({0}));" if e.is_factory else ""
    if has_out:
        n = len(e.args)
        if len(e.returns) > 1:
            outs = ", ".join(f"outs[{i}]" for i in range(len(e.returns)))
            lines.append(f"  if (slot[{n}] && slot[{n}] != Py_None) {{\n    std::vector<Tensor> outs = out_list_arg(slot[{n}], {len(e.returns)});\n"
                         f"    ops::{e.name}_out({outs}{', ' if call else ''}{call});\n    return wrap_outs<{len(e.returns)}>(slot[{n}], {names_of(e)});\n  }}")
        else:
            dtype = f"dtype = factory.dtype_of_out(dtype, tensor_arg(slot[{n}])); " if e.is_factory and any(a.type == "dtype?" for a in e.args) else ""
            lines.append(f"  if (slot[{n}] && slot[{n}] != Py_None) {{\n    {dtype}ops::{e.name}_out(tensor_arg(slot[{n}]){', ' if call else ''}{call});\n"
                         f"    {done.format(f'slot[{n}]')}\n    return new_ref(slot[{n}]);\n  }}")
    if e.return_type == "void":
        lines.append(f"  {{ {long_guard(e)} ops::{e.name}({call}); }}\n  Py_RETURN_NONE;\n}}")
    elif e.return_type.startswith("("):
        lines.append(f"  auto r = [&] {{ {long_guard(e)} return ops::{e.name}({call}); }}();\n  return wrap_tuple(std::move(r), {names_of(e)});\n}}")
    else:
        finish = "  factory.finish(r);\n" if e.is_factory else ""
        lines.append(f"  auto r = [&] {{ {long_guard(e)} return ops::{e.name}({call}); }}();\n{finish}  return ::undertow::core::python::wrap(std::move(r));\n}}")
    return "\n".join(lines), fname


def names_of(e: Entry) -> str:
    named = e.spec.get("returns")
    return f'return_type("{e.public}", {{{", ".join(chr(34) + n + chr(34) for n in named)}}})' if named else "nullptr"


def text_of(e: Entry, kind: str) -> str:
    parts, star = [], False
    for a in python_args(e, kind):
        if a.kwonly and not star:
            parts.append("*")
            star = True
        parts.append(f"{a.type} {a.name}" + (f"={a.default}" if a.default is not None else ""))
    return f"({', '.join(parts)})"


def binding_source(entries: list[Entry], chunk: str) -> str:
    """All public names of one chunk; names are complete (all overloads of a name are in one chunk)."""
    out = ["// Generated by tools/opgen. Do not edit.", '#include "core/python/arguments/args.h"', '#include "core/python/arguments/convert.h"', '#include "generated/ops.h"', "",
           "namespace undertow::core::python {", "namespace {", ""]
    functions_of, methods_of = functions_and_methods(entries)
    emitted: set[str] = set()
    methods, functions = [], []
    shared = {n for (module, n), list_ in functions_of.items() if not module and methods_of.get(n) == list_}
    for (module, name), list_ in functions_of.items():
        id_ = f"{module.replace('.', '_')}_{name}" if module else name
        out += overload_table(id_, name, list_, emitted)
        out.append(f"PyObject* fn_{id_}(PyObject*, PyObject* const* a, Py_ssize_t n, PyObject* kw) {{ return invoke(function_{id_}, nullptr, a, n, kw); }}")
        functions.append(f'  {{"{module}", fn_{id_}, {c_string(docstring(module, name, list_, False))}, &function_{id_}}}')
    for name, list_ in methods_of.items():
        id_ = name if name in shared else "method_" + name
        if name not in shared:
            out += overload_table(id_, name, list_, emitted)
        out.append(method(id_, list_))
        methods.append(f'  {{"{name}", reinterpret_cast<PyCFunction>(me_{id_}), METH_FASTCALL | METH_KEYWORDS, {c_string(docstring("", name, list_, True, ("", name) in functions_of))}}}')
    out += operator_table(entries, emitted)
    out += ["}  // namespace", f"void collect_bindings_{chunk}(std::vector<PyMethodDef>& methods, std::vector<ModuleFunction>& functions) {{",
            "  static const PyMethodDef m[] = {", ",\n".join(methods + ["  {nullptr, nullptr, 0, nullptr}"]), "  };",
            "  static const ModuleFunction f[] = {", ",\n".join(functions + ['  {"", nullptr, nullptr, nullptr}']), "  };",
            "  for (const PyMethodDef& d : m) if (d.ml_name) methods.push_back(d);",
            "  for (const ModuleFunction& d : f) if (d.call) functions.push_back(d);", "}",
            f"void collect_operators_{chunk}(std::vector<TableOperator>& operators) {{",
            "  for (const TableOperator& o : table) if (o.text) operators.push_back(o);", "}", "", "}  // namespace undertow::core::python", ""]
    return "\n".join(out)


def operator_table(entries: list[Entry], emitted: set[str]) -> list[str]:
    """Every overload that the handler of delegated.h may get, by its key, with the glue to call it. Operators without a Python
    name are all here, so that tests can call them."""
    out, rows = [], []
    for e in entries:
        if e.is_composite and not e.is_batchable and e.python_names:
            continue
        for kind in ["plain"] + ["inplace"] * ("inplace" in e.variants):
            code, fname = glue(e, kind)
            if fname not in emitted:
                emitted.add(fname)
                out.append(code)
            key = e.key + "_" * (kind == "inplace")
            rows.append(f'  {{"{key} {e.rules} {",".join(a.name for a in e.args)}", {fname}}}')
    return [*out, "const TableOperator table[] = {", ",\n".join([*rows, "  {nullptr, nullptr}"]), "};"]


def overload_table(id_: str, name: str, list_: list[tuple[Entry, str]], emitted: set[str]) -> list[str]:
    """The glue of a name's overloads (each once), their arguments, and the Function that chooses among them."""
    out, rows = [], []
    for e, kind in list_:
        code, fname = glue(e, kind)
        if fname not in emitted:
            out.append(code)
            emitted.add(fname)
        method_only = "function" not in e.variants and kind == "plain"
        rows.append(f"  {{{c_string(text_of(e, kind))}, {fname}, {str(method_only).lower()}}}")
    out.append(f"Overload overloads_{id_}[] = {{\n" + ",\n".join(rows) + "\n};")
    out.append(f'Function function_{id_}{{"{name}", overloads_{id_}, {len(rows)}}};')
    return out


def method(name: str, list_: list[tuple[Entry, str]]) -> str:
    """The method. Plain tensors with no arguments, or with only ints, skip parsing if no other overload could be chosen."""
    fast = ""
    reach = -1  # the most positional arguments an earlier overload takes
    for k, (e, kind) in enumerate(list_):
        if kind != "plain" or "method" not in e.variants or not e.args or e.args[0].type != "Tensor":
            break
        rest = e.args[1:]
        glue_name = f"plain_{e.name}_{e.overload or 'x'}_{e.variant}"
        ints = next((i for i, a in enumerate(rest) if a.type != "int" or a.default is not None), len(rest))
        if reach < 0 and all(a.default is not None for a in rest):
            fast += (f"\n  if (n == 0 && !kw && is_plain_tensor(self)) return call_fast(function_{name}, self, "
                     f"[](PyObject* t) {{ PyObject* s[{len(e.args) + 1}] = {{t}}; return {glue_name}(s); }});")
        elif k == 0 and rest[0].is_ints and not rest[0].type.endswith("?") and all(a.kwonly and a.default is not None for a in rest[1:]):
            more = "".join(f", {cpp_default(a.type, a.default)}" for a in rest[1:])
            unlock = "" if e.spec.get("view") else "LongOp unlocked(t); "
            fast += (f"\n  if (n > 0 && !kw && is_plain_tensor(self) && exact_ints(a, n)) return call_with_ints(function_{name}, self, a, n, "
                     f"[](const Tensor& t, IntSpan ints) {{ {unlock}return ops::{e.name}(t, ints{more}); }});")
        elif ints > max(reach, 0) and all(a.default is not None for a in rest[ints:]) and e.return_type == "Tensor":
            slots = ", ".join(["self", *(f"a[{i}]" for i in range(ints)), *["nullptr"] * (len(rest) - ints + 1)])
            fast += (f"\n  if (n == {ints} && !kw && is_plain_tensor(self) && exact_ints(a, n)) {{\n    PyObject* s[] = {{{slots}}};\n"
                     f"    return call_slots(function_{name}, self, a, n, s, {glue_name});\n  }}")
        reach = max(reach, 64 if any(a.is_ints for a in rest) else sum(not a.kwonly for a in rest))
    return (f"PyObject* me_{name}(PyObject* self, PyObject* const* a, Py_ssize_t n, PyObject* kw) {{{fast}\n"
            f"  return invoke(function_{name}, self, a, n, kw);\n}}")


def binding_chunks(entries: list[Entry], count: int) -> dict[str, list[Entry]]:
    """Distributes names over "hot" and `count` more translation units of similar size; deterministic."""
    by_name: dict[str, list[Entry]] = {}
    for e in entries:
        by_name.setdefault(e.public, []).append(e)
    chunks: dict[str, list[Entry]] = {str(i): [] for i in range(count)}
    hot: list[Entry] = []
    for name in sorted(by_name):
        list_ = by_name[name]
        (hot if any(e.spec.get("hot") for e in list_) else min(chunks.values(), key=len)).extend(list_)
    return {"hot": hot, **chunks}


def collector(chunks: Iterable[str]) -> str:
    decl = "\n".join(f"void collect_bindings_{i}(std::vector<PyMethodDef>&, std::vector<ModuleFunction>&);" for i in chunks)
    calls = "\n".join(f"  collect_bindings_{i}(methods, functions);" for i in chunks)
    return ("// Generated by tools/opgen. Do not edit.\n#include \"core/python/arguments/args.h\"\n\nnamespace undertow::core::python {\n" + decl
            + "\nvoid collect_bindings(std::vector<PyMethodDef>& methods, std::vector<ModuleFunction>& functions) {\n" + calls
            + "\n}\n" + "\n".join(f"void collect_operators_{i}(std::vector<TableOperator>&);" for i in chunks)
            + "\nvoid collect_operators(std::vector<TableOperator>& operators) {\n" + "\n".join(f"  collect_operators_{i}(operators);" for i in chunks)
            + "\n}\n}  // namespace undertow::core::python\n")
