"""Rates of every schedule by their closed forms, epoch by epoch."""

from __future__ import annotations

import math

import pytest

import undertow as ut
from undertow.optim import lr_scheduler as schedules

BASE = 0.1


def staircase(epoch, low, high, up, down, scale=lambda cycle, epoch: 1.0):
    """A triangle that rises in `up` epochs and falls in `down`."""
    cycle, place = divmod(epoch, up + down)
    height = place / up if place <= up else (up + down - place) / down
    return low + (high - low) * height * scale(cycle, epoch)


def cosine(start, end, part):
    return end + (start - end) * (1 + math.cos(math.pi * part)) / 2


def restarts(epoch, period, factor, low):
    while epoch >= period:
        epoch, period = epoch - period, period * factor
    return cosine(BASE, low, epoch / period)


def one_cycle(epoch, ends, rates, blend):
    """Interpolates within the phases; each phase goes from one rate to the next."""
    begun = 0.0
    for end, (a, b) in zip(ends, zip(rates, rates[1:], strict=False), strict=True):
        if epoch <= end or end == ends[-1]:
            return blend(a, b, (epoch - begun) / (end - begun))
        begun = end
    raise AssertionError("the last phase holds the rest")


line = lambda a, b, part: a + (b - a) * part
CASES = {
    "StepLR": ({"step_size": 3, "gamma": 0.5}, lambda e: BASE * 0.5 ** (e // 3)),
    "MultiStepLR": ({"milestones": [2, 5, 5], "gamma": 0.3}, lambda e: BASE * 0.3 ** sum(e >= m for m in (2, 5, 5))),
    "ConstantLR": ({"factor": 0.5, "total_iters": 4}, lambda e: BASE * (0.5 if e < 4 else 1.0)),
    "LinearLR": ({"start_factor": 0.1, "end_factor": 0.7, "total_iters": 6}, lambda e: BASE * line(0.1, 0.7, min(e, 6) / 6)),
    "ExponentialLR": ({"gamma": 0.9}, lambda e: BASE * 0.9**e),
    "PolynomialLR": ({"total_iters": 6, "power": 2.0}, lambda e: BASE * (1 - min(e, 6) / 6) ** 2),
    "CosineAnnealingLR": ({"T_max": 4, "eta_min": 0.01}, lambda e: cosine(BASE, 0.01, e / 4)),
    "CosineAnnealingWarmRestarts": ({"T_0": 3, "T_mult": 2, "eta_min": 0.01}, lambda e: restarts(e, 3, 2, 0.01)),
    "CosineAnnealingWarmRestarts, even": ({"T_0": 3}, lambda e: restarts(e, 3, 1, 0.0)),
    "CyclicLR": ({"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 3, "step_size_down": 2, "cycle_momentum": False}, lambda e: staircase(e, 0.01, 0.1, 3, 2)),
    "CyclicLR, halved": (
        {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 3, "mode": "triangular2", "cycle_momentum": False},
        lambda e: staircase(e, 0.01, 0.1, 3, 3, lambda cycle, epoch: 0.5**cycle),
    ),
    "CyclicLR, range": (
        {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 3, "mode": "exp_range", "gamma": 0.9, "cycle_momentum": False},
        lambda e: staircase(e, 0.01, 0.1, 3, 3, lambda cycle, epoch: 0.9**epoch),
    ),
    "OneCycleLR": (
        {"max_lr": 0.5, "total_steps": 12, "cycle_momentum": False},
        lambda e: one_cycle(e, (0.3 * 12 - 1, 11), (0.5 / 25, 0.5, 0.5 / 25 / 1e4), lambda a, b, p: cosine(a, b, p)),
    ),
    "OneCycleLR, three phases": (
        {"max_lr": 0.5, "epochs": 3, "steps_per_epoch": 4, "anneal_strategy": "linear", "three_phase": True, "cycle_momentum": False},
        lambda e: one_cycle(e, (0.3 * 12 - 1, 2 * 0.3 * 12 - 2, 11), (0.5 / 25, 0.5, 0.5 / 25, 0.5 / 25 / 1e4), line),
    ),
    "LambdaLR": ({"lr_lambda": lambda e: 0.9**e}, lambda e: BASE * 0.9**e),
    "MultiplicativeLR": ({"lr_lambda": lambda e: 1 - 0.01 * e}, lambda e: BASE * math.prod(1 - 0.01 * k for k in range(1, e + 1))),
}


def optimizer(lr=BASE, **options):
    return ut.optim.SGD([ut.ones(2, requires_grad=True)], lr=lr, **options)


def rates(schedule, of, epochs):
    found = [of.param_groups[0]["lr"]]
    for _ in range(epochs):
        of.step()
        schedule.step()
        found.append(of.param_groups[0]["lr"])
    return found


@pytest.mark.parametrize("case", CASES)
def test_rates_have_the_closed_form(case):
    options, form = CASES[case]
    of = optimizer()
    schedule = getattr(schedules, case.split(",")[0])(of, **options)
    epochs = 11 if "OneCycle" in case else 25 if case != "PolynomialLR" else 9
    assert rates(schedule, of, epochs) == pytest.approx([form(e) for e in range(epochs + 1)], rel=1e-10, abs=1e-12)
    assert schedule.get_last_lr() == [of.param_groups[0]["lr"]] and schedule.last_epoch == epochs


@pytest.mark.parametrize("case", [c for c in CASES if c != "MultiplicativeLR" and not c.startswith(("OneCycle", "LambdaLR"))])
def test_a_resumed_schedule_continues(case):
    options, form = CASES[case]
    of = optimizer()
    schedule = getattr(schedules, case.split(",")[0])(of, **options)
    rates(schedule, of, 4)
    again = optimizer()
    resumed = getattr(schedules, case.split(",")[0])(again, **options)
    again.load_state_dict(of.state_dict())
    resumed.load_state_dict(schedule.state_dict())
    assert rates(resumed, again, 5) == pytest.approx([form(e) for e in range(4, 10)], rel=1e-10)


def test_groups_have_their_own_rates():
    of = ut.optim.SGD([{"params": [ut.ones(1, requires_grad=True)], "lr": 0.2}, {"params": [ut.ones(1, requires_grad=True)], "lr": 0.4}])
    schedule = schedules.ExponentialLR(of, 0.5)
    of.step()
    schedule.step()
    assert [g["lr"] for g in of.param_groups] == pytest.approx([0.1, 0.2])
    two = schedules.LambdaLR(ut.optim.SGD([{"params": [ut.ones(1, requires_grad=True)]}, {"params": [ut.ones(1, requires_grad=True)]}], lr=1.0), [lambda e: 0.5, lambda e: 0.25])
    assert two.get_last_lr() == [0.5, 0.25]


def test_a_sequence_takes_turns_and_a_chain_multiplies():
    of = optimizer(1.0)
    sequence = schedules.SequentialLR(of, [schedules.ConstantLR(of, 0.1, 2), schedules.ExponentialLR(of, 0.9)], [3])
    # The second starts over at the third epoch, from the optimizer's initial rate.
    assert rates(sequence, of, 6) == pytest.approx([0.1, 0.1, 1.0, 1.0, 0.9, 0.81, 0.729])
    of = optimizer(1.0)
    chain = schedules.ChainedScheduler([schedules.ConstantLR(of, 0.1, 2), schedules.ExponentialLR(of, 0.9)])
    assert rates(chain, of, 4) == pytest.approx([(0.1 if e < 2 else 1.0) * 0.9**e for e in range(5)])


def plateau(values, rate=BASE, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel", cooldown=0, min_lr=0.0, eps=1e-8):
    """The rates by hand: bad epochs are counted, and after `patience` of them the rate falls."""
    best, bad, resting, found = None, 0, 0, []
    for value in values:
        margin = threshold * abs(best) if best is not None and threshold_mode == "rel" else threshold
        better = best is None or (value < best - margin if mode == "min" else value > best + margin)
        best, bad = (value, 0) if better else (best, bad + 1)
        if resting:
            resting, bad = resting - 1, 0
        if bad > patience:
            lower = max(rate * factor, min_lr)
            rate = lower if rate - lower > eps else rate
            bad, resting = 0, cooldown
        found.append(rate)
    return found


PLATEAUS = [
    {"patience": 1}, {"patience": 1, "cooldown": 2}, {"mode": "max", "patience": 0, "factor": 0.5}, {"patience": 1, "threshold": 0.1, "threshold_mode": "abs"},
    {"patience": 0, "min_lr": 0.02}, {"patience": 0, "eps": 0.05},
]  # fmt: skip


@pytest.mark.parametrize("options", PLATEAUS, ids=str)
def test_a_plateau_lowers_the_rate(options):
    values = [1.0, 0.9, 0.95, 0.95, 0.95, 0.94, 0.9, 0.9, 0.9, 0.5, 0.6, 0.6, 0.6, 0.6, 0.6]
    of, found = optimizer(), []
    schedule = schedules.ReduceLROnPlateau(of, **options)
    for value in values:
        of.step()
        schedule.step(value)
        found.append(of.param_groups[0]["lr"])
    assert found == pytest.approx(plateau(values, **options), rel=1e-12)


def test_momentum_cycles_against_the_rate():
    of = optimizer(momentum=0.9)
    schedule = schedules.OneCycleLR(of, max_lr=0.5, total_steps=8)
    ends, momenta = (0.3 * 8 - 1, 7), []
    for _ in range(7):
        momenta.append(of.param_groups[0]["momentum"])
        of.step()
        schedule.step()
    assert momenta == pytest.approx([one_cycle(e, ends, (0.95, 0.85, 0.95), lambda a, b, p: cosine(a, b, p)) for e in range(7)])
    of = optimizer(momentum=0.9)
    schedule, momenta = schedules.CyclicLR(of, 0.1, 0.2, step_size_up=2), []
    for _ in range(7):
        momenta.append(of.param_groups[0]["momentum"])
        of.step()
        schedule.step()
    assert momenta == pytest.approx([0.9 - staircase(e, 0.0, 0.1, 2, 2) for e in range(7)])


@pytest.mark.parametrize("strategy", ["cos", "linear"])
def test_swa_anneals_to_its_rate(strategy):
    of = optimizer()
    schedule = ut.optim.swa_utils.SWALR(of, swa_lr=0.05, anneal_epochs=4, anneal_strategy=strategy)
    blend = (lambda p: cosine(BASE, 0.05, p)) if strategy == "cos" else (lambda p: line(BASE, 0.05, p))
    assert rates(schedule, of, 6)[1:] == pytest.approx([blend(min(e, 4) / 4) for e in range(1, 7)])


def test_averages_of_models_are_means():
    tools, layer = ut.optim.swa_utils, ut.nn.Linear(2, 1)
    forms = {
        "mean": ({}, [1.0, 2.0, 3.0]),
        "half": ({"avg_fn": lambda old, new, n: old * 0.5 + new * 0.5}, [1.0, 2.0, 3.5]),
        "exponential": ({"multi_avg_fn": tools.get_ema_multi_avg_fn(0.9)}, [1.0, 0.9 + 0.3, 0.9 * 1.2 + 0.5]),
        "all": ({"multi_avg_fn": tools.get_swa_multi_avg_fn()}, [1.0, 2.0, 3.0]),
    }
    for options, wanted in forms.values():
        average, found = tools.AveragedModel(layer, **options), []
        for value in (1.0, 3.0, 5.0):
            with ut.no_grad():
                layer.weight.fill_(value)
            average.update_parameters(layer)
            found.append(average.module.weight[0, 0].item())
        assert found == pytest.approx(wanted, rel=1e-6) and int(average.n_averaged) == 3
