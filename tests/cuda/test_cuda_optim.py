"""Optimizer steps on a GPU agree with the CPU's."""
from __future__ import annotations

from typing import Any

import pytest

import undertow as ut
from tests.cuda.compare import close, numbers

pytestmark = pytest.mark.cuda

OPTIMIZERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "sgd": (ut.optim.SGD, {"lr": 0.1}),
    "sgd with momentum": (ut.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    "adam": (ut.optim.Adam, {"lr": 0.1}),
    "adam with amsgrad": (ut.optim.Adam, {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1}),
    "adamw": (ut.optim.AdamW, {"lr": 0.1}),
    "adamax": (ut.optim.Adamax, {}),
    "nadam": (ut.optim.NAdam, {}),
    "radam": (ut.optim.RAdam, {}),
    "rmsprop": (ut.optim.RMSprop, {"momentum": 0.5, "centered": True}),
    "adagrad": (ut.optim.Adagrad, {}),
    "adadelta": (ut.optim.Adadelta, {}),
    "rprop": (ut.optim.Rprop, {}),
    "asgd": (ut.optim.ASGD, {}),
}
SHAPES = [(7,), (64, 33), (1,), (0,), (3000,)]


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("dtype", (ut.float32, ut.float64))
def test_steps_of_several_parameters(name: str, dtype: ut.dtype) -> None:
    make, options = OPTIMIZERS[name]

    def trained(device: str) -> list[ut.Tensor]:
        parameters = [numbers(*shape, dtype=dtype, seed=i).to(device).requires_grad_() for i, shape in enumerate(SHAPES)]
        optimizer = make(parameters, **options)
        for step in range(3):
            for i, p in enumerate(parameters):
                p.grad = numbers(*p.shape, dtype=dtype, seed=10 * step + i + 5).to(device)
            optimizer.step()
        return [p.detach() for p in parameters]
    for got, expected in zip(trained("cuda"), trained("cpu")):
        close(got, expected)


def test_more_parameters_than_one_launch_holds() -> None:
    def trained(device: str) -> list[ut.Tensor]:
        parameters = [numbers(i % 5 + 1, seed=i).to(device).requires_grad_() for i in range(100)]
        optimizer = ut.optim.Adam(parameters)
        for i, p in enumerate(parameters):
            p.grad = numbers(*p.shape, seed=i + 1).to(device)
        optimizer.step()
        return [p.detach() for p in parameters]
    for got, expected in zip(trained("cuda"), trained("cpu")):
        close(got, expected)


@pytest.mark.parametrize("dtype", (ut.float16, ut.bfloat16))
def test_parameters_of_half_dtypes_are_updated_by_one_kernel_as_on_the_cpu(dtype: ut.dtype) -> None:
    def trained(device: str) -> list[ut.Tensor]:
        parameters = [numbers(*shape, dtype=ut.float32, seed=i).to(device, dtype).requires_grad_() for i, shape in enumerate(SHAPES)]
        optimizer = ut.optim.AdamW(parameters, lr=0.1)
        for step in range(3):
            for i, p in enumerate(parameters):
                p.grad = numbers(*p.shape, dtype=ut.float32, seed=10 * step + i + 5).to(device, dtype)
            optimizer.step()
        return [p.detach() for p in parameters]
    for got, expected in zip(trained("cuda"), trained("cpu")):
        close(got, expected)


COUNTING = {name: value for name, value in OPTIMIZERS.items() if not name.startswith(("sgd", "adagrad"))}
COUNTING["asgd that averages from the second step on"] = (ut.optim.ASGD, {"lr": 0.1, "t0": 2})


@pytest.mark.parametrize("name", COUNTING)
def test_a_captured_step_counts_on_when_it_is_replayed(name: str) -> None:
    make, options = COUNTING[name]

    def trained(captured: bool) -> list[float]:
        p = ut.nn.Parameter(numbers(5, seed=1).cuda())
        q = ut.nn.Parameter(numbers(3, seed=2).cuda())
        optimizer = make([p, q], capturable=captured, **options)

        def step() -> None:
            optimizer.zero_grad(set_to_none=True)
            (p * p).sum().backward()
            q.grad = p.detach()[:3].clone()
            optimizer.step()
        if not captured:
            for _ in range(6):
                step()
            return p.tolist() + q.tolist()
        stream = ut.cuda.Stream()
        stream.wait_stream(ut.cuda.current_stream())
        with ut.cuda.stream(stream):
            step()
            step()
        ut.cuda.current_stream().wait_stream(stream)
        graph = ut.cuda.CUDAGraph()
        with ut.cuda.graph(graph):
            step()
        for _ in range(4):
            graph.replay()
        assert optimizer.state[p]["step"].item() == 6
        return p.tolist() + q.tolist()
    assert trained(True) == pytest.approx(trained(False), rel=1e-5)


def test_a_step_that_counts_on_the_host_cannot_be_captured() -> None:
    p = ut.nn.Parameter(ut.ones(2, device="cuda"))
    p.grad = ut.ones(2, device="cuda")
    optimizer = ut.optim.Adam([p])
    optimizer.step()
    with pytest.raises(RuntimeError, match="capturable is False"), ut.cuda.graph(ut.cuda.CUDAGraph()):
        optimizer.step()
    assert (p + 1).shape == (2,)
