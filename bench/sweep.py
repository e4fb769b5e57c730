"""python -m bench.sweep: single operators and layers, small to large, forward and with gradients, compared with PyTorch.

The table of `python -m bench` has targets; this one has a single rule, "never slower", over about nine hundred cases, and prints
them with those below 1.0 last. --only TEXT (several: TEXT|TEXT) selects cases by name; --write saves the table in bench/SWEEP.md.
--threads 1,2,4,8,16 sets both libraries to each number, and adds the speed-up of each: `--write SWEEP16.md --rounds 1`.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from . import training
from .__main__ import timed, versions
from .cases import OURS, TORCH, Case
from .programs import programs
from .report import describe_machine, seconds

NAMES = "F = L.nn.functional; nn = L.nn\n"
METHODS = ("exp", "log", "tanh", "sigmoid", "relu", "abs", "sqrt", "sin", "erf", "rsqrt", "reciprocal", "neg", "square", "log1p")
ACTIVATIONS = ("gelu", "silu", "softplus", "leaky_relu", "elu", "hardtanh", "logsigmoid")
UNARY = [f"x.{f}()" for f in METHODS]
BINARY = ["x + w", "x - w", "x * w", "x / w", "x ** 2", "x.pow(w)", "L.maximum(x, w)", "L.where(x > w, x, w)", "x.clamp(0.6, 1.2)", "x + 1",
          "L.lerp(x, w, 0.3)", "L.addcmul(x, w, w)"]
REDUCTIONS = ["x.sum()", "x.sum(0)", "x.sum(1)", "x.mean(-1)", "x.max()", "x.max(1)[0]", "x.amax(0)", "x.var(1)", "x.std()", "x.norm()",
              "x.prod(1)", "x.cumsum(0)", "x.cumsum(1)", "x.logsumexp(1)", "F.softmax(x, -1)", "F.log_softmax(x, 0)", "F.layer_norm(x, x.shape[1:])"]
MOVES = ["x.t().contiguous()", "L.cat([x, x], 0)", "L.stack([x, x], 1)", "x.flip(0)", "x.roll(1, 1)", "x.tril()", "x[::2] * 2", "x[:, 1:3].clone()",
         "x.index_select(0, i)", "x[i]", "x.gather(1, j)", "L.zeros_like(x).scatter_add(1, j, x)", "x.masked_fill(m, 0.)", "x[m]", "x + x[0]",
         "x + x[:, :1]", "x.repeat(2, 1)", "x.unfold(0, 2, 1).sum(-1)", "x.sort(1)[0]", "x.topk(5, 1)[0]", "x.median(1)[0]"]
PRODUCTS = ["x @ x", "x @ x.t()", "L.einsum('ij,kj->ik', x, x)"]
PLAIN = ["x.argmax(1)", "x.clone()", "L.zeros_like(x)", "L.rand(x.shape)", "L.randn(x.shape)", "x.double()", "x.add_(1.)", "(x == x).all()", "x > 1."]
SQUARE = "x = L.rand({n}, {n}) + 0.5; i = L.randperm({n}); j = L.randint(0, {n}, ({n}, {n})); m = x > 1.\n"

LAYERS = [
    ("Linear 10-10, batch 1", "nn.Linear(10, 10)", (1, 10)),
    ("Linear 512-512, batch 64", "nn.Linear(512, 512)", (64, 512)),
    ("Linear 1024-1024, batch 1024", "nn.Linear(1024, 1024)", (1024, 1024)),
    ("Conv2d 3-16 3x3", "nn.Conv2d(3, 16, 3, padding=1)", (8, 3, 32, 32)),
    ("Conv2d 64-64 3x3", "nn.Conv2d(64, 64, 3, padding=1)", (8, 64, 32, 32)),
    ("Conv2d 256-256 3x3 on 14x14", "nn.Conv2d(256, 256, 3, padding=1)", (4, 256, 14, 14)),
    ("Conv2d 512-512 3x3 on 7x7", "nn.Conv2d(512, 512, 3, padding=1)", (4, 512, 7, 7)),
    ("Conv2d 64-128 1x1", "nn.Conv2d(64, 128, 1)", (8, 64, 32, 32)),
    ("Conv2d 3-64 7x7 by 2", "nn.Conv2d(3, 64, 7, 2, 3)", (4, 3, 112, 112)),
    ("Conv2d 1-32 5x5", "nn.Conv2d(1, 32, 5)", (64, 1, 28, 28)),
    ("Conv2d depthwise 64", "nn.Conv2d(64, 64, 3, padding=1, groups=64)", (8, 64, 32, 32)),
    ("Conv2d 4 groups", "nn.Conv2d(64, 64, 3, padding=1, groups=4)", (8, 64, 32, 32)),
    ("Conv2d dilated", "nn.Conv2d(32, 32, 3, padding=2, dilation=2)", (8, 32, 32, 32)),
    ("Conv1d 32-64", "nn.Conv1d(32, 64, 5)", (16, 32, 200)),
    ("Conv3d 8-16", "nn.Conv3d(8, 16, 3)", (2, 8, 16, 16, 16)),
    ("ConvTranspose2d 64-32", "nn.ConvTranspose2d(64, 32, 4, 2, 1)", (8, 64, 16, 16)),
    ("Conv1d 1-16 of 64 by 4, long", "nn.Conv1d(1, 16, 64, 4)", (4, 1, 16000)),
    ("Conv2d 5x5", "nn.Conv2d(32, 32, 5, padding=2)", (8, 32, 28, 28)),
    ("MaxPool1d 2", "nn.MaxPool1d(2)", (16, 64, 500)),
    ("MaxPool2d 2", "nn.MaxPool2d(2)", (16, 32, 32, 32)),
    ("MaxPool2d 3 by 2", "nn.MaxPool2d(3, 2, 1)", (8, 64, 56, 56)),
    ("AvgPool2d 2", "nn.AvgPool2d(2)", (16, 32, 32, 32)),
    ("AdaptiveAvgPool2d 1", "nn.AdaptiveAvgPool2d(1)", (16, 128, 8, 8)),
    ("AdaptiveAvgPool2d 5", "nn.AdaptiveAvgPool2d(5)", (16, 128, 14, 14)),
    ("BatchNorm2d", "nn.BatchNorm2d(64)", (8, 64, 32, 32)),
    ("BatchNorm2d, evaluating", "nn.BatchNorm2d(64).eval()", (8, 64, 32, 32)),
    ("BatchNorm1d", "nn.BatchNorm1d(256)", (64, 256)),
    ("GroupNorm", "nn.GroupNorm(8, 64)", (8, 64, 32, 32)),
    ("InstanceNorm2d", "nn.InstanceNorm2d(64)", (8, 64, 32, 32)),
    ("LayerNorm 256", "nn.LayerNorm(256)", (32, 64, 256)),
    ("LayerNorm 128, 4 rows", "nn.LayerNorm(128)", (4, 128)),
    ("Dropout", "nn.Dropout(0.5)", (512, 512)),
    ("Upsample nearest", "nn.Upsample(scale_factor=2)", (8, 32, 32, 32)),
    ("Upsample bilinear", "nn.Upsample(scale_factor=2, mode='bilinear')", (8, 32, 32, 32)),
    ("LSTM 32", "nn.LSTM(16, 32)", (10, 4, 16)),
    ("LSTM 128", "nn.LSTM(128, 128)", (32, 16, 128)),
    ("LSTM 256, 2 layers", "nn.LSTM(256, 256, 2)", (20, 32, 256)),
    ("LSTM 512", "nn.LSTM(512, 512)", (16, 32, 512)),
    ("GRU 128", "nn.GRU(128, 128)", (32, 16, 128)),
    ("LSTM 64, both ways, batch first", "nn.LSTM(64, 64, 2, batch_first=True, bidirectional=True)", (16, 30, 64)),
    ("GRU 64, both ways, batch first", "nn.GRU(64, 64, 2, batch_first=True, bidirectional=True)", (16, 30, 64)),
    ("RNN 64", "nn.RNN(64, 64)", (32, 16, 64)),
    ("TransformerEncoderLayer 128", "nn.TransformerEncoderLayer(128, 4, 512, 0.0, batch_first=True)", (8, 64, 128)),
    ("TransformerEncoderLayer 512", "nn.TransformerEncoderLayer(512, 8, 2048, 0.0, batch_first=True)", (4, 128, 512)),
    ("TransformerEncoderLayer 256, dropout", "nn.TransformerEncoderLayer(256, 8, 1024, 0.1, batch_first=True)", (8, 64, 256)),
    ("TransformerEncoderLayer 256, evaluating", "nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True).eval()", (8, 64, 256)),
    ("Sequential 10-32-1", "nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 1))", (16, 10)),
]
RUN = """
def run():
    y = layer(x)
    y = y[0] if isinstance(y, tuple) else y
    y.backward(g)
