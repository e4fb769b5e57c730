"""A few operations on a GPU, each with its result or its error: the first thing to run on a new machine. See cuda_session.sh."""

from __future__ import annotations

import time
import traceback

import undertow as ut


def step(name: str, f) -> None:
    begin = time.perf_counter()
    try:
        print(f"{name}: {f()} ({time.perf_counter() - begin:.2f} s)")
    except Exception as error:
        print(f"{name}: FAILED {type(error).__name__}: {str(error)[:400]}")
        traceback.print_exc(limit=-2)


def training() -> list[float]:
    ut.manual_seed(0)
    net = ut.nn.Sequential(ut.nn.Linear(16, 32), ut.nn.ReLU(), ut.nn.Linear(32, 4)).cuda()
    optimizer = ut.optim.Adam(net.parameters(), lr=1e-2)
    x, y = ut.randn(64, 16, device="cuda"), ut.randint(0, 4, (64,), device="cuda")
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = ut.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(round(loss.item(), 4))
    return losses


def captured() -> list[float]:
    x, graph = ut.zeros(3, device="cuda"), ut.cuda.CUDAGraph()
    with ut.cuda.graph(graph):
        y = x + 1
    x.fill_(2)
    graph.replay()
    return y.tolist()


def cost_of_a_product() -> str:
    a, b = ut.ones(8, device="cuda"), ut.ones(8, device="cuda")
    for _ in range(100):
        a * b
    ut.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(10_000):
        a * b
    ut.cuda.synchronize()
    return f"{(time.perf_counter() - begin) * 100:.2f} us"


def main() -> None:
    step("device", lambda: (ut.cuda.get_device_properties(), ut.cuda.mem_get_info()))
    step("copy", lambda: ut.tensor([1.0, 2.0]).cuda().cpu().tolist())
    step("add", lambda: (ut.ones(5, device="cuda") + 1).tolist())
    step("sum", lambda: ut.arange(1000, device="cuda").sum().item())
    step("product", lambda: (ut.ones(64, 64, device="cuda") @ ut.ones(64, 64, device="cuda"))[0, 0].item())
    step("bfloat16 product", lambda: (ut.ones(512, 512, device="cuda").bfloat16() @ ut.ones(512, 512, device="cuda").bfloat16())[3, 3].item())
    step("convolution", lambda: ut.nn.functional.conv2d(ut.ones(2, 3, 8, 8, device="cuda"), ut.ones(4, 3, 3, 3, device="cuda")).sum().item())
    step("attention", lambda: ut.nn.functional.scaled_dot_product_attention(*[ut.ones(1, 2, 64, 64, device="cuda").bfloat16()] * 3).sum().item())
    step("index", lambda: ut.arange(10, device="cuda")[ut.tensor([1, 3])].tolist())
    step("random", lambda: ut.rand(3, device="cuda").tolist())
    step("sort", lambda: ut.tensor([3, 1, 2], device="cuda").sort().values.tolist())
    step("training", training)
    step("graph", captured)
    step("a*b of 8 floats", cost_of_a_product)
    step("memory", lambda: ut.cuda.memory_allocated())


if __name__ == "__main__":
    main()
