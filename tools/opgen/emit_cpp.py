"""The C++ API's operators: methods of undertow::Tensor and functions of namespace undertow, inline calls of core::ops with libtorch's types."""
from __future__ import annotations

import re

from .emit_ops import HEADER
from .schema import Arg, Entry

# The type of a parameter, and what the core gets for it.
TYPES = {
    "Tensor": ("const Tensor&", "detail::checked({})"),
    "Tensor?": ("const optional<Tensor>&", "detail::or_undefined({})"),
    "Tensor[]": ("TensorList", "detail::checked_list({})"),
    "Tensor?[]": ("TensorList", "detail::span_of({})"),  # an undefined tensor is None
    "Scalar": ("const Scalar&", "{}"),
    "Scalar?": ("const optional<Scalar>&", "{}"),
    "int": ("int64_t", "{}"),
    "int?": ("optional<int64_t>", "{}"),
    "float": ("double", "{}"),
    "float?": ("optional<double>", "{}"),
    "bool": ("bool", "{}"),
    "bool?": ("optional<bool>", "{}"),
    "dtype": ("ScalarType", "{}"),
    "dtype?": ("optional<ScalarType>", "{}"),
    "str": ("std::string_view", "{}"),
    "str?": ("optional<std::string_view>", "{}"),
    "Generator?": ("const optional<Generator>&", "detail::pointer({})"),
    "device?": ("optional<Device>", "{}"),
    "memory_format?": ("optional<MemoryFormat>", "{}"),
    "layout?": ("optional<Layout>", "{}"),
}
Required = dict[tuple[str, str], int]
# Names of Python methods that C++ reserves.
RESERVED = {"bool", "char", "short", "int", "long", "float", "double"}


def typed(a: Arg) -> tuple[str, str]:
    if a.is_ints:
        return ("OptionalIntArrayRef" if a.type.endswith("?") else "IntArrayRef"), "{}"
    return TYPES[a.type]


def default(a: Arg) -> str:
    value = a.default
    assert value is not None
    if value == "None":
        return "{}" if a.type == "Tensor?" else "nullopt"
    if value in ("True", "False"):
        return value.lower()
    if a.is_ints:
        numbers = value.strip("[]")
        return numbers if numbers and "," not in numbers else "{" + numbers + "}"
    if a.type.startswith("dtype"):
        return f"core::DType::{value}"
    return "std::numeric_limits<double>::infinity()" if value == "inf" else value


def parameters(args: list[Arg], defaults: bool = True, required: int = 0) -> list[str]:
    """The parameters with their default values; the first `required` have none."""
    return [f"{typed(a)[0]} {a.name}" + (f" = {default(a)}" if defaults and i >= required and a.default is not None else "") for i, a in enumerate(args)]


def forms(e: Entry) -> list[str]:
    """The forms in which an operator that is no creation function is declared: keys of `required`, below."""
    found = [form for form in ("method", "inplace", "inplace_function", "out") if form in e.variants]
    return found + (["function"] if is_function(e) else [])


def is_function(e: Entry) -> bool:
    return "function" in e.variants or (e.spec.get("python") == "none" and "method" not in e.variants)


def required_counts(entries: list[Entry]) -> Required:
    """How many parameters have no default value, by form and overload, where more would make a call with few arguments fit two overloads.

    conv2d(x, w) fits the overload with numbers as padding, and the one with a word, if both have defaults; the first of the tables keeps them.
    """
    counts: Required = {}
    groups: dict[tuple[str, str], list[Entry]] = {}
    for e in entries:
        for form in [] if e.is_factory else forms(e):
            groups.setdefault((form, own_name(e)), []).append(e)
    for (form, _), group in groups.items():
        for n, second in enumerate(group):
            for first in group[:n]:
                a, b = shown(first), shown(second)
                same = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if typed(x)[0] != typed(y)[0]), min(len(a), len(b)))
                least = [max(sum(x.default is None for x in args), counts.get((form, e.key), 0)) for args, e in ((a, first), (b, second))]
                if max(least) > same:
                    continue
                loses = second if least[0] <= least[1] and len(b) > same else first
                counts[form, loses.key] = same + 1
    return counts


