"""The tables as objects: signatures, arguments, entries, and the checks that reject a bad entry before any C++ is generated."""
from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

KEYS = {
    "sig", "doc", "scalar", "dtypes", "promote", "composite", "grad", "jvp", "variants", "view", "aliases", "node", "nondiff",
    "module", "returns", "reference", "samples", "lazy_conj", "may_return_self", "materialize", "python", "inplace_forward", "inplace_node", "factory",
    "public",  # the Python name, where C++ needs another one
    "python_default",  # python_default.dim: the default in Python of an argument that C++ needs to tell its overloads apart
    "inplace_argument",  # nn.functional names take `inplace=False`
    "inplace_composite",  # a composite's in-place form as an expression of in-place operators
    "shown",  # arguments and facts that the node saves although no formula needs them: programs that walk graphs read them
    "array",  # function (const T* of each operand, T* out, size_t n) that computes whole runs of float, double, int32_t or int64_t
    "half",  # "direct": bfloat16 and float16 have their own loops, see core/kernels/cpu/half/half_direct.h
    "check",  # expression evaluated before a pointwise forward; raises for bad arguments
    "bool_error",  # the error message for bool operands that have no loop
    "strict_out",  # out= must have exactly the result dtype; a string is the error message, in which {result} and {out} are the two dtypes
    "out_result",  # an expression of operators for what is written to `out`, where it depends on out's dtype
    "fills_out",  # a result of one dimension fills an out= of as many elements and any shape
    "separate_out",  # out= must not share memory with an argument
    "layout",  # the operand of a pointwise entry whose strides the result follows first; without it, the first one
    "operands",  # Scalars that promote as operands, although they cannot be tensors
    "constants",  # floating tensors without a derivative: an error if they require one
    "devices",  # "any": its tensors may be on different devices (copies, indices)
    "hot",  # called often on small tensors: compiled for speed; all others are compiled for size
    "example",  # lines of a Python session, `>>> ut.relu(...)` and what it prints; part of the docstring, run by tests/typed/test_help.py
    "choices",  # choices.mode: the strings that an argument `mode` takes, where they are a closed set; for the type stubs
    "tested_by",  # in place of samples: the entry whose property tests call this one
    "batch",  # the rule of undertow/_vmap that computes it on batched tensors; see Entry.batch
    "storage",  # the groups of storage dtypes a pointwise entry computes with: "unsigned", "complex32", "float8"
    "whole_grad",  # all gradients as one operator of torch's, for a __torch_dispatch__; see Note [Dispatched Tensors]
    "cpp",  # "written": the C++ API declares the method by hand, in core/api/undertow/tensor.h
    "sparse",  # the rule of undertow/sparse that computes it on sparse tensors
}
# How an argument type reads in C++ (parameter) and in Python stubs.
TYPES = {
    "Tensor": ("const Tensor&", "Tensor"),
    "Tensor?": ("const Tensor&", "Tensor | None"),
    "Tensor[]": ("TensorSpan", "Sequence[Tensor]"),
    "Tensor?[]": ("TensorSpan", "Sequence[Tensor | None]"),
    "Scalar": ("const Scalar&", "Number"),
    "Scalar?": ("const std::optional<Scalar>&", "Number | None"),
    "int": ("int64_t", "int"),
    "int?": ("std::optional<int64_t>", "int | None"),
    "float": ("double", "float"),
    "float?": ("std::optional<double>", "float | None"),
    "bool": ("bool", "bool"),
    "bool?": ("std::optional<bool>", "bool | None"),
    "true": ("std::true_type", "Literal[True]"),  # a flag that selects the overload, for example if it changes the type of the result
    "false": ("std::false_type", "Literal[False]"),
    "int[]": ("IntSpan", "Sequence[int]"),
    "int[]?": ("std::optional<IntSpan>", "Sequence[int] | None"),
    # A list of a known length may be given as one int, the value of all its elements; any other list may not.
    **{f"int[{n}]": ("IntSpan", "int | Sequence[int]") for n in (1, 2, 3)},
    **{f"int[{n}]?": ("std::optional<IntSpan>", "int | Sequence[int] | None") for n in (1, 2, 3)},
    "dtype": ("DType", "dtype"),
    "dtype?": ("std::optional<DType>", "dtype | None"),
    "str": ("std::string_view", "str"),
    "str?": ("std::optional<std::string_view>", "str | None"),
    "Generator?": ("Generator*", "Generator | None"),
    "device?": ("std::optional<Device>", "device | str | None"),
    "memory_format?": ("std::optional<MemoryFormat>", "memory_format | None"),
    "layout?": ("std::optional<Layout>", "layout | None"),
}
# How a saved argument is kept in a node.
SAVED = {
    "Scalar": "Scalar", "Scalar?": "std::optional<Scalar>", "int": "int64_t", "int?": "std::optional<int64_t>", "float": "double",
    "float?": "std::optional<double>", "bool": "bool", "bool?": "std::optional<bool>", "int[]": "Dims", "int[]?": "std::optional<Dims>",
    **{f"int[{n}]": "Dims" for n in (1, 2, 3)}, **{f"int[{n}]?": "std::optional<Dims>" for n in (1, 2, 3)},
    "dtype": "DType", "dtype?": "std::optional<DType>", "str": "std::string", "str?": "std::optional<std::string>",
}


