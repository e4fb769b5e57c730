"""Docstrings as reStructuredText. They are plain text with `code`, lists, indented blocks and `>>>` examples; nothing else is markup."""
from __future__ import annotations

import inspect
import re

SIGNATURE = re.compile(r"^[\w.]+\(.*\)( -> .+)?$")


def escaped(text: str) -> str:
    """Text in which only `code` is markup."""
    pieces = re.split(r"(`+[^`]+`+)", text)
    out = []
    for i, piece in enumerate(pieces):
        if i % 2:
            code = piece.strip("`").strip()
            before = " " if out and out[-1] and not out[-1][-1].isspace() and out[-1][-1] not in "([{\"'-/:" else ""
            out.append(before.replace(" ", "\\ ") + f"``{code}``" + ("\\ " if i + 1 < len(pieces) and pieces[i + 1][:1].isalnum() else ""))
        else:
            out.append(re.sub(r"([\\*_|`])", r"\\\1", piece))
    return "".join(out)


def block(language: str, lines: list[str]) -> list[str]:
    return [f".. code-block:: {language}", "", *("   " + line for line in lines), ""]


def paragraph(lines: list[str]) -> list[str]:
    """One block of a docstring, between blank lines."""
    if lines[0].lstrip().startswith(">>>"):
        indent = len(lines[0]) - len(lines[0].lstrip())
        return block("pycon", [line[indent:] for line in lines])
    if all(line.startswith("  ") for line in lines):
        return block("text", inspect.cleandoc("\n".join(lines)).splitlines())
    items: list[str] = []
    is_list = lines[0].startswith(("- ", "* "))
    for line in lines:
        if line.startswith(("- ", "* ")) and (is_list or items):
            items.append(line[2:])
        elif items:
            items[-1] += " " + line.strip()
        else:
            items.append(line.strip())
    if is_list:
        return [*(f"- {escaped(item)}" for item in items), ""]
    text = " ".join(items)
    return [escaped(text[:-1] if text.endswith("::") else text), ""]


def split_signatures(text: str) -> tuple[list[str], str]:
    """The signatures that a compiled function's docstring may begin with, and the rest."""
    lines = text.splitlines()
    count = 0
    while count < len(lines) and SIGNATURE.match(lines[count]):
        count += 1
    return lines[:count], "\n".join(lines[count:]).strip()


def as_rst(text: str) -> list[str]:
    out: list[str] = []
    current: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.strip():
            starts_example = line.lstrip().startswith(">>>") and current and not current[0].lstrip().startswith(">>>")
            starts_list = line.startswith("- ") and current and not current[0].startswith("- ") and not current[0].startswith(">>>")
            if starts_example or starts_list:
                out += paragraph(current)
                current = []
            current.append(line)
        elif current:
            out += paragraph(current)
            current = []
    return out
