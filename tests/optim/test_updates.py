"""A hundred steps of every optimizer match the algorithm written out in NumPy (textbook_updates.py), in float64 and float32."""

from __future__ import annotations

import numpy as np
import pytest
import textbook_updates as textbook
from scipy import optimize

import undertow as ut

SHAPES = ((5, 3), (3,), (4, 2, 2))
RNG = np.random.default_rng(0)
STARTS, WANTED = ([RNG.standard_normal(s) for s in SHAPES] for _ in range(2))
CASES = [
    ("SGD", {"lr": 0.01}),
    ("SGD", {"lr": 0.01, "momentum": 0.9}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.0001, "momentum": 0.5, "dampening": 0.3, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"lr": 0.05, "amsgrad": True, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.02, "betas": (0.5, 0.8), "eps": 1e-3}),
    ("AdamW", {"lr": 0.02}),
    ("AdamW", {"lr": 0.02, "amsgrad": True, "maximize": True}),
    ("NAdam", {"lr": 0.02}),
    ("NAdam", {"lr": 0.02, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.02}),
    ("RAdam", {"lr": 0.02, "weight_decay": 0.1}),
    ("RAdam", {"lr": 0.02, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("Adamax", {"lr": 0.02}),
    ("Adamax", {"lr": 0.02, "weight_decay": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.01, "initial_accumulator_value": 0.1}),
    ("Adagrad", {"weight_decay": 0.1}),
    ("Adadelta", {"lr": 1.0}),
    ("Adadelta", {"rho": 0.7, "weight_decay": 0.1}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9, "centered": True, "lr": 0.001}),
    ("RMSprop", {"weight_decay": 0.1, "alpha": 0.8}),
    ("Rprop", {}),
    ("Rprop", {"etas": (0.3, 1.5), "step_sizes": (1e-3, 0.2)}),
    ("ASGD", {"t0": 10}),
    ("ASGD", {"lr": 0.005, "lambd": 0.1, "weight_decay": 0.1}),
    ("Adafactor", {}),
    ("Adafactor", {"lr": 0.5, "weight_decay": 0.1, "d": 2.0}),
    ("Adafactor", {"eps": (1e-3, 1e-2), "beta2_decay": -0.5, "maximize": True}),
]
IDS = [f"{n}-{i}" for i, (n, _) in enumerate(CASES)]


def slope(w: np.ndarray, a: np.ndarray) -> np.ndarray:
    """The gradient of (w - a)^2 (1 + a^2) + w^4 / 10."""
    return 2 * (w - a) * (1 + a * a) + 0.4 * w**3


def loss(w, a):
    return (((w - a) ** 2) * (1 + a * a)).sum() + (w**4).sum() * 0.1


def by_textbook(name: str, options: dict, steps: int) -> list[np.ndarray]:
    options = dict(options)
    sign = -1.0 if options.pop("maximize", False) else 1.0
    step = getattr(textbook, name.lower())(**options)
    ended = []
    for w, a in zip(STARTS, WANTED, strict=True):
        kept: dict = {}
        for t in range(1, steps + 1):
            w = step(w, sign * slope(w, a), t, kept)
        ended.append(w)
    return ended


def by_us(name: str, options: dict, steps: int, dtype=ut.float64, family=None):
    weights = [ut.tensor(w, dtype=dtype).requires_grad_() for w in STARTS]
    wanted = [ut.tensor(a, dtype=dtype) for a in WANTED]
    optimizer = (family or getattr(ut.optim, name))(weights, **options)
    for _ in range(steps):
        optimizer.zero_grad()
        sum(loss(w, a) for w, a in zip(weights, wanted, strict=True)).backward()
        optimizer.step()
    return [w.detach().numpy() for w in weights], optimizer


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_a_hundred_steps_match_the_textbook(name, options):
    # Long steps around the minimum enlarge rounding errors a thousandfold every twenty steps.
    steps = 40 if options.get("eps") == 1e-3 or options.get("d") or (name == "Adafactor" and "maximize" in options) else 100
    # As in PyTorch, eta and mu of ASGD and the product of NAdam's momenta are kept in float32.
    tolerance = 1e-6 if name in ("ASGD", "NAdam") else 1e-9
    for ours, wanted in zip(by_us(name, options, steps)[0], by_textbook(name, options, steps), strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=tolerance, atol=tolerance / 10)


