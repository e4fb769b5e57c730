"""How the tests read a recording."""

from __future__ import annotations

import undertow as ut
from undertow.inspect import Recording

KINDS = ["pass_started", "pass_finished", "ready", "started", "tensor_hook", "retains_grad_hook", "pre_hook", "post_hook", "finished", "arrived", "accumulated", "captured", "released", "failed", "forward"]


def leaf(*shape: int) -> ut.Tensor:
    return ut.rand(*shape, requires_grad=True)


def events(r: Recording, *kinds: str) -> list[dict]:
    table = r.data["events"]
    rows = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    for i, row in enumerate(rows):
        row["kind"], row["row"] = KINDS[row["kind"]], i
    return [row for row in rows if not kinds or row["kind"] in kinds]
