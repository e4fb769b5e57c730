"""The formulas of the tables as data, for undertow.inspect: undertow/inspect/formulas.json."""
from __future__ import annotations

import json

from .schema import Entry


def formulas(entries: list[Entry]) -> str:
    """One line per node name: the operator, its documentation, its forward expression, and its gradients by argument."""
    rows: dict[str, list] = {}
    for e in entries:
        if e.is_composite or "grad" not in e.spec:
            continue
        grads = [[name, text] for name, text in e.spec["grad"].items() if isinstance(text, str)]
        rows.setdefault(e.node, [e.public, e.doc.strip().splitlines()[0] if e.doc else "", e.spec.get("scalar"), grads])
    lines = [f"{json.dumps(node)}: {json.dumps(row, ensure_ascii=False)}" for node, row in sorted(rows.items())]
    return "{\n" + ",\n".join(lines) + "\n}\n"
