"""Whole training steps, written once for both libraries: each function takes the module `L`, builds a network or a function
from seed 0 and returns `step`, which runs one step and returns the loss. They use only what both libraries have.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Step = Callable[[], Any]


def descent(L: Any, model: Any, optimizer: Any, loss: Callable[[], Any]) -> Step:
    def step() -> Any:
        optimizer.zero_grad()
        out = loss()
        out.backward()
        optimizer.step()
        return out

    return step


def small_network(L: Any) -> Step:
    """4-64-64-2, batch 32, Adam."""
    L.manual_seed(0)
    nn = L.nn
    model = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
    x, y = L.randn(32, 4), L.randint(0, 2, (32,))
    return descent(L, model, L.optim.Adam(model.parameters(), lr=1e-3), lambda: nn.functional.cross_entropy(model(x), y))


def digits_network(L: Any) -> Step:
    """784-512-512-10, batch 64, SGD with momentum."""
    L.manual_seed(0)
    nn = L.nn
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    x, y = L.randn(64, 784), L.randint(0, 10, (64,))
    return descent(L, model, L.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), lambda: nn.functional.cross_entropy(model(x), y))


def convolutional_network(L: Any) -> Step:
    """Two blocks of convolution, ReLU and pooling on images of 28x28, batch 32, Adam."""
    L.manual_seed(0)
    nn = L.nn
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 7 * 7, 10),
    )  # fmt: skip
    x, y = L.randn(32, 1, 28, 28), L.randint(0, 10, (32,))
    return descent(L, model, L.optim.Adam(model.parameters(), lr=1e-3), lambda: nn.functional.cross_entropy(model(x), y))


def residual_block(L: Any) -> Step:
    """conv, batch norm, ReLU, conv, batch norm, added to the input, ReLU: 64 channels of 32x32, batch 8, SGD."""
    L.manual_seed(0)
    nn = L.nn
    body = nn.Sequential(
        nn.Conv2d(64, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
        nn.Conv2d(64, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64),
    )  # fmt: skip
    x, target = L.randn(8, 64, 32, 32), L.randn(8, 64, 32, 32)
    return descent(L, body, L.optim.SGD(body.parameters(), lr=0.01), lambda: ((body(x) + x).relu() - target).square().mean())


def lstm(L: Any) -> Step:
    """An LSTM of 32 units unrolled by hand over 64 steps of 16 inputs, batch 16, SGD."""
    L.manual_seed(0)
    units, inputs, batch, steps = 32, 16, 16, 64
    w = L.nn.Parameter(L.randn(inputs, 4 * units) / math.sqrt(inputs))
    u = L.nn.Parameter(L.randn(units, 4 * units) / math.sqrt(units))
    b = L.nn.Parameter(L.zeros(4 * units))
    xs, target = L.randn(steps, batch, inputs), L.randn(batch, units)

    def loss() -> Any:
        h, c = L.zeros(batch, units), L.zeros(batch, units)
        for x in xs.unbind(0):
            i, f, g, o = (x @ w + h @ u + b).chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
        return L.nn.functional.mse_loss(h, target)

    return descent(L, None, L.optim.SGD([w, u, b], lr=0.01), loss)


def gpt(L: Any) -> Step:
    """A GPT of 4 layers, width 128, 4 heads, 65 characters, 64 at a time, batch 8, AdamW; attention by hand."""
    L.manual_seed(0)
    nn, layers, width, heads, vocabulary, context, batch = L.nn, 4, 128, 4, 65, 64, 8
    future = L.ones(context, context).tril() == 0

    class Block(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            split = (batch, context, heads, width // heads)
            q, k, v = (part.view(split).transpose(1, 2) for part in self.qkv(self.before(x)).chunk(3, -1))
            scores = (q @ k.transpose(-2, -1) / math.sqrt(width // heads)).masked_fill(future, float("-inf"))
            mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, context, width)
            x = x + self.out(mixed)
            return x + self.down(nn.functional.gelu(self.up(self.between(x))))

    class Gpt(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
            self.blocks, self.norm, self.head = nn.Sequential(*(Block() for _ in range(layers))), nn.LayerNorm(width), nn.Linear(width, vocabulary)

        def forward(self, tokens: Any) -> Any:
            return self.head(self.norm(self.blocks(self.token(tokens) + self.position(places))))

    model, places = Gpt(), L.arange(context)
    text = L.randint(0, vocabulary, (batch, context + 1))
    x, y = text[:, :-1].contiguous(), text[:, 1:].contiguous()
    return descent(L, model, L.optim.AdamW(model.parameters(), lr=3e-4),
                   lambda: nn.functional.cross_entropy(model(x).view(-1, vocabulary), y.view(-1)))  # fmt: skip


def hessian(L: Any) -> Step:
    """The Hessian of Rosenbrock's function of 20 variables."""
    L.manual_seed(0)
    x = L.rand(20)

    def rosenbrock(x: Any) -> Any:
        a, b = x[:-1], x[1:]
        return (100 * (b - a * a) ** 2 + (1 - a) ** 2).sum()

    return lambda: L.autograd.functional.hessian(rosenbrock, x).sum()


def pointwise(L: Any) -> Step:
    """Eight pointwise operations over 4 million floats, forward and backward."""
    L.manual_seed(0)
    n = 4_000_000
    x, w, b = (L.rand(n).requires_grad_() for _ in range(3))
    grad = L.ones(n)

    def step() -> Any:
        x.grad = w.grad = b.grad = None
        y = ((x * w + b).tanh() * w - b).sigmoid()
        y = (y + x).exp()
        y.backward(grad)
        return y[0]

    return step