def passed(a: Arg, value: str = "") -> str:
    if a.type in ("true", "false"):
        return f"std::{a.type}_type()"
    if value == "*this":
        return "checked()"
    return typed(a)[1].format(value or a.name)


def result(e: Entry) -> tuple[str, str]:
    """The type of the result, and how the core's result becomes it."""
    if e.return_type == "Tensor[]":
        return "variable_list", "detail::wrap_list({})"
    return e.cpp_return, "{}"


def own_name(e: Entry) -> str:
    """libtorch's name: special_i0e, and nonzero_numpy where only a flag tells two overloads apart."""
    name = f"{e.name}_{e.overload}" if any(a.type == "true" for a in e.args) else e.name
    return f"special_{name}" if e.spec.get("module") == "special" else name


def function_names(e: Entry) -> list[str]:
    """The operator's name and its aliases; those of nn.functional are declared there by hand."""
    names = [own_name(e)]
    if e.spec.get("python") == "none":
        return names
    for alias in e.spec.get("aliases", []):
        module, _, name = alias.rpartition(".")
        if module in ("", "special"):
            names.append(f"{module}_{name}" if module else name)
    return [n for n in dict.fromkeys(names) if n not in RESERVED and not n.startswith("__")]


def method_names(e: Entry) -> list[str]:
    """The same of methods. An entry that is only a method has its public name (where_of is x.where)."""
    if e.spec.get("cpp") == "written":
        return []
    if e.name.startswith("__"):
        return [e.name]
    names = [own_name(e) if "function" in e.variants or e.spec.get("python") else e.public]
    names += [a for a in e.spec.get("aliases", []) if "." not in a]
    return [n for n in dict.fromkeys(names) if n not in RESERVED and not n.startswith("__")]


def call(e: Entry, self_is_this: bool, suffix: str = "") -> str:
    args = [passed(a, "*this" if self_is_this and i == 0 else "") for i, a in enumerate(e.args)]
    return f"ops::{e.name}{suffix}({', '.join(args)})"


def shown(e: Entry) -> list[Arg]:
    """The parameters: all arguments but flags with one value."""
    return [a for a in e.args if a.type not in ("true", "false")]


def factory(e: Entry, name: str, method: bool) -> list[str]:
    """A creation function takes TensorOptions; one that draws random numbers has a form with a generator, one with default values a form without them."""
    whole = [a for a in shown(e)[method:] if a.name not in ("dtype", "device", "memory_format", "generator")]
    has = {a.name for a in e.args}
    versions = [(whole, False)] + ([(whole, True)] if "generator" in has else [])
    if not method and any(a.default is not None for a in whole):  # arange(start, end, options): the step is left out
        versions.append(([a for a in whole if a.default is None], False))
    out = []
    for own, generator in versions:
        params = parameters(own, defaults=not generator)
        if generator:
            params.append("const optional<Generator>& generator")
        params.append("const TensorOptions& options" + (" = {}" if own is whole else ""))
        if "memory_format" in has:
            params.append("optional<MemoryFormat> memory_format = nullopt")
        values = {"dtype": "options.dtype_opt()", "device": "options.device_opt()",
                  "memory_format": "memory_format ? memory_format : options.memory_format_opt()",
                  "generator": "detail::pointer(generator)" if generator else "nullptr"}
        values |= {a.name: passed(a, default(a)) for a in whole if a not in own}
        args = [values.get(a.name) or passed(a, "*this" if method and i == 0 else "") for i, a in enumerate(e.args)]
        head = f"Tensor {name}({', '.join(params)})" + (" const" if method else "")
        out.append(f"{'' if method else 'inline '}{head} {{ return detail::made(ops::{e.name}({', '.join(args)}), options); }}")
    return out