@pytest.mark.parametrize(("name", "options"), [c for c in CASES if c[0] != "Adafactor"], ids=[i for i in IDS if "Adafactor" not in i])
def test_float32_stays_near(name, options):
    for ours, wanted in zip(by_us(name, options, 20, ut.float32)[0], by_textbook(name, options, 20), strict=True):
        assert ours.dtype == np.float32
        np.testing.assert_allclose(ours, wanted, rtol=1e-4, atol=1e-4)


def test_the_average_of_asgd_is_kept():
    _, optimizer = by_us("ASGD", {"t0": 10}, 40)
    step, kept, w = textbook.asgd(t0=10), {}, STARTS[0]
    for t in range(1, 41):
        w = step(w, slope(w, WANTED[0]), t, kept)
    state = next(iter(optimizer.state.values()))
    np.testing.assert_allclose(state["ax"].numpy(), kept["average"], rtol=1e-6)


@pytest.mark.parametrize("shape", [(4, 6), (6, 4), (5, 5)], ids=str)
@pytest.mark.parametrize("options", [{}, {"nesterov": False, "weight_decay": 0.0}, {"adjust_lr_fn": "match_rms_adamw", "momentum": 0.5}], ids=str)
def test_muon_matches_the_textbook_within_bfloat16(shape, options):
    rng = np.random.default_rng(0)
    w, pushes = rng.normal(size=shape), rng.normal(size=(10, *shape))
    p = ut.nn.Parameter(ut.tensor(w.astype("float32")))
    optimizer, step, kept = ut.optim.Muon([p], lr=0.1, **options), textbook.muon(lr=0.1, **options), {}
    for t, push in enumerate(pushes, 1):
        p.grad = ut.tensor(push.astype("float32"))
        optimizer.step()
        w = step(w, push, t, kept)
    np.testing.assert_allclose(p.detach().numpy(), w, atol=0.03)  # the products are in bfloat16


def test_muon_makes_its_update_orthogonal():
    p = ut.nn.Parameter(ut.zeros(4, 8))
    p.grad = ut.linspace(-1, 1, 32).reshape(4, 8) ** 3 + ut.eye(4, 8)
    ut.optim.Muon([p], lr=1.0, weight_decay=0.0, nesterov=False).step()
    values = ut.linalg.svdvals(p.detach())
    assert ((values > 0.6) & (values < 1.3)).all()


def descent(start, f, **options):
    w = ut.tensor(start, dtype=ut.float64, requires_grad=True)
    optimizer = ut.optim.LBFGS([w], **options)

    def closure():
        optimizer.zero_grad()
        value = f(w)
        value.backward()
        return value

    optimizer.step(closure)
    return w.detach().numpy(), optimizer.state[w]["func_evals"]


@pytest.mark.parametrize("options", [{"lr": 0.1}, {"lr": 0.5, "max_iter": 40}, {"lr": 0.3, "history_size": 3}], ids=str)
def test_lbfgs_with_a_fixed_step_matches_the_textbook(options):
    a = WANTED[0].ravel()
    ours, evaluations = descent(STARTS[0].ravel(), lambda w: loss(w, ut.tensor(a)), **options)
    f = lambda w: (loss(w, a), slope(w, a))
    wanted, counted = textbook.lbfgs(f, STARTS[0].ravel(), options["lr"], options.get("max_iter", 20), options.get("history_size", 100))
    np.testing.assert_allclose(ours, wanted, rtol=1e-9)
    assert evaluations == counted


def test_lbfgs_with_a_line_search_finds_scipys_minimum():
    start = [-1.2, 1.0]
    rosenbrock = lambda x: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    ours, evaluations = descent(start, rosenbrock, line_search_fn="strong_wolfe", max_iter=100, max_eval=400, tolerance_change=1e-14)
    theirs = optimize.minimize(rosenbrock, start, jac=optimize.rosen_der, method="L-BFGS-B", tol=1e-12)
    np.testing.assert_allclose(ours, theirs.x, atol=1e-5)
    assert evaluations < 2 * theirs.nfev