class TableError(Exception):
    """A bad entry; the message names file, entry and reason."""


@dataclass
class Arg:
    type: str
    name: str
    default: str | None = None
    kwonly: bool = False

    @property
    def is_tensor(self) -> bool:
        return self.type in ("Tensor", "Tensor?")

    @property
    def is_list(self) -> bool:
        return self.type in ("Tensor[]", "Tensor?[]")

    @property
    def is_ints(self) -> bool:
        """A list of ints, of any or of a known length."""
        return self.type.startswith("int[")

    @property
    def cpp(self) -> str:
        return TYPES[self.type][0]


@dataclass
class Entry:
    """One overload of one operator, with `Tensor|Scalar` arguments already resolved."""

    name: str  # the operator: mul
    overload: str  # '' or 'dim'
    args: list[Arg]
    returns: list[str]  # names of the returned tensors, or [] for a list of tensors
    return_type: str  # Tensor, (Tensor, Tensor), Tensor[], int, bool, Scalar
    spec: dict
    family: str
    line: int
    file: str = ""
    variant: int = 0  # which resolution of Tensor|Scalar this is
    grad: dict[str, str] = field(default_factory=dict)

    @property
    def doc(self) -> str:
        return self.spec.get("doc", "")

    @property
    def node(self) -> str:
        """The node's public name; {arg} in it is replaced by a str argument that the node saves."""
        base = self.spec.get("node") or camel(self.name) + "Backward0"
        return base if isinstance(base, str) else base[self.variant]  # a list names one per Tensor|Scalar choice

    @property
    def node_class(self) -> str:
        """Unique C++ name: overloads that share a node's public name have separate classes."""
        suffix = f"_{self.overload}" if self.overload else ""
        node = re.sub(r"\{\w+\}", "", self.node)
        node = node if node.startswith(camel(self.name)) else f"{node}_{self.name}"
        return node + suffix + (f"_v{self.variant}" if self.variant else "")

    @property
    def inplace_node_class(self) -> str:
        """The class of the in-place variant's node, where torch names it differently."""
        return self.node_class + ("_inplace" if "inplace_node" in self.spec else "")

    @property
    def variants(self) -> set[str]:
        default = "function, method" if self.args and self.args[0].name == "self" else "function"
        return {v.strip() for v in self.spec.get("variants", default).split(",") if v.strip()}

    @property
    def public(self) -> str:
        """The name in Python."""
        return self.spec.get("public", self.name)

    @property
    def python_names(self) -> list[tuple[str, str]]:
        """(module, name) of the operator and its aliases; an alias may name its module: "special.expit".

        python = "none" hides all of them, "aliases" the operator's own name (a C++ keyword, say)."""
        mode = self.spec.get("python")
        if mode == "none":
            return []
        out = [] if mode == "aliases" else [(self.spec.get("module", ""), self.public)]
        for alias in self.spec.get("aliases", []):
            module, _, name = alias.rpartition(".")
            out.append((module, name))
        return out

    @property
    def is_pointwise(self) -> bool:
        return "scalar" in self.spec

    @property
    def is_factory(self) -> bool:
        """Creates a tensor: takes torch's device, layout, pin_memory and requires_grad keywords in Python."""
        return bool(self.spec.get("factory"))

    @property
    def is_composite(self) -> bool:
        return "composite" in self.spec

    @property
    def key(self) -> str:
        """The name of this one overload, as rules of vmap are found by: add, add#1, max.dim. The in-place form adds `_`."""
        return self.name + (f".{self.overload}" if self.overload else "") + (f"#{self.variant}" if self.variant else "")

    @property
    def batch(self) -> str:
        """The rule for batched tensors. Pointwise entries always have one, composites consist of operators that have one;
        "" is neither: such an operator runs once per sample, in a loop."""
        return self.spec.get("batch") or ("pointwise" if self.is_pointwise else "composite" if self.is_composite else "")

    @property
    def rules(self) -> str:
        """The rules for batched and for sparse tensors, as the operator table of the bindings has them: "pointwise/unary"."""
        sparse = self.spec.get("sparse")
        return f"{self.batch}/{sparse}" if sparse else self.batch

    @property
    def is_batchable(self) -> bool:
        """Whether the recorder checks for batched arguments."""
        return self.batch == "random" or (bool(self.tensor_args) and self.batch != "composite")

    @property
    def tensor_args(self) -> list[Arg]:
        return [a for a in self.args if a.is_tensor or a.is_list]

    @property
    def diff_args(self) -> list[Arg]:
        return [a for a in self.args if a.name in self.grad]

    @property
    def grad_groups(self) -> list[list[int]]:
        """Positions in diff_args of the arguments whose gradients one formula computes: grad."input, weight" is one of two."""
        place = {a.name: i for i, a in enumerate(self.diff_args)}
        found = [[place[name] for name in names_in(k) if name in place] for k in self.spec.get("grad", {})]
        return sorted(group for group in found if group)

    @property
    def cpp_return(self) -> str:
        return cpp_return(self.return_type)

    @property
    def where(self) -> str:
        return f"{self.file}: [{self.name}{'.' + self.overload if self.overload else ''}]"

    def fail(self, why: str) -> None:
        raise TableError(f"{self.where}: {why}")


