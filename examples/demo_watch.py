"""The demo with a recording: trains a small network written in plain tensor operations, checks its gradients, records a pass.

Uses only undertow and the standard library: a network of two hidden layers separates two spirals. A progress bar shows
the loss; then one weight of each layer is changed in both directions to check its gradient by finite differences; then
one backward pass is recorded, explained, and written to demo.utrace.
"""

from __future__ import annotations

import math
import random
import sys
import time

import undertow as ut

HIDDEN, STEPS, RATE, MOMENTUM = 32, 600, 0.2, 0.9


def spirals(n: int) -> tuple[ut.Tensor, ut.Tensor]:
    """n points on each of two arms, and 0 or 1 for the arm."""
    points, arms = [], []
    for arm in (0, 1):
        for i in range(n):
            radius, angle = i / n, 3.5 * math.pi * i / n + math.pi * arm
            points.append([radius * math.cos(angle) + random.gauss(0, 0.02), radius * math.sin(angle) + random.gauss(0, 0.02)])
            arms.append([float(arm)])
    return ut.tensor(points), ut.tensor(arms)


def layer(inputs: int, outputs: int) -> tuple[ut.Tensor, ut.Tensor]:
    """A weight and a bias, initialized so that signals keep their variance."""
    scale = math.sqrt(2 / inputs)
    weight = [[random.gauss(0, scale) for _ in range(outputs)] for _ in range(inputs)]
    return ut.tensor(weight, requires_grad=True), ut.tensor([0.0] * outputs, requires_grad=True)


def network(x: ut.Tensor, layers: list[tuple[ut.Tensor, ut.Tensor]]) -> ut.Tensor:
    """The logit of arm 1 for every point."""
    for weight, bias in layers[:-1]:
        x = (x @ weight + bias).tanh()
    weight, bias = layers[-1]
    return x @ weight + bias


def loss_of(logits: ut.Tensor, arms: ut.Tensor) -> ut.Tensor:
    """Binary cross entropy, in the form that does not overflow: log(1 + e^-|z|) + max(z, 0) - z * arm."""
    return ((1 + (-logits.abs()).exp()).log() + logits.clamp(min=0) - logits * arms).mean()


def bar(done: int, total: int, text: str, start: float) -> None:
    """A progress line that is redrawn on a terminal, and printed now and then otherwise."""
    width = 32
    filled = width * done // total
    line = f"  [{'█' * filled}{'·' * (width - filled)}] {done:>4}/{total} {text} {time.perf_counter() - start:5.1f} s"
    if sys.stdout.isatty():
        print("\r" + line, end="\n" if done == total else "", flush=True)
    elif done == total or done % (total // 4) == 0:
        print(line)


def train(points: ut.Tensor, arms: ut.Tensor, layers: list[tuple[ut.Tensor, ut.Tensor]]) -> None:
    """Gradient descent with momentum."""
    parameters = [p for pair in layers for p in pair]
    velocities = [ut.zeros_like(p) for p in parameters]
    start = time.perf_counter()
    for step in range(1, STEPS + 1):
        logits = network(points, layers)
        loss = loss_of(logits, arms)
        loss.backward()
        with ut.no_grad():
            for p, v in zip(parameters, velocities):
                assert p.grad is not None
                v.mul_(MOMENTUM).add_(p.grad)
                p.sub_(v * RATE)
                p.grad = None
        if step % 10 == 0 or step == STEPS:
            right = ((logits > 0) == (arms > 0.5)).sum().item() / len(arms)
            bar(step, STEPS, f"loss {loss.item():.4f}  right {right:6.1%}", start)


def check_gradients(points: ut.Tensor, arms: ut.Tensor, layers: list[tuple[ut.Tensor, ut.Tensor]]) -> float:
    """Compares one gradient of each parameter with its finite difference, in double precision; returns the largest error."""
    points, arms = points.to(ut.float64), arms.to(ut.float64)
    layers = [(w.detach().to(ut.float64).requires_grad_(), b.detach().to(ut.float64).requires_grad_()) for w, b in layers]
    loss_of(network(points, layers), arms).backward()
    worst, h = 0.0, 1e-6
    print(f"  {'parameter':<12}{'gradient':>16}{'differences':>16}{'error':>11}")
    for number, pair in enumerate(layers):
        for name, p in zip(("weight", "bias"), pair):
            where = tuple(random.randrange(s) for s in p.shape)
            with ut.no_grad():
                value = p[where].item()
                sides = []
                for shift in (h, -h):
                    p[where] = value + shift
                    sides.append(loss_of(network(points, layers), arms).item())
                p[where] = value
            assert p.grad is not None
            exact, rough = p.grad[where].item(), (sides[0] - sides[1]) / (2 * h)
            error = abs(exact - rough) / max(abs(exact), 1e-4)
            worst = max(worst, error)
            print(f"  {name + str(number):<12}{exact:>16.10f}{rough:>16.10f}{error:>11.1e}")
    return worst


def record_pass(points: ut.Tensor, arms: ut.Tensor, layers: list[tuple[ut.Tensor, ut.Tensor]]) -> ut.inspect.Recording:
    """Records one forward and one backward pass, with the statistics of all gradients."""
    with ut.inspect.record(forward=True, values=True) as recording:
        loss_of(network(points, layers), arms).backward()
    return recording


def main() -> int:
    random.seed(7)
    points, arms = spirals(200)
    layers = [layer(2, HIDDEN), layer(HIDDEN, HIDDEN), layer(HIDDEN, 1)]
    print("Training: two spirals, 400 points, 2-32-32-1 tanh, plain tensor operations")
    train(points, arms, layers)
    print("Gradients and central finite differences:")
    worst = check_gradients(points, arms, layers)
    path = "demo.utrace"
    recording = record_pass(points, arms, layers)
    recording.save(path)
    print(f"One backward pass: {len(recording)} events in {path}; python -m undertow.inspect {path} shows them")
    print("\n".join("  " + line for line in recording.explain().sections["Time"][:1]))
    if worst > 1e-4:
        print(f"FAILED: a gradient differs from its finite difference by {worst:.1e}")
        return 1
    print(f"ok: every gradient agrees with its finite difference (worst relative error {worst:.1e})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
