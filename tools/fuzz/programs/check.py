"""Makes, runs and compares a range of programs; a module of its own, so that worker processes can import it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tools.fuzz.programs.known import reason

if TYPE_CHECKING:
    from tools.fuzz.programs.execute import Program

Finding = tuple[str, str, str, str]  # kind, statements it comes from, description, program


def check_seeds(seeds: range, differences: bool, strides: bool) -> tuple[int, list[Finding]]:
    """How many programs ran, and the shrunk programs that differ for no known reason."""
    import undertow

    from tools.fuzz.programs.compare import against_differences, against_library, stage_of
    from tools.fuzz.programs.generate import generate
    from tools.fuzz.programs.shrink import shrink

    undertow.set_num_threads(1)
    if differences:
        check = partial(against_differences, lib=undertow)
    else:
        import torch

        torch.set_num_threads(1)
        check = partial(against_library, ours=undertow, theirs=torch, strides=strides)
    findings = []
    for seed in seeds:
        program = generate(undertow, seed, true_derivatives=differences)
        found = check(program)
        if found is None:
            continue
        for_kind = partial(check, until=stage_of(found[0]))
        small = shrink(program, found[0], for_kind)
        description = (for_kind(small) or found)[1]
        if reason(found[0], small, description) is None:
            findings.append((found[0], _signature(small), description, small.text()))
    return len(seeds), findings


def _signature(program: Program) -> str:
    """The last statement without its variables: findings with the same one probably have the same cause."""
    return "".join("#" if c.isdigit() else c for c in program.lines[-1].partition(" = ")[2] or program.lines[-1]) if program.lines else ""