@pytest.mark.parametrize("max_eval", [1, 2, 3, 5, 15, 40])
def test_the_line_search_uses_no_more_evaluations_than_it_may(max_eval, same_as_torch):
    def scenario(L):
        x = L.tensor([-1.2, 1.0], dtype=L.float64, requires_grad=True)
        optimizer = L.optim.LBFGS([x], line_search_fn="strong_wolfe", max_iter=50, max_eval=max_eval)
        losses = []

        def closure():
            optimizer.zero_grad()
            value = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
            value.backward()
            losses.append(value.item())
            return value

        for _ in range(2):
            optimizer.step(closure)
        return x, losses, optimizer.state[x]["func_evals"]

    same_as_torch(scenario)


ELEMENTWISE = [c for c in CASES if c[0] != "Adafactor"]


@pytest.mark.parametrize(("name", "options"), ELEMENTWISE, ids=[i for i in IDS if "Adafactor" not in i])
def test_the_formula_in_tensor_operations_matches_the_native_update(name, options):
    class Plain(getattr(ut.optim, name)):
        def _step_apart(self, p, g, states, row, native):
            self._step_recorded(p, g, states, row)

        def _step_group(self, group):
            import undertow.optim._elementwise as module

            kept, module._NATIVE = module._NATIVE, ()
            try:
                super()._step_group(group)
            finally:
                module._NATIVE = kept

    for formula, native in zip(by_us(name, options, 20, family=Plain)[0], by_us(name, options, 20)[0], strict=True):
        np.testing.assert_allclose(formula, native, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", sorted({c[0] for c in CASES} - {"Rprop"}))
def test_flags_do_not_change_the_steps(name):
    plain, _ = by_us(name, {}, 5)
    for flags in ({"foreach": False}, {"foreach": True}, {"lr": None}):
        if flags == {"lr": None}:  # a rate that is a tensor
            flags = {"lr": ut.tensor(getattr(ut.optim, name)([ut.ones(1, requires_grad=True)]).defaults["lr"], dtype=ut.float64)}
        for a, b in zip(by_us(name, flags, 5)[0], plain, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "complex64"])
def test_other_dtypes_step_too(dtype):
    w = ut.tensor([1.0, -2.0, 3.0], dtype=getattr(ut, dtype)).requires_grad_()
    optimizer, step, kept = ut.optim.Adam([w], lr=0.1), textbook.adam(lr=0.1), {}
    wanted = np.array([1.0, -2.0, 3.0])
    for t in range(1, 4):
        optimizer.zero_grad()
        (w * w.conj()).real.sum().backward()
        optimizer.step()
        wanted = step(wanted, 2 * wanted, t, kept)
    np.testing.assert_allclose(w.detach().to(ut.complex64 if dtype == "complex64" else ut.float32).numpy(), wanted, rtol=1e-2)


def test_a_complex_parameter_steps_as_two_real_ones():
    z = np.array([1.0 + 2.0j, -0.5j])
    w = ut.tensor(z).requires_grad_()
    optimizer, step, kept = ut.optim.Adam([w], lr=0.1), textbook.adam(lr=0.1), {}
    pair = z.view(np.float64)
    for t in range(1, 6):
        optimizer.zero_grad()
        (w * w.conj()).real.sum().backward()
        optimizer.step()
        pair = step(pair, 2 * pair, t, kept)
    np.testing.assert_allclose(w.detach().numpy(), pair.view(np.complex128), rtol=1e-10)


def test_training_continues_from_a_state_dict():
    w = ut.ones(3, requires_grad=True)
    a = ut.optim.Adam([w], lr=0.1)
    (w**2).sum().backward()
    a.step()
    v = w.detach().clone().requires_grad_()
    b = ut.optim.Adam([v], lr=0.5)
    b.load_state_dict(a.state_dict())
    v.grad = w.grad.clone()
    a.step()
    b.step()
    assert ut.equal(v, w) and b.param_groups[0]["lr"] == 0.1


def test_plain_sgd_keeps_no_state():
    _, optimizer = by_us("SGD", {"lr": 0.01, "weight_decay": 0.1}, 2)
    assert len(optimizer.state) == 0 and optimizer.state_dict()["state"] == {}
