"""The API reference: one page per public module and per family of operators, with an entry for every public name."""
from __future__ import annotations

import functools
import inspect
import textwrap
import types
import warnings
from pathlib import Path
from typing import Any

import undertow

from . import docstrings, names
from .signatures import Tables, entry_doc, entry_facts, entry_signatures, from_object

FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, functools.partial)
METHODS = (types.FunctionType, types.MethodDescriptorType, types.BuiltinFunctionType, classmethod, staticmethod)


def doc_of(value: Any) -> tuple[list[str], str]:
    """Signatures and text of an object's docstring; none for values, whose docstring is their type's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = inspect.getdoc(value) or ""
    return docstrings.split_signatures(text)


def directive(kind: str, signatures: list[str], body: list[str], options: tuple[str, ...] = ()) -> list[str]:
    head = f".. py:{kind}:: "
    lines = [head + signatures[0], *(" " * len(head) + s for s in signatures[1:])]
    return [*lines, *(f"   {o}" for o in options), "", *("   " + line if line else "" for line in body), ""]


def title(text: str, underline: str = "=") -> list[str]:
    return [text, underline * len(text), ""]


class Reference:
    """Writes entries and remembers where each object was described first."""

    def __init__(self) -> None:
        self.tables = Tables()
        self.described: dict[int, str] = {}
        self.kept: list[Any] = []  # ids stay valid while the objects live

    def known(self, value: Any) -> str | None:
        return self.described.get(id(value))

    def remember(self, value: Any, path: str) -> None:
        self.described[id(value)] = path
        self.kept.append(value)

    def function(self, path: str, value: Any) -> list[str]:
        entries = self.tables.functions.get(path, [])
        signatures, text = doc_of(value)
        found = from_object(value, path)
        if not signatures:
            generic = found.endswith("(...)") or "(*args, **kwargs)" in found
            signatures = entry_signatures(path, entries, False) if entries and generic else [found]
        else:
            signatures = [path + s[s.index("("):] for s in signatures]
        return directive("function", signatures, self.body(path, text, entries))

    def body(self, path: str, text: str, entries: list[Any]) -> list[str]:
        name = path.rpartition(".")[2]
        if entries and name != entries[0].public:  # another name of an operator that has its own entry
            main = ".".join(p for p in ("undertow", entries[0].spec.get("module", ""), entries[0].public) if p)
            kind = "In-place form" if name.endswith("_") else "Another name"
            if main in self.tables.functions and main != path:
                return [f"{kind} of :py:func:`{main}`.", ""]
        body = docstrings.as_rst(text or entry_doc(entries))
        facts = entry_facts(entries) if entries else []
        return body + [f":{field}: {content}" for field, content in facts]

    def data(self, path: str, value: Any) -> list[str]:
        shown = f"undertow.{value}" if isinstance(value, undertow.dtype) and not str(value).startswith("undertow") else repr(value)
        options = (f":value: {shown}",) if len(shown) < 60 and "0x" not in shown else ()
        return directive("data", [path], [], options)

    def members(self, cls: type) -> list[str]:
        """What a class itself defines."""
        out: list[str] = []
        for name, value in sorted(vars(cls).items()):
            if name.startswith("_"):
                continue
            if isinstance(value, METHODS):
                target = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
                options = (":classmethod:",) if isinstance(value, classmethod) else (":staticmethod:",) if isinstance(value, staticmethod) else ()
                signatures, text = doc_of(target)
                found = from_object(target, name)
                if not isinstance(value, staticmethod):
                    found = found.replace("(self, ", "(", 1).replace("(self)", "()", 1).replace("(cls, ", "(", 1).replace("(cls)", "()", 1)
                signatures = [name + s[s.index("("):] for s in signatures] or [found]
                out += directive("method", signatures, docstrings.as_rst(text), options)
            elif isinstance(value, (property, functools.cached_property, types.GetSetDescriptorType, types.MemberDescriptorType)):
                out += directive("attribute", [name], docstrings.as_rst(doc_of(value)[1]))
        return out

    def cls(self, path: str, value: type) -> list[str]:
        signatures, text = doc_of(value)
        base_docs = {inspect.getdoc(base) for base in value.__mro__[1:]}
        if inspect.getdoc(value) in base_docs:
            text = ""
        bases = [self.known(b) for b in value.__bases__]
        body = [f"Bases: {', '.join(f':py:class:`{b}`' for b in bases)}", ""] if bases and all(bases) else []
        body += docstrings.as_rst(text)
        if value is not undertow.Tensor:
            body += self.members(value)
        kind = "exception" if issubclass(value, BaseException) else "class"
        return directive(kind, [from_object(value, path)], body)

    def entry(self, path: str, value: Any) -> list[str]:
        if inspect.isclass(value):
            return self.cls(path, value)
        if isinstance(value, FUNCTIONS) or callable(value) and not isinstance(value, (undertow.Tensor, undertow.dtype)):
            return self.function(path, value)
        return self.data(path, value)

    def tensor(self) -> list[str]:
        """The page of Tensor: attributes, then methods."""
        about = doc_of(undertow.Tensor)[1] or "An array with a dtype, a device and, if it requires grad, a history."
        out = title("undertow.Tensor") + directive("class", ["undertow.Tensor"], docstrings.as_rst(about))
        out += title("Attributes", "-")
        attributes: list[str] = []
        methods: list[str] = []
        for name in dir(undertow.Tensor):
            if name.startswith("_"):
                continue
            value = inspect.getattr_static(undertow.Tensor, name)
            path = f"undertow.Tensor.{name}"
            if not isinstance(value, METHODS):
                attributes += directive("attribute", [path], docstrings.as_rst(doc_of(value)[1]))
                continue
            target = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
            entries = self.tables.methods.get(name, [])
            signatures, text = doc_of(target)
            found = from_object(target, path).replace("(self, ", "(", 1).replace("(self)", "()", 1)
            signatures = [path + s[s.index("("):] for s in signatures] or (entry_signatures(path, entries, True) if entries else [found])
            body = docstrings.as_rst(text or entry_doc(entries))
            function = f"undertow.{name.rstrip('_')}"
            if entries and function in self.tables.functions:
                body += [f"See :py:func:`{function}`.", ""]
            methods += directive("method", signatures, body)
        return out + attributes + title("Methods", "-") + methods

    def module(self, module: types.ModuleType) -> dict[str, list[str]]:
        """Entries of a module by page; "" is the module's own page."""
        pages: dict[str, list[str]] = {"": []}
        elsewhere: list[str] = []
        for name in names.public_names(module):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = getattr(module, name)
            path = f"{module.__name__}.{name}"
            is_object = inspect.isclass(value) or isinstance(value, FUNCTIONS)
            if is_object and (known := self.known(value)):
                if known.rpartition(".")[2] != name:
                    kind = "class" if inspect.isclass(value) else "function"
                    pages[""] += directive(kind, [path], [f"Another name of :py:obj:`{known}`.", ""])
                elif known != path:
                    elsewhere.append(f"* ``{name}``: :py:obj:`{known}`")
                continue
            if is_object:
                self.remember(value, path)
            if value is undertow.Tensor:
                continue
            family = self.tables.family(path) if module is undertow else ""
            pages.setdefault(family, []).extend(self.entry(path, value))
        if elsewhere and pages[""]:  # a module that only repeats names has no page
            pages[""] += [*title("Names described elsewhere", "-"), *elsewhere, ""]
        return pages


