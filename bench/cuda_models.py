"""Networks for the comparison on a GPU, written once for both libraries: each function takes the module `L` and returns `step`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Step = Callable[[], Any]
DEVICE = "cuda"


def descent(model: Any, optimizer: Any, loss: Callable[[], Any]) -> Step:
    def step() -> Any:
        optimizer.zero_grad(set_to_none=True)
        out = loss()
        out.backward()
        optimizer.step()
        return out

    return step


def mlp(L: Any, fused: bool | None = None) -> Step:
    """Four layers of width 512 with ReLU, batch 64, Adam."""
    L.manual_seed(0)
    nn = L.nn
    layers = [layer for _ in range(4) for layer in (nn.Linear(512, 512), nn.ReLU())]
    model = nn.Sequential(*layers[:-1]).to(DEVICE)
    x, y = L.randn(64, 512, device=DEVICE), L.randn(64, 512, device=DEVICE)
    optimizer = L.optim.Adam(model.parameters(), lr=1e-3, **({} if fused is None else {"fused": fused}))
    return descent(model, optimizer, lambda: nn.functional.mse_loss(model(x), y))


def gpt2_model(L: Any) -> Any:
    """GPT-2 of 124 million parameters: 12 layers of width 768, 12 heads, 50,257 tokens, contexts of 1,024; tied embeddings."""
    nn, width, heads, vocabulary, context = L.nn, 768, 12, 50257, 1024

    class Block(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            batch, length, _ = x.shape
            split = (batch, length, heads, width // heads)
            q, k, v = (part.view(split).transpose(1, 2) for part in self.qkv(self.before(x)).split(width, -1))
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
            return x + self.down(nn.functional.gelu(self.up(self.between(x)), approximate="tanh"))

    class Gpt2(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
            self.blocks, self.norm = nn.ModuleList([Block() for _ in range(12)]), nn.LayerNorm(width)
            for p in self.parameters():
                if p.dim() > 1:
                    nn.init.normal_(p, std=0.02)

        def forward(self, tokens: Any, places: Any) -> Any:
            x = self.token(tokens) + self.position(places)
            for block in self.blocks:
                x = block(x)
            return nn.functional.linear(self.norm(x), self.token.weight)

    L.manual_seed(0)
    with L.device(DEVICE):  # the host needs a second to draw the weights
        return Gpt2().to(L.bfloat16)


def gpt2(L: Any, batch: int, length: int, **options: Any) -> Step:
    model = gpt2_model(L)
    text = L.randint(0, 50257, (batch, length + 1), device=DEVICE)
    x, y, places = text[:, :-1].contiguous(), text[:, 1:].contiguous(), L.arange(length, device=DEVICE)
    optimizer = L.optim.AdamW(model.parameters(), lr=3e-4, **options)
    return descent(model, optimizer, lambda: L.nn.functional.cross_entropy(model(x, places).view(-1, 50257), y.view(-1)))


def captured(L: Any, step: Step) -> Step:
    """The step as a graph, after three ordinary ones on another stream."""
    stream = L.cuda.Stream()
    stream.wait_stream(L.cuda.current_stream())
    with L.cuda.stream(stream):
        for _ in range(3):
            step()
    L.cuda.current_stream().wait_stream(stream)
    graph = L.cuda.CUDAGraph()
    with L.cuda.graph(graph):
        out = step()
    return lambda: (graph.replay(), out)[1]


def resnet50(L: Any, batch: int = 64) -> Step:
    """ResNet-50 on images of 224x224, channels last, bfloat16, SGD with momentum."""
    nn = L.nn

    class Bottleneck(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self, before: int, width: int, stride: int) -> None:
            super().__init__()
            out = 4 * width
            self.body = nn.Sequential(
                nn.Conv2d(before, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
                nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
                nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out),
            )  # fmt: skip
            changes = stride != 1 or before != out
            self.beside = nn.Sequential(nn.Conv2d(before, out, 1, stride, bias=False), nn.BatchNorm2d(out)) if changes else nn.Identity()

        def forward(self, x: Any) -> Any:
            return nn.functional.relu(self.body(x) + self.beside(x), inplace=True)

    L.manual_seed(0)
    layers: list[Any] = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    before = 64
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(count):
            layers.append(Bottleneck(before, width, stride if i == 0 else 1))
            before = 4 * width
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))
    model = model.to(DEVICE).to(L.bfloat16).to(memory_format=L.channels_last)
    x = L.randn(batch, 3, 224, 224, device=DEVICE).to(L.bfloat16).contiguous(memory_format=L.channels_last)
    y = L.randint(0, 1000, (batch,), device=DEVICE)
    optimizer = L.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return descent(model, optimizer, lambda: nn.functional.cross_entropy(model(x), y))
