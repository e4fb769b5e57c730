"""The C++ API's operators: methods of undertow::Tensor and functions of namespace undertow, inline calls of core::ops with libtorch's types."""
from __future__ import annotations

import re

from .emit_ops import HEADER
from .schema import Arg, Entry

# The type of a parameter, and what the core gets for it.
TYPES = {
    "Tensor": ("const Tensor&", "{}"),
    "Tensor?": ("const optional<Tensor>&", "detail::or_undefined({})"),
    "Tensor[]": ("TensorList", "detail::span_of({})"),
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


def parameters(args: list[Arg], defaults: bool = True) -> list[str]:
    return [f"{typed(a)[0]} {a.name}" + (f" = {default(a)}" if defaults and a.default is not None else "") for a in args]


def passed(a: Arg, value: str = "") -> str:
    if a.type in ("true", "false"):
        return f"std::{a.type}_type()"
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
    return f"core::ops::{e.name}{suffix}({', '.join(args)})"


def shown(e: Entry) -> list[Arg]:
    """The parameters: all arguments but flags with one value."""
    return [a for a in e.args if a.type not in ("true", "false")]


def factory(e: Entry, name: str, method: bool) -> list[str]:
    """A creation function takes TensorOptions; one that draws random numbers has a second form with a generator."""
    own = [a for a in shown(e)[method:] if a.name not in ("dtype", "device", "memory_format", "generator")]
    has = {a.name for a in e.args}
    out = []
    for generator in ([False, True] if "generator" in has else [False]):
        params = parameters(own, defaults=not generator)
        if generator:
            params.append("const optional<Generator>& generator")
        params.append("const TensorOptions& options = {}")
        if "memory_format" in has:
            params.append("optional<MemoryFormat> memory_format = nullopt")
        values = {"dtype": "options.dtype_opt()", "device": "options.device_opt()",
                  "memory_format": "memory_format ? memory_format : options.memory_format_opt()",
                  "generator": "detail::pointer(generator)" if generator else "nullptr"}
        args = [values.get(a.name) or passed(a, "*this" if method and i == 0 else "") for i, a in enumerate(e.args)]
        head = f"Tensor {name}({', '.join(params)})" + (" const" if method else "")
        out.append(f"{'' if method else 'inline '}{head} {{ return detail::made(core::ops::{e.name}({', '.join(args)}), options); }}")
    return out


def methods_of(e: Entry) -> list[str]:
    out = []
    rest = parameters(shown(e)[1:])
    kind, wrap = result(e)
    for name in method_names(e):
        if "method" in e.variants and e.args[0].type == "Tensor":
            if e.is_factory:
                out += factory(e, name, True)
            elif e.name.endswith("_"):
                out.append(f"const Tensor& {name}({', '.join(rest)}) const {{ {call(e, True)}; return *this; }}")
            else:
                out.append(f"{kind} {name}({', '.join(rest)}) const {{ return {wrap.format(call(e, True))}; }}")
        if "inplace" in e.variants:
            body = f"{call(e, True, '_')}; return const_cast<Tensor&>(*this);"
            out.append(f"Tensor& {name}_({', '.join(rest)}) const {{ {body} }}")
    return out


def functions_of(e: Entry) -> list[str]:
    out = []
    params = parameters(shown(e))
    kind, wrap = result(e)
    for name in function_names(e):
        if "function" in e.variants or (e.spec.get("python") == "none" and "method" not in e.variants):
            out += factory(e, name, False) if e.is_factory else [f"inline {kind} {name}({', '.join(params)}) {{ return {wrap.format(call(e, False))}; }}"]
        if "inplace_function" in e.variants:
            first = params[0].removeprefix("const ")
            out.append(f"inline Tensor& {name}_({', '.join([first, *params[1:]])}) {{ {call(e, False, '_')}; return {e.args[0].name}; }}")
        if "out" in e.variants:
            out.append(out_function(e, name))
    return out


def out_function(e: Entry, name: str) -> str:
    """add_out(out, self, other): the results first. The options of a creation function are those of out."""
    outs = ["out"] if len(e.returns) < 2 else [f"out{i}" for i in range(len(e.returns))]
    hidden = ("dtype", "device", "memory_format") if e.is_factory else ()
    params = [f"Tensor& {o}" for o in outs] + parameters([a for a in shown(e) if a.name not in hidden])
    args = outs + ["nullopt" if a.name in hidden else passed(a) for a in e.args]
    kind, value = ("Tensor&", "out") if len(outs) == 1 else (f"std::tuple<{', '.join(['Tensor&'] * len(outs))}>", f"{{{', '.join(outs)}}}")
    return f"inline {kind} {name}_out({', '.join(params)}) {{ core::ops::{e.name}_out({', '.join(args)}); return {value}; }}"


def methods(entries: list[Entry]) -> str:
    lines = [line for e in entries for line in methods_of(e)]
    return "// Generated by tools/opgen from ops/*.toml. Do not edit. Included in the body of class Tensor.\n" + "\n".join(dict.fromkeys(lines)) + "\n"


def functions(entries: list[Entry]) -> str:
    lines = [line for e in entries for line in functions_of(e)]
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
