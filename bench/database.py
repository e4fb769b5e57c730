"""python -m bench.database: every elementwise, reducing, scanning, sorting and indexing operator of PyTorch's operator database.

The sweep covers programs that we thought of; this covers the operators that PyTorch tests: four dtypes, contiguous and permuted,
three sizes, forward and backward. Prints the cases slower than PyTorch, worst first. --only TEXT (several: TEXT|TEXT) selects
cases by name, and --sizes, --dtypes, --layouts and --threads by kind. One thread is measured in CPU time, so that other programs
disturb little, and each case takes a few hundredths of a second: what is found here deserves a second look.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from .__main__ import timed
from .cases import OURS, TORCH, Case
from .report import seconds

SHAPES = {1_000: (25, 40), 200_000: (400, 500), 4_000_000: (2000, 2000)}
DTYPES = ("float32", "float64", "bfloat16", "int64")
LAYOUTS = ("contiguous", "permuted")
# Operands that avoid NaN.
POSITIVE = {"pow", "float_power", "__rpow__", "igamma", "igammac", "special.zeta", "polar"}
# Of other devices, internal, or compositions of what is here.
SKIPPED = ("jiterator", "hash_tensor", "masked.", "complex", "cdouble", "cfloat", "chalf", "real", "imag", "resolve")
# Operators that the database describes by samples alone: how to call them. The names are the database's.
STATEMENTS = {
    "clamp": ("x.clamp(-1, 1)", "x.clamp(min=0)"), "where": ("L.where(m, x, w)",), "lerp": ("L.lerp(x, w, 0.3)",),
    "addcmul": ("L.addcmul(x, w, w)",), "addcdiv": ("L.addcdiv(x, w, w)",), "clone": ("x.clone()",), "contiguous": ("x.t().contiguous()",),
    "nn.functional.leaky_relu": ("F.leaky_relu(x)",), "nn.functional.gelu": ("F.gelu(x)",), "nn.functional.hardswish": ("F.hardswish(x)",),
    "nn.functional.glu": ("F.glu(x)",), "softmax": ("x.softmax(0)", "x.softmax(1)"), "log_softmax": ("x.log_softmax(1)",),
    "nn.functional.mse_loss": ("F.mse_loss(x, w)",), "nn.functional.l1_loss": ("F.l1_loss(x, w)",),
    "nn.functional.smooth_l1_loss": ("F.smooth_l1_loss(x, w)",), "nn.functional.huber_loss": ("F.huber_loss(x, w)",),
    "logsumexp": ("x.logsumexp(0)", "x.logsumexp(1)"), "norm": ("x.norm()", "x.norm(dim=1)"),
    "aminmax": ("L.aminmax(x)[0]", "L.aminmax(x, dim=1)[0]"),
    "max.reduction_with_dim": ("x.max(0)[0]", "x.max(1)[0]"), "max.reduction_no_dim": ("x.max()",), "dist": ("L.dist(x, w)",),
    "var_mean": ("L.var_mean(x, 1)[0]",), "trace": ("x.trace()",), "equal": ("x.equal(w)",), "allclose": ("L.allclose(x, x)",),
    "cumsum": ("x.cumsum(0)", "x.cumsum(1)"), "cumprod": ("x.cumprod(0)", "x.cumprod(1)"), "cummax": ("x.cummax(0)[0]", "x.cummax(1)[0]"),
    "logcumsumexp": ("x.logcumsumexp(0)", "x.logcumsumexp(1)"), "diff": ("x.diff(dim=0)", "x.diff(dim=1)"), "trapezoid": ("L.trapezoid(x)",),
    "sort": ("x.sort(0)[0]", "x.sort(1)[0]", "x.flatten().sort()[0]"), "argsort": ("x.argsort(1)",), "topk": ("x.topk(5, 1)[0]", "x.topk(5, 0)[0]"),
    "kthvalue": ("x.kthvalue(3, 1)[0]",), "median": ("x.median()", "x.median(1)[0]"), "nanmedian": ("x.nanmedian(1)[0]",), "mode": ("x.mode(1)[0]",),
    "quantile": ("x[:, :20].quantile(0.3, 1)",), "unique": ("x.unique()",), "unique_consecutive": ("x.unique_consecutive()",),
    "isin": ("L.isin(x, x[0])",),
    "searchsorted": ("L.searchsorted(s, x)",), "bucketize": ("L.bucketize(x, s[:20])",), "histc": ("x.histc(50, -3, 3)",),
    "bincount": ("j.flatten().bincount()",),
    "gather": ("x.gather(1, j)", "x.gather(0, i[:, None].expand(*x.shape))"), "take": ("x.take(j)",),
    "take_along_dim": ("L.take_along_dim(x, j, 1)",),
    "scatter": ("x.scatter(1, j, w)",), "scatter_add": ("x.scatter_add(1, j, w)",), "scatter_reduce.amax": ("x.scatter_reduce(1, j, w, 'amax')",),
    "index_add": ("x.index_add(0, i, w)",), "index_copy": ("x.index_copy(0, i, w)",), "index_fill": ("x.index_fill(0, i, 1)",),
    "index_select": ("x.index_select(0, i)", "x.index_select(1, j[0])"), "index_put": ("x.index_put((i,), w)",),
    "masked_fill": ("x.masked_fill(m, 0)",),
    "masked_select": ("x.masked_select(m)",), "masked_scatter": ("x.masked_scatter(m, w)",), "nonzero": ("x.nonzero()",),
    "argwhere": ("m.argwhere()",),
    "__getitem__": ("x[i]", "x[m]", "x[::2] * 2", "x[:, ::2] + 1", "x[i, j[:, 0]]"), "tril": ("x.tril()",), "triu": ("x.triu(1)",),
    "flip": ("x.flip(0)", "x.flip(1)"), "roll": ("x.roll(1, 0)", "x.roll(1, 1)"), "rot90": ("x.rot90()",), "repeat": ("x.repeat(2, 1)",),
    "repeat_interleave": ("x.repeat_interleave(2, 0)", "x.repeat_interleave(2, 1)"), "cat": ("L.cat([x, w], 0)", "L.cat([x, w], 1)"),
    "stack": ("L.stack([x, w], 1)",), "diagonal_copy": ("L.diagonal_copy(x)",), "diag_embed": ("x[:20].diag_embed()",),
    "unfold_copy": ("x.unfold(1, 5, 5).clone()",),
    "nn.functional.pad.constant": ("F.pad(x, (1, 1))",), "nn.functional.one_hot": ("F.one_hot(j[:, :5])",),
    "to": ("x.to(L.float32)", "x.double()", "x.to(L.int64)"),
    "renorm": ("x.renorm(2, 0, 1)",), "outer": ("L.outer(x[0], w[0])",), "add": ("x + w[:, :1]", "x + w[0]", "x.t() + w.t()"),
}


def calls(op, kind: str) -> tuple[str, ...]:
    """The statements that time one operator of the database; none if it is not elementwise, reducing, scanning, sorting or indexing."""
    full = ".".join(filter(None, (op.name, op.variant_test_name)))
    named = STATEMENTS.get(full, ())
    if op.name.startswith(SKIPPED) or op.name in ("prelu", "nn.functional.prelu", "fill"):
        return named
    if kind == "UnaryUfuncInfo":
        keywords, _ = op.sample_kwargs("cpu", op_dtype(op), None)
        simple = {k: v for k, v in keywords.items() if isinstance(v, (int, float, bool, str))}
        if op.name in ("bfloat16", "bool", "byte", "char", "double", "float", "half", "int", "long", "short", "conj"):
            return (*named, f"x.{op.name}()")
        return (*named, f"L.{op.name}({', '.join(['x', *(f'{k}={v!r}' for k, v in simple.items())])})")
    if kind == "BinaryUfuncInfo":
        rounding = {"trunc_rounding": ", rounding_mode='trunc'", "floor_rounding": ", rounding_mode='floor'"}.get(op.variant_test_name, "")
        return (*named, f"x.{op.name}(w)" if op.name.startswith("__") else f"L.{op.name}(x, w{rounding})")
    if kind == "ReductionOpInfo" and not op.variant_test_name:
        return (*named, f"L.{op.name}(x)", f"L.{op.name}(x, dim=0)", f"L.{op.name}(x, dim=1)")
    return named


def op_dtype(op):
    return sorted(op.dtypes, key=str)[-1]


def setup(op, stmt: str, dtype: str, layout: str, shape: tuple[int, int]) -> str:
    rows, columns = shape
    low, high = getattr(op, "domain", None) or (None, None)
    low, high = (-3 if low is None else max(low, -3)), (3 if high is None else min(high, 3))
    if op.name in POSITIVE:
        low = 1.1
    if dtype == "int64":
        make = f"L.randint({1 if op.name in POSITIVE else -50}, 50, ({{}}, {{}}))"
        w = f"L.randint(1, 50, ({rows}, {columns}))"
    else:
        make = f"(L.rand({{}}, {{}}) * {high - low} + {low}).to(L.{dtype})"
        w = f"(L.rand({rows}, {columns}) * {high - low} + {low}).to(L.{dtype})"
    if "polynomial" in op.name:
        w = f"L.randint(0, 12, ({rows}, {columns})).to(L.{dtype})"
    x = make.format(columns, rows) + ".t()" if layout == "permuted" else make.format(rows, columns)
    lines = [f"F = L.nn.functional; x = {x}; w = {w}"]
    others = {"i": f"L.randperm({rows})", "j": f"L.randint(0, {columns}, ({rows}, {columns}))", "m": f"L.rand({rows}, {columns}) > 0.5",
              "s": "x[0].sort()[0]"}
    for name, value in others.items():
        if any(f"{before}{name}{after}" in stmt for before in "( [" for after in ",)[].:"):
            lines.append(f"{name} = {value}")
    return "\n".join(lines) + "\n"


def database(sizes: list[int], dtypes: list[str], layouts: list[str], threads: list[int]) -> Iterator[Case]:
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    seen = set()
    for op in op_db:
        for stmt in calls(op, type(op).__name__):
            for dtype in dtypes:
                if not op.supports_dtype(getattr(torch, dtype), "cpu") or (stmt, dtype) in seen:
                    continue
                seen.add((stmt, dtype))
                for layout, n, used in ((a, b, c) for a in layouts for b in sizes for c in threads):
                    name = f"{stmt} of {n:,} {dtype}, {layout}, {used} thread{'s' if used > 1 else ''}"
                    before = setup(op, stmt, dtype, layout, SHAPES[n])
                    yield Case(name, before, stmt, threads=used, sparing=True)
                    if dtype != "int64" and op.supports_autograd:
                        leaves = "x, w" if "w" in stmt.replace("where", "").replace("pow", "") else "x"
                        graph = f"[t.requires_grad_() for t in ({leaves},)]\ny = {stmt}; g = L.ones_like(y)\n"
                        yield Case(f"{name}, backward", before + graph,
                                   f"L.autograd.grad(y, ({leaves},), g, retain_graph=True, allow_unused=True)", threads=used, sparing=True)


def main() -> int:
    ap = argparse.ArgumentParser(prog="bench.database", description=__doc__)
    ap.add_argument("--only", default="", metavar="TEXT", help="time only the cases whose name contains this; several with |")
    ap.add_argument("--sizes", default=",".join(map(str, SHAPES)), metavar="N,N")
    ap.add_argument("--dtypes", default=",".join(DTYPES), metavar="NAME,NAME")
    ap.add_argument("--layouts", default=",".join(LAYOUTS), metavar="NAME,NAME")
    ap.add_argument("--threads", default="1,2", metavar="N,N")
    ap.add_argument("--rounds", type=int, default=1)
    ap.add_argument("--forward", action="store_true", help="no backward passes")
    ap.add_argument("--all", action="store_true", help="print also the cases that are faster than PyTorch")
    a = ap.parse_args()
    made = database([int(n) for n in a.sizes.split(",")], a.dtypes.split(","), a.layouts.split(","), [int(n) for n in a.threads.split(",")])
    wanted = [c for c in made if any(text in c.name for text in a.only.split("|")) and not (a.forward and c.name.endswith("backward"))]
    best = timed(wanted, [TORCH, OURS], a.rounds, 3)
    rows, failed = [], []
    for c in wanted:
        ours, theirs = best[c.name][OURS], best[c.name][TORCH]
        if isinstance(ours, float) and isinstance(theirs, float):
            rows.append((theirs / ours, c.name, ours, theirs))
        elif isinstance(theirs, float):  # where PyTorch fails too there is nothing to compare
            failed.append(f"failed: {c.name}: {ours}")
    slower = sorted(r for r in rows if r[0] < 1.0)
    for ratio, name, ours, theirs in sorted(rows) if a.all else slower:
        print(f"{ratio:6.2f} {seconds(ours):>9s} {seconds(theirs):>9s}  {name}")
    print(f"{len(rows)} cases, {len(slower)} slower than torch", *failed, sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
