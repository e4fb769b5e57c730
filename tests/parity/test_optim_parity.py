"""Optimizers and schedules compared with torch: the same trajectories, state dicts and errors."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch, the oracle, is not installed")

import undertow as ut

CASES = [
    ("SGD", {"lr": 0.01}),
    ("SGD", {"lr": 0.01, "momentum": 0.9}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.0001, "momentum": 0.5, "dampening": 0.3, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"lr": 0.05, "amsgrad": True, "weight_decay": 0.1}),
    ("AdamW", {"lr": 0.02}),
    ("AdamW", {"lr": 0.02, "amsgrad": True, "maximize": True}),
    ("NAdam", {"lr": 0.02}),
    ("NAdam", {"lr": 0.02, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.02}),
    ("RAdam", {"lr": 0.02, "weight_decay": 0.1}),
    ("Adamax", {"lr": 0.02}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.01, "initial_accumulator_value": 0.1}),
    ("Adadelta", {"lr": 1.0}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9, "centered": True, "lr": 0.001}),
    ("Rprop", {}),
    ("ASGD", {"t0": 10}),
    ("LBFGS", {"lr": 0.1}),
    ("LBFGS", {"line_search_fn": "strong_wolfe"}),
]


def trained(L, name, options, steps, **kinds):
    rng = np.random.default_rng(0)
    shapes = ((5, 3), (3,), (4, 2, 2))
    weights = [L.tensor(rng.standard_normal(s)).requires_grad_() for s in shapes]
    wanted = [L.tensor(rng.standard_normal(s)) for s in shapes]
    optimizer = getattr(L.optim, name)(weights, **options, **kinds)

    def closure():
        optimizer.zero_grad()
        loss = sum((((w - a) ** 2) * (1 + a * a)).sum() + (w**4).sum() * 0.1 for w, a in zip(weights, wanted))
        loss.backward()
        return loss

    for _ in range(steps):
        if name == "LBFGS":
            optimizer.step(closure)
        else:
            closure()
            optimizer.step()
    return np.concatenate([w.detach().numpy().ravel() for w in weights]), optimizer


@pytest.mark.parametrize(("name", "options"), CASES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(CASES)])
def test_a_hundred_steps_match_torch_up_to_rounding(name, options):
    steps = 5 if name == "LBFGS" else 100
    theirs, reference = trained(torch, name, options, steps)
    ours, optimizer = trained(ut, name, options, steps)
    # A line search decides by rounded numbers.
    np.testing.assert_allclose(ours, theirs, rtol=1e-6 if "line_search_fn" in options else 1e-10, atol=1e-12)
    a, b = reference.state_dict(), optimizer.state_dict()
    assert sorted(a["param_groups"][0]) == sorted(b["param_groups"][0])
    assert sorted(a["state"].get(0, {})) == sorted(b["state"].get(0, {}))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "complex64"])
def test_other_dtypes_step_too(dtype):
    def run(L):
        w = L.tensor([1.0, -2.0, 3.0], dtype=getattr(L, dtype)).requires_grad_()
        optimizer = L.optim.Adam([w], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (w * w.conj()).real.sum().backward()
            optimizer.step()
        return np.array(w.detach().to(L.complex64 if dtype == "complex64" else L.float32).numpy())

    np.testing.assert_allclose(run(ut), run(torch), rtol=1e-2)


SCHEDULES = [
    ("StepLR", {"step_size": 3, "gamma": 0.5}),
    ("MultiStepLR", {"milestones": [2, 5], "gamma": 0.3}),
    ("ConstantLR", {"factor": 0.5, "total_iters": 4}),
    ("LinearLR", {"total_iters": 4}),
    ("ExponentialLR", {"gamma": 0.9}),
    ("PolynomialLR", {"total_iters": 6, "power": 2.0}),
    ("CosineAnnealingLR", {"T_max": 4, "eta_min": 0.01}),
    ("CosineAnnealingWarmRestarts", {"T_0": 3, "T_mult": 2}),
    ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 3, "mode": "triangular2", "cycle_momentum": False}),
    ("OneCycleLR", {"max_lr": 0.5, "total_steps": 12}),
    ("LambdaLR", {"lr_lambda": lambda e: 0.9**e}),
    ("MultiplicativeLR", {"lr_lambda": lambda e: 0.95}),
]


@pytest.mark.parametrize(("name", "options"), SCHEDULES, ids=[n for n, _ in SCHEDULES])
def test_a_schedule_gives_torchs_rates(name, options):
    def rates(L):
        w = L.ones(2, requires_grad=True)
        optimizer = L.optim.SGD([w], lr=0.1, momentum=0.9)
        schedule = getattr(L.optim.lr_scheduler, name)(optimizer, **options)
        out = []
        for _ in range(11):
            optimizer.step()
            schedule.step()
            out.append((schedule.get_last_lr()[0], optimizer.param_groups[0]["momentum"]))
        return out

    np.testing.assert_allclose(rates(ut), rates(torch), rtol=1e-12)


def test_plateaus_sequences_and_chains_give_torchs_rates():
    def rates(L):
        S = L.optim.lr_scheduler
        out = []
        for make in (
            lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.9)], [3]),
            lambda o: S.ChainedScheduler([S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.9)]),
        ):
            optimizer = L.optim.SGD([L.ones(1, requires_grad=True)], lr=1.0)
            schedule = make(optimizer)
            for _ in range(8):
                optimizer.step()
                schedule.step()
                out.append(optimizer.param_groups[0]["lr"])
        optimizer = L.optim.SGD([L.ones(1, requires_grad=True)], lr=1.0)
        schedule = S.ReduceLROnPlateau(optimizer, patience=1, cooldown=1)
        for metric in (1.0, 0.5, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6):
            schedule.step(metric)
            out.append(optimizer.param_groups[0]["lr"])
        return out

    np.testing.assert_allclose(rates(ut), rates(torch), rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"lr": -1}),
        ("SGD", {"nesterov": True}),
        ("Adam", {"betas": (1.0, 0.9)}),
        ("Adam", {"eps": -1}),
        ("RMSprop", {"alpha": -1}),
        ("Adadelta", {"rho": 2}),
        ("Rprop", {"etas": (2, 3)}),
        ("AdamW", {"weight_decay": -1}),
    ],
)
def test_bad_options_raise_torchs_errors(name, options):
    said = []
    for L in (torch, ut):
        with pytest.raises(ValueError) as caught:
            getattr(L.optim, name)([L.ones(1, requires_grad=True)], **options)
        said.append(str(caught.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("params", ["tensor", "empty", "number", "nonleaf", "twice"])
def test_bad_parameters_raise_torchs_class(params):
    kinds = []
    for L in (torch, ut):
        w = L.ones(2, requires_grad=True)
        given = {"tensor": w, "empty": [], "number": [1.0], "nonleaf": [w * 2], "twice": [{"params": [w]}, {"params": [w]}]}[params]
        with pytest.raises((TypeError, ValueError)) as caught:
            L.optim.SGD(given, lr=0.1)
        kinds.append((caught.type, str(caught.value).split(",")[0]))
    assert kinds[0] == kinds[1]


def test_plain_sgd_keeps_no_state_as_in_torch():
    for L in (ut, torch):
        _, optimizer = trained(L, "SGD", {"lr": 0.01, "weight_decay": 0.1}, 2)
        assert len(optimizer.state) == 0
        assert optimizer.state_dict()["state"] == {}
