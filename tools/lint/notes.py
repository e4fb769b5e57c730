"""Every cited Note exists, exactly once, and every Note is cited or at least named once.

A Note is defined by a comment line that begins with its name in brackets after the word Note; anything else that
names one cites it, also across a line break.
"""
from __future__ import annotations

import re
from pathlib import Path

from .files import text

SUFFIXES = {".h", ".cpp", ".py", ".toml", ".md", ".txt", ".cmake"}
LEADER = re.compile(r"^[ \t]*(?://+|#+|\*)?[ \t]*", re.M)
DEFINITION = re.compile(r"^Note \[([^\]]+)\](?::|$)", re.M)
MENTION = re.compile(r"Note\s\[([^\]]+)\]")


def check(files: list[Path]) -> list[str]:
    defined: dict[str, list[Path]] = {}
    cited: dict[str, set[Path]] = {}
    for path in files:
        if path.suffix not in SUFFIXES or path.parts[:2] == ("tools", "lint") or path.name == "test_lint.py":
            continue
        bare = LEADER.sub("", text(path))
        own = DEFINITION.findall(bare)
        for name in own:
            defined.setdefault(name, []).append(path)
        for name in MENTION.findall(bare):
            cited.setdefault(" ".join(name.split()), set()).add(path)
    out = []
    for name, where in sorted(defined.items()):
        if len(where) > 1:
            out.append(f"{where[1]}: Note [{name}] is defined again, first in {where[0]}")
        if not name.istitle() and not all(w[:1].isupper() or w in ("a", "and", "by", "for", "in", "of", "on", "the", "to") for w in name.split()):
            out.append(f"{where[0]}: Note [{name}] is not in title case")
    for name, where in sorted(cited.items()):
        if name not in defined and name != "Title Case Name":
            out.append(f"{min(where)}: cites Note [{name}], which is defined nowhere")
    return out