def methods_of(e: Entry, required: Required | None = None) -> list[str]:
    out = []
    kind, wrap = result(e)

    def rest(form: str) -> str:
        return ", ".join(parameters(shown(e)[1:], required=(required or {}).get((form, e.key), 0) - 1))

    for name in method_names(e):
        if "method" in e.variants and e.args[0].type == "Tensor":
            if e.is_factory:
                out += factory(e, name, True)
            elif e.name.endswith("_"):
                out.append(f"const Tensor& {name}({rest('method')}) const {{ {call(e, True)}; return *this; }}")
            else:
                out.append(f"{kind} {name}({rest('method')}) const {{ return {wrap.format(call(e, True))}; }}")
        if "inplace" in e.variants:
            body = f"{call(e, True, '_')}; return const_cast<Tensor&>(*this);"
            out.append(f"Tensor& {name}_({rest('inplace')}) const {{ {body} }}")
    return out


def functions_of(e: Entry, required: Required | None = None) -> list[str]:
    out = []
    kind, wrap = result(e)

    def params(form: str) -> list[str]:
        return parameters(shown(e), required=(required or {}).get((form, e.key), 0))

    for name in function_names(e):
        if is_function(e):
            whole = f"inline {kind} {name}({', '.join(params('function'))}) {{ return {wrap.format(call(e, False))}; }}"
            out += factory(e, name, False) if e.is_factory else [whole]
        if "inplace_function" in e.variants:
            first, *others = params("inplace_function")
            written = ", ".join([first.removeprefix("const "), *others])
            out.append(f"inline Tensor& {name}_({written}) {{ {call(e, False, '_')}; return {e.args[0].name}; }}")
        if "out" in e.variants:
            out.append(out_function(e, name, (required or {}).get(("out", e.key), 0)))
    return out


def out_function(e: Entry, name: str, required: int) -> str:
    """add_out(out, self, other): the results first. The options of a creation function are those of out."""
    outs = ["out"] if len(e.returns) < 2 else [f"out{i}" for i in range(len(e.returns))]
    hidden = ("dtype", "device", "memory_format") if e.is_factory else ()
    params = [f"Tensor& {o}" for o in outs] + parameters([a for a in shown(e) if a.name not in hidden], required=required)
    args = outs + ["nullopt" if a.name in hidden else passed(a) for a in e.args]
    kind, value = ("Tensor&", "out") if len(outs) == 1 else (f"std::tuple<{', '.join(['Tensor&'] * len(outs))}>", f"{{{', '.join(outs)}}}")
    return f"inline {kind} {name}_out({', '.join(params)}) {{ ops::{e.name}_out({', '.join(args)}); return {value}; }}"


def methods(entries: list[Entry]) -> str:
    required = required_counts(entries)
    lines = [line for e in entries for line in methods_of(e, required)]
    return "// Generated by tools/opgen from ops/*.toml. Do not edit. Included in the body of class Tensor.\n" + "\n".join(dict.fromkeys(lines)) + "\n"


def functions(entries: list[Entry]) -> str:
    required = required_counts(entries)
    lines = [line for e in entries for line in functions_of(e, required)]
    return (HEADER.format(family="*") + "#pragma once\n#include <limits>\n\n#include <undertow/tensor.h>\n\nnamespace undertow {\n\n"
            + "\n".join(dict.fromkeys(lines)) + "\n\n}  // namespace undertow\n")


ABI = 1  # of programs and the library: a change that breaks programs compiled before increments it


def version(text: str) -> str:
    """The header version.h, from the text of undertow/version.py. The name of the symbol that it refers to contains the ABI."""
    full = re.search(r'^__version__ = "([^"]+)"', text, re.M)
    assert full
    major, minor, patch = re.findall(r"\d+", full[1])[:3]
    return f"""// Generated by tools/opgen from undertow/version.py. Do not edit.
// version.h: the version of the headers. A program that was compiled for another ABI than the library's fails to link or
// to load, because the symbol undertow_abi_version_{ABI} is missing.
#pragma once

#define UNDERTOW_VERSION_MAJOR {major}
#define UNDERTOW_VERSION_MINOR {minor}
#define UNDERTOW_VERSION_PATCH {patch}
#define UNDERTOW_VERSION "{full[1]}"
#define UNDERTOW_ABI_VERSION {ABI}

extern "C" const int undertow_abi_version_{ABI};

namespace undertow {{
namespace detail {{
[[gnu::used]] inline const int* const abi_of_headers = &undertow_abi_version_{ABI};
}}
const char* version();  // of the library
}}  // namespace undertow
"""
