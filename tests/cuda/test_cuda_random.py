"""Random numbers of a GPU: the right distributions, and the same ones for the same seed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import undertow as ut

pytestmark = pytest.mark.cuda
N = 20000

FILLS: dict[str, tuple[Callable[[ut.Tensor], ut.Tensor], float, float]] = {  # mean and variance
    "uniform": (lambda t: t.uniform_(-1, 3), 1.0, 16 / 12),
    "normal": (lambda t: t.normal_(2, 3), 2.0, 9.0),
    "exponential": (lambda t: t.exponential_(2), 0.5, 0.25),
    "geometric": (lambda t: t.geometric_(0.25), 4.0, 12.0),
    "bernoulli": (lambda t: t.bernoulli_(0.3), 0.3, 0.21),
    "integers": (lambda t: t.random_(0, 10), 4.5, 8.25),
    "log_normal": (lambda t: t.log_normal_(0, 0.25), 1.0317, 0.0687),
}


@pytest.mark.parametrize("name", FILLS)
@pytest.mark.parametrize("dtype", (ut.float32, ut.float64))
def test_means_and_variances(name: str, dtype: ut.dtype) -> None:
    fill, mean, variance = FILLS[name]
    ut.manual_seed(3)
    x = fill(ut.empty(N, dtype=dtype, device="cuda")).double().cpu()
    assert abs(x.mean().item() - mean) < 6 * (variance / N) ** 0.5
    assert abs(x.var().item() - variance) < 0.2 * variance


def test_distributions_with_parameters_in_a_tensor() -> None:
    ut.manual_seed(3)
    for got, mean, variance in ((ut.poisson(ut.full((N,), 4.0, device="cuda")), 4.0, 4.0), (ut.poisson(ut.full((N,), 40.0, device="cuda")), 40.0, 40.0),
                                (ut.bernoulli(ut.full((N,), 0.7, device="cuda")), 0.7, 0.21), (ut._standard_gamma(ut.full((N,), 3.0, device="cuda")), 3.0, 3.0),
                                (ut.binomial(ut.full((N,), 50.0, device="cuda"), ut.full((N,), 0.4, device="cuda")), 20.0, 12.0)):
        x = got.double().cpu()
        assert abs(x.mean().item() - mean) < 6 * (variance / N) ** 0.5
        assert abs(x.var().item() - variance) < 0.2 * variance


def test_the_same_seed_gives_the_same_numbers_in_every_layout() -> None:
    ut.manual_seed(5)
    a = ut.rand(40, 30, device="cuda")
    ut.manual_seed(5)
    b = ut.empty(30, 40, device="cuda").t().uniform_()
    assert ut.equal(a.flatten().cpu(), b.t().flatten().cpu())
    assert not ut.equal(a.cpu(), ut.rand(40, 30, device="cuda").cpu())


def test_a_saved_state_is_16_bytes_and_repeats_the_numbers() -> None:
    g = ut.Generator("cuda").manual_seed(9)
    ut.rand(10, device="cuda", generator=g)
    state = g.get_state()
    assert state.numel() == 16
    a = ut.randn(10, device="cuda", generator=g)
    g.set_state(state)
    assert ut.equal(a.cpu(), ut.randn(10, device="cuda", generator=g).cpu())


@pytest.mark.parametrize("n", (1, 100, 5000))
def test_a_permutation_has_every_number_once(n: int) -> None:
    p = ut.randperm(n, device="cuda").cpu()
    assert ut.equal(p.sort()[0], ut.arange(n))
    assert n == 1 or not ut.equal(p, ut.arange(n))


def test_multinomial() -> None:
    ut.manual_seed(3)
    w = ut.tensor([[0.0, 1.0, 3.0], [2.0, 2.0, 0.0]], device="cuda")
    drawn = ut.multinomial(w, 4000, replacement=True).cpu()
    for row, shares in zip(drawn, ((0.0, 0.25, 0.75), (0.5, 0.5, 0.0))):
        for value, share in enumerate(shares):
            assert abs((row == value).double().mean().item() - share) < 0.05
    chosen = ut.multinomial(w, 2).cpu()
    assert chosen.sort(1)[0].tolist() == [[1, 2], [0, 1]]


def test_dropout_keeps_the_right_share() -> None:
    ut.manual_seed(3)
    y = ut.nn.functional.dropout(ut.ones(N, device="cuda"), 0.25).cpu()
    assert set(y.unique().tolist()) == {0.0, (ut.tensor(1.0) / 0.75).item()}
    assert abs((y > 0).double().mean().item() - 0.75) < 0.02


def test_replays_of_a_graph_draw_what_the_same_calls_would() -> None:
    def draw() -> list[ut.Tensor]:
        x = ut.ones(40, device="cuda")
        return [ut.rand(5, device="cuda"), ut.randn(3, device="cuda"), ut.randint(0, 1000, (4,), device="cuda"), ut.nn.functional.dropout(x)]
    draw()
    graph = ut.cuda.CUDAGraph()
    before = ut.cuda.get_rng_state().tolist()
    with ut.cuda.graph(graph):
        captured = draw()
    assert ut.cuda.get_rng_state().tolist() == before
    found, expected = [], []
    ut.cuda.manual_seed(7)
    for _ in range(3):
        graph.replay()
        found.append([t.tolist() for t in captured])
    ut.cuda.manual_seed(7)
    for _ in range(3):
        expected.append([t.tolist() for t in draw()])
    assert found == expected
    assert found[0] != found[1] != found[2]


def test_a_graph_keeps_the_state_of_a_generator_that_is_gone() -> None:
    generator = ut.Generator("cuda").manual_seed(3)
    expected = [ut.rand(4, device="cuda", generator=generator).tolist() for _ in range(2)]
    generator.manual_seed(3)
    graph = ut.cuda.CUDAGraph()
    graph.register_generator_state(generator)
    with ut.cuda.graph(graph):
        x = ut.rand(4, device="cuda", generator=generator)
    del generator
    for one in expected:
        graph.replay()
        assert x.tolist() == one