def tree(entries: list[str], depth: int = 1) -> list[str]:
    return [".. toctree::", f"   :maxdepth: {depth}", "", *(f"   {e}" for e in entries), ""]


def write(out: Path) -> None:
    """Writes the reference's pages into a new folder."""
    out.mkdir(parents=True)
    reference = Reference()
    reference.remember(undertow.Tensor, "undertow.Tensor")
    (out / "undertow.Tensor.rst").write_text("\n".join(reference.tensor()))
    found = names.modules()
    families, written = [], []
    for module in found:
        for family, body in reference.module(module).items():
            if not body:
                continue
            if family:
                page = f"undertow-{family}"
                families.append(page)
                head = title(f"undertow: {family.replace('_', ' ')}")
            else:
                page = module.__name__
                written.append(page)
                head = title(page if page != "undertow" else "undertow: other names") + docstrings.as_rst(doc_of(module)[1])
                # Entries have full names, so no module is current. A function may have its module's name (nn.utils.weight_norm); it has the entry.
                shared = page in reference.described.values()
                head += [f".. py:module:: {page}", *(["   :no-index:"] if shared else []), "", ".. py:currentmodule:: None", ""]
            (out / f"{page}.rst").write_text("\n".join([*head, *body]))
    index = title("API reference") + textwrap.dedent("""\
        Every public name, generated from the operator tables and the docstrings. Names and arguments are PyTorch's unless the
        text says otherwise. The entry of an operator shows its overloads, the node it records, and the formula of its gradient.
        """).splitlines()
    index += ["", *title("Tensors and operators", "-"), *tree(["undertow.Tensor", *sorted(families), "undertow"])]
    index += [*title("Modules", "-"), *tree([m for m in written if m != "undertow"])]
    (out / "index.rst").write_text("\n".join(index))