def camel(name: str) -> str:
    return "".join(p[:1].upper() + p[1:] for p in name.strip("_").split("_"))


def names_in(key: str) -> list[str]:
    """The arguments a key of `grad` is about."""
    return [name.strip() for name in key.split(",")]


def cpp_return(t: str) -> str:
    if t.startswith("("):
        return "std::tuple<" + ", ".join(cpp_return(p.strip()) for p in t[1:-1].split(",")) + ">"
    return {"Tensor": "Tensor", "Tensor[]": "std::vector<Tensor>", "int": "int64_t", "bool": "bool", "Scalar": "Scalar", "float": "double",
            "dtype": "DType", "void": "void"}[t]


def split_top(text: str) -> list[str]:
    """Splits at commas outside brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += c in "([{"
        depth -= c in ")]}"
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [p.strip() for p in parts if p.strip()]


def parse_signature(sig: str, where: str) -> tuple[str, list[tuple[list[str], str, str | None, bool]], str]:
    m = re.fullmatch(r"(\w+)\((.*)\)\s*->\s*(.+)", sig.strip(), re.S)
    if not m:
        raise TableError(f"{where}: cannot parse the signature: {sig}")
    args, kwonly = [], False
    for part in split_top(m[2]):
        if part == "*":
            kwonly = True
            continue
        a = re.fullmatch(r"(\S+)\s+(\w+)(?:\s*=\s*(.+))?", part)
        if not a:
            raise TableError(f"{where}: cannot parse the argument: {part}")
        types = a[1].split("|")
        for t in types:
            if t not in TYPES:
                raise TableError(f"{where}: unknown type {t} of argument {a[2]}; known are {', '.join(TYPES)}")
        args.append((types, a[2], a[3], kwonly))
    return m[1], args, m[3].strip()


def resolve(name: str, overload: str, spec: dict, family: str, file: str, line: int) -> list[Entry]:
    """One table entry becomes one Entry per choice of its Tensor|Scalar arguments (at least one a tensor)."""
    where = f"{file}: [{name}]"
    unknown = set(spec) - KEYS - {k for k in spec if k.startswith(("scalar_",))}
    if unknown:
        raise TableError(f"{where}: unknown keys {sorted(unknown)}; known are {sorted(KEYS)}")
    if "sig" not in spec:
        raise TableError(f"{where}: has no sig")
    fname, raw, ret = parse_signature(spec["sig"], where)
    if fname != name:
        raise TableError(f"{where}: the signature has another name: {fname}")
    choices: list[list[Arg]] = [[]]
    for types, arg, default, kwonly in raw:
        choices = [c + [Arg(t, arg, default, kwonly)] for c in choices for t in types]
    out = []
    for args in choices:
        if any("|" in "".join(t) or len(t) > 1 for t, *_ in raw) and not any(a.is_tensor or a.is_list for a in args):
            continue
        names = spec.get("returns")
        if ret.startswith("("):
            n = len(split_top(ret[1:-1]))
            returns = names or [f"result{i}" for i in range(n)]
        else:
            returns = ["result"] if ret == "Tensor" else []
        tensors = {a.name for a in args if a.is_tensor or a.is_list}
        grads = {name: v for k, v in spec.get("grad", {}).items() for name in names_in(k) if name in tensors}
        out.append(Entry(name, overload, args, returns, ret, spec, family, line, file, len(out), grads))
    if spec.get("half", "direct") != "direct" or ("half" in spec and "scalar" not in spec):
        raise TableError(f"{where}: half must be \"direct\" and is only for pointwise entries")
    if "storage" in spec and ("scalar" not in spec or set(spec["storage"].split()) - {"unsigned", "complex32", "float8"}):
        raise TableError(f"{where}: storage is for pointwise entries and lists some of unsigned, complex32, float8")
    for key in ("operands", "constants", "layout"):
        for k in [spec[key]] if key == "layout" and key in spec else spec.get(key, []):
            if k not in {a[1] for a in raw}:
                raise TableError(f"{where}: {key}: there is no argument {k}")
    for k, closed in spec.get("choices", {}).items():
        if not any(arg == k and any(t.startswith("str") for t in types) for types, arg, _, _ in raw) or not closed:
            raise TableError(f"{where}: choices.{k}: there is no such str argument, or the list is empty")
    for k in (name for key in spec.get("grad", {}) for name in names_in(key)):
        if k not in {a[1] for a in raw}:
            raise TableError(f"{where}: grad.{k}: there is no such argument")
    return out


def load(folder: Path) -> list[Entry]:
    entries = []
    for path in sorted(folder.glob("*.toml")):
        text = path.read_text()
        lines = {m[1]: text[: m.start()].count("\n") + 1 for m in re.finditer(r"^\[([\w.\"]+)\]", text, re.M)}
        try:
            table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as e:
            raise TableError(f"{path.name}: {e}") from e
        for name, spec in table.items():
            if "sig" in spec:
                entries += resolve(name, "", {k: v for k, v in spec.items() if not (isinstance(v, dict) and "sig" in v)}, path.stem,
                                   path.name, lines.get(name, 1))
            for over, sub in spec.items():
                if isinstance(sub, dict) and "sig" in sub:
                    entries += resolve(name, over, sub, path.stem, path.name, lines.get(f"{name}.{over}", 1))
    return entries