y = layer(x); y = y[0] if isinstance(y, tuple) else y; g = L.ones_like(y)
"""
LOSSES = [
    ("cross_entropy 64x10", "x = L.randn(64, 10); t = L.randint(0, 10, (64,))", "F.cross_entropy(x, t)"),
    ("cross_entropy 2048x5000", "x = L.randn(2048, 5000); t = L.randint(0, 5000, (2048,))", "F.cross_entropy(x, t)"),
    ("mse_loss 1M", "x = L.randn(1000, 1000); t = L.randn(1000, 1000)", "F.mse_loss(x, t)"),
    ("smooth_l1_loss 1M", "x = L.randn(1000, 1000); t = L.randn(1000, 1000)", "F.smooth_l1_loss(x, t)"),
    ("binary_cross_entropy 1M", "x = L.rand(1000, 1000); t = L.rand(1000, 1000)", "F.binary_cross_entropy(x, t)"),
    ("binary_cross_entropy_with_logits 1M", "x = L.randn(1000, 1000); t = L.rand(1000, 1000)", "F.binary_cross_entropy_with_logits(x, t)"),
    ("embedding 10,000x128", "x = L.randn(10000, 128); t = L.randint(0, 10000, (32, 128))", "F.embedding(t, x)"),
]
HALF = ["x + w", "x * 2", "x / w", "F.relu(x)", "F.silu(x)", "x.sum()", "x.sum(0)", "x.mean(-1)", "F.softmax(x, -1)", "F.log_softmax(x, -1)",
        "F.layer_norm(x, x.shape[1:])", "x.cumsum(-1)", "x @ w.t()", "x.float()"]
INTEGERS = ["x + w", "x * w", "x // w", "x % w", "x & w", "x == w", "x.sum()", "x.sum(0)", "x.max()", "x.argmax(1)", "x.sort(1)[0]", "x.float()"]
MIDDLE = ["x + w[:, :1]", "x * w[:, :, :1]", "x.transpose(1, 2) + w.transpose(1, 2)", "x.permute(2, 0, 1).contiguous()", "x.sum(1)", "x.sum((0, 2))",
          "x.var(1)", "x.logsumexp(1)", "x.transpose(1, 2).softmax(-1)", "x.chunk(3, 2)[1] * 2", "L.cat(x.split(32, 1), 2)",
          "L.einsum('bij,bkj->bik', x, w)", "L.einsum('bij,kj->bik', x, w[0])"]
ROWS = ["L.zeros(500, 64).index_add(0, t, x)", "x[t]", "x[t > 250]", "F.embedding_bag(t.view(-1, 20), x)", "L.cdist(x[:500], x[:400])"]
LONG = ["x.sort()[0]", "x.argsort()", "x.topk(100)[0]", "x.cumsum(0)", "x.unique()", "L.searchsorted(x.sort()[0], x)", "x.nonzero()", "x[x > 0]"]
SOLVERS = ["L.linalg.inv(x)", "L.linalg.cholesky(x)", "L.linalg.solve(x, b)", "L.linalg.eigh(x)[0]", "L.linalg.svd(x)[1]", "L.linalg.qr(x)[0]",
           "L.linalg.det(x)", "L.linalg.slogdet(x)[1]"]
TRANSFORMS = ["L.fft.fft(x)", "L.fft.rfft(x)", "L.fft.fft2(x)", "L.fft.rfft2(x)"]
OPTIMIZERS = ["SGD(ps, lr=.1)", "SGD(ps, lr=.1, momentum=.9)", "Adam(ps)", "AdamW(ps)", "RMSprop(ps)", "Adagrad(ps)"]


def both(name: str, setup: str, stmt: str) -> list[Case]:
    """The statement alone, and with its gradient with respect to x."""
    recorded = f"x.requires_grad_(); g = L.ones_like({stmt})\n"
    return [Case(name, NAMES + setup, stmt, 1.0, threads=2),
            Case(f"{name}, gradient", NAMES + setup + recorded, f"L.autograd.grad({stmt}, x, g)", 1.0, threads=2)]


def operators() -> list[Case]:
    out = []
    for size, shape in (("8", "8"), ("10k", "100, 100"), ("4M", "2000, 2000")):
        setup = f"x = L.rand({shape}) + 0.5; w = L.rand({shape}) + 0.5\n"
        out += [c for stmt in UNARY + BINARY for c in both(f"{stmt} of {size}", setup, stmt)]
        out += [c for f in ACTIVATIONS for c in both(f"F.{f}(x) of {size}", f"x = L.randn({shape})\n", f"F.{f}(x)")]
    for n in (8, 100, 2000):
        setup = SQUARE.format(n=n)
        out += [c for stmt in REDUCTIONS + MOVES + PRODUCTS for c in both(f"{stmt} of {n}x{n}", setup, stmt)]
        out += [Case(f"{stmt} of {n}x{n}", NAMES + setup, stmt, 1.0, threads=2) for stmt in PLAIN]
    for n in (32, 64, 128, 256, 512, 1024):
        out += both(f"x @ w, {n}x{n}", f"x = L.randn({n}, {n}); w = L.randn({n}, {n})\n", "x @ w")
    out += both("x @ w, 32 of 64x64", "x = L.randn(32, 64, 64); w = L.randn(32, 64, 64)\n", "x @ w")
    out += both("x @ w, 1000x1000 by a vector", "x = L.randn(1000, 1000); w = L.randn(1000)\n", "x @ w")
    for n in (8, 64, 200):
        setup = f"x = L.randn({n}, {n}); x = x @ x.t() / {n} + L.eye({n}); b = L.randn({n}, 4)\n"
        out += [c for stmt in SOLVERS for c in both(f"{stmt} of {n}x{n}", setup, stmt)]
    for n in (64, 512):
        out += [Case(f"{stmt} of {n}x{n}", NAMES + f"x = L.randn({n}, {n})\n", stmt, 1.0, threads=2) for stmt in TRANSFORMS]
    return out


def shapes_and_dtypes() -> list[Case]:
    """What square float32 matrices do not cover: other dtypes, middle dimensions, indexed rows, long vectors, many small products."""
    out = []
    for dtype in ("bfloat16", "float16"):
        setup = f"x = L.randn(4096, 512).to(L.{dtype}); w = L.randn(4096, 512).to(L.{dtype})\n"
        out += [c for stmt in HALF if "@" not in stmt for c in both(f"{stmt} of 4096x512 {dtype}", setup, stmt)]
        out += both(f"x @ w.t(), 512x512 {dtype}", f"x = L.randn(512, 512).to(L.{dtype}); w = L.randn(512, 512).to(L.{dtype})\n", "x @ w.t()")
    for dtype in ("int32", "int64"):
        setup = f"x = L.randint(1, 100, (1000, 1000)).to(L.{dtype}); w = L.randint(1, 100, (1000, 1000)).to(L.{dtype})\n"
        out += [Case(f"{stmt} of 1000x1000 {dtype}", NAMES + setup, stmt, 1.0, threads=2) for stmt in INTEGERS]
    setup = "x = L.randn(64, 128, 96); w = L.randn(64, 128, 96)\n"
    out += [c for stmt in MIDDLE for c in both(f"{stmt} of 64x128x96", setup, stmt)]
    out += [c for stmt in ROWS for c in both(f"{stmt} of 5000x64", "x = L.randn(5000, 64); t = L.randint(0, 500, (5000,))\n", stmt)]
    out += [Case(f"{stmt} of 100k", NAMES + "x = L.randn(100000)\n", stmt, 1.0, threads=2) for stmt in LONG]
    for count, n in ((1000, 8), (100, 3), (512, 16)):
        out += both(f"x @ w, {count} of {n}x{n}", f"x = L.randn({count}, {n}, {n}); w = L.randn({count}, {n}, {n})\n", "x @ w")
    for count, n in ((200, 1000), (3, 2_000_000)):
        setup = f"ps = [nn.Parameter(L.randn({n})) for _ in range({count})]\nfor p in ps: p.grad = L.randn({n})\n"
        out.append(Case(f"clip_grad_norm_ of {count} x {n:,}", NAMES + setup, "nn.utils.clip_grad_norm_(ps, 1.0)", 1.0, threads=2))
    return out


def layers() -> list[Case]:
    out = []
    for name, made, shape in LAYERS:
        setup = NAMES + f"layer = {made}; x = L.randn({', '.join(map(str, shape))})\n"
        out.append(Case(f"{name}, no grad", setup + "layer.requires_grad_(False)\n", "layer(x)", 1.0, threads=2))
        out.append(Case(f"{name}, backward too", setup + "x.requires_grad_()\n" + RUN, "run()", 1.0, threads=2))
    for b, h, t, d in ((4, 4, 64, 32), (2, 8, 256, 64), (1, 8, 1024, 64)):
        setup = f"x, k, v = (L.randn({b}, {h}, {t}, {d}) for _ in range(3))\n"
        for causal in ("", ", is_causal=True"):
            out += both(f"attention {b}x{h}x{t}x{d}{causal}", setup, f"F.scaled_dot_product_attention(x, k, v{causal})")
    out += [c for name, setup, stmt in LOSSES for c in both(name, setup + "\n", stmt)]
    for made in OPTIMIZERS:
        for count, n in ((20, 100), (10, 1_000_000)):
            setup = (f"ps = [L.nn.Parameter(L.randn({n})) for _ in range({count})]\nfor p in ps: p.grad = L.randn({n})\n"
                     f"o = L.optim.{made}; o.step()\n")
            out.append(Case(f"{made} of {count} x {n:,}", NAMES + setup, "o.step()", 1.0, threads=2))
    return out


Best = dict[str, dict[str, float | str | None]]  # what `timed` returns: seconds by case and library


def ratio(best: Best, name: str) -> float | None:
    ours, theirs = best[name][OURS], best[name][TORCH]
    return theirs / ours if isinstance(ours, float) and isinstance(theirs, float) else None


def speed_up(few: Best, many: Best, name: str, library: str) -> str:
    a, b = few[name][library], many[name][library]
    return f"{a / b:.1f}" if isinstance(a, float) and isinstance(b, float) else "-"


def cells(counts: list[int], best: dict[int, Best], name: str) -> list[str]:
    """A case's row: its times with the first number of threads, ratios for every number, speed-ups for every other one."""
    first = counts[0]
    have = [n for n in counts if name in best[n]]
    ratios = [f"{ratio(best[n], name) or 0:.2f}" if n in have else "" for n in counts]
    faster = [", ".join(speed_up(best[first], best[n], name, lib) for lib in (OURS, TORCH)) if n in have else "" for n in counts[1:]]
    return [name, seconds(best[first][name][OURS]), seconds(best[first][name][TORCH]), *ratios, *faster]


