"""Cases for the entries of ops/rounding.toml."""

from __future__ import annotations

from samples import Array, case

A = Array((3, 4))

CASES = {
    "round.decimals": [case(A, decimals=1), case(A, decimals=-1), case(A, decimals=0)],
}
EXCEPT = {
    **{name: {"second_derivative": "the first is zero everywhere, and has no graph"} for name in ("ceil", "floor", "trunc", "round", "round.decimals")},
}