def header(counts: list[int]) -> list[str]:
    faster = [f"speed-up with {n}: undertow, torch" for n in counts[1:]]
    return ["", "undertow", "torch", *([f"torch/ours, {n}" for n in counts] if len(counts) > 1 else ["torch/ours"]), *faster]


def markdown(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join((c or " ").replace("|", chr(92) + "|") for c in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]) + "\n"


def threads_text(counts: list[int]) -> str:
    return f"{counts[0]} thread{'s' * (counts[0] > 1)}" if len(counts) == 1 else f"{', '.join(map(str, counts))} threads"


def main() -> int:
    ap = argparse.ArgumentParser(prog="bench.sweep", description=__doc__)
    ap.add_argument("--only", default="", metavar="TEXT", help="time only the cases whose name contains this; several with |")
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--threads", default="2", metavar="N,N", help="numbers of threads; with several, cases below 20 us are timed with the first only")
    ap.add_argument("--write", nargs="?", const="SWEEP.md", metavar="FILE", help="write bench/FILE, by default SWEEP.md")
    a = ap.parse_args()
    counts = [int(n) for n in a.threads.split(",")]
    all_cases = operators() + shapes_and_dtypes() + layers() + programs() + training.cases()
    wanted = [c for c in all_cases if any(text in c.name for text in a.only.split("|"))]
    best: dict[int, Best] = {}
    for n in counts:
        # Threads gain nothing below 20 us, and such cases are half of the sweep.
        large = [c for c in wanted if not best or any(t > 20e-6 for t in best[counts[0]][c.name].values() if isinstance(t, float))]
        best[n] = timed([replace(c, threads=n) for c in large], [OURS, TORCH], a.rounds, 2, threads=n)
    failed = {f"{name}, {n} threads: {v}" for n in counts for name, row in best[n].items() for v in row.values() if isinstance(v, str)}
    names = [c.name for c in wanted if ratio(best[counts[0]], c.name)]
    slower = sorted((r, name, n) for n in counts for name in best[n] if (r := ratio(best[n], name)) and r < 1.0)
    table = [cells(counts, best, name) for name in names + [name for _, name, _ in slower[::-1]]]
    for row in table:
        print(f"{row[0]:55s}", *(f"{c:>9s}" for c in row[1:]))
    summary = f"{len(names)} cases, {threads_text(counts)}; {len(slower)} measurements slower than torch"
    print(summary, *sorted(failed), sep="\n")
    if a.write:
        which = ", ".join(f"{name} ({r:.2f}{f' with {n}' if len(counts) > 1 else ''})" for r, name, n in slower) or "none"
        head = f"# Sweep\n\nWritten by `python -m bench.sweep`. {describe_machine(versions([OURS, TORCH]))}\n\n{summary}: {which}.\n\n"
        (Path(__file__).parent / a.write).write_text(head + markdown([header(counts), *table[: len(names)]]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
