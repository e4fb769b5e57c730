"""Corner cases of torch.optim.lr_scheduler and swa_utils compared with torch: resuming, unusual calls, tensor rates, warnings, errors."""

from __future__ import annotations

import pytest
from small_problems import parameter

import undertow as ut

SCHEDULES = {
    "LambdaLR": {"lr_lambda": lambda e: 0.9**e},
    "LambdaLR, two": {"lr_lambda": [lambda e: 0.9**e, lambda e: 0.5**e]},
    "MultiplicativeLR": {"lr_lambda": lambda e: 0.9},
    "StepLR": {"step_size": 2, "gamma": 0.5},
    "MultiStepLR": {"milestones": [2, 5, 5, 7]},
    "ConstantLR": {"factor": 0.5, "total_iters": 3},
    "LinearLR": {"start_factor": 0.1, "end_factor": 0.7, "total_iters": 6},
    "ExponentialLR": {"gamma": 0.9},
    "CosineAnnealingLR": {"T_max": 4, "eta_min": 0.01},
    "CyclicLR": {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 3, "step_size_down": 2, "mode": "triangular2", "cycle_momentum": False},
    "CyclicLR, range": {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 3, "mode": "exp_range", "gamma": 0.9, "cycle_momentum": False},
    "CosineAnnealingWarmRestarts": {"T_0": 2, "T_mult": 2, "eta_min": 0.01},
    "CosineAnnealingWarmRestarts, even": {"T_0": 3},
    "OneCycleLR": {"max_lr": 0.5, "total_steps": 12, "cycle_momentum": False},
    "OneCycleLR, three": {"max_lr": 0.5, "epochs": 3, "steps_per_epoch": 4, "anneal_strategy": "linear", "three_phase": True, "cycle_momentum": False},
    "PolynomialLR": {"total_iters": 6, "power": 2.0},
}


def sgd(lib, groups=2, lr=0.1):
    return lib.optim.SGD([{"params": [parameter(lib, 2)], "lr": lr * (i + 1)} for i in range(groups)], lr=lr)


def schedule(lib, case, optimizer, **more):
    return getattr(lib.optim.lr_scheduler, case.split(",")[0])(optimizer, **SCHEDULES[case], **more)


def rates(optimizer):
    return [float(g["lr"]) for g in optimizer.param_groups]


def kept(state):
    """A state dict without functions, in the order of its keys."""
    return {k: state[k] for k in sorted(state) if not k.startswith("_scale_fn") and k != "lr_lambdas"}


def advance(optimizer, scheduler, steps):
    out = []
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
        out.append(rates(optimizer))
    return out


@pytest.mark.parametrize("case", SCHEDULES)
def test_rates_and_last_rates_match_torch(case, same_as_torch):
    def run(lib):
        optimizer = sgd(lib)
        scheduler = schedule(lib, case, optimizer)
        return rates(optimizer), advance(optimizer, scheduler, 10), [float(lr) for lr in scheduler.get_last_lr()], scheduler.last_epoch

    same_as_torch(run)


@pytest.mark.parametrize("case", SCHEDULES)
def test_fifty_epochs_and_their_state_match_torch(case, same_as_torch):
    def run(lib):
        optimizer = sgd(lib)
        options = {**SCHEDULES[case], **({"total_steps": 60} if case == "OneCycleLR" else {"epochs": 15} if case == "OneCycleLR, three" else {})}
        scheduler = getattr(lib.optim.lr_scheduler, case.split(",")[0])(optimizer, **options)
        return advance(optimizer, scheduler, 50), kept(scheduler.state_dict())

    same_as_torch(run)


@pytest.mark.parametrize("case", SCHEDULES)
def test_a_schedule_resumes_from_its_state_dict(case, same_as_torch):
    def run(lib):
        optimizer = sgd(lib)
        scheduler = schedule(lib, case, optimizer)
        advance(optimizer, scheduler, 4)
        state = scheduler.state_dict()
        other = sgd(lib)
        resumed = schedule(lib, case, other)
        other.load_state_dict(optimizer.state_dict())
        resumed.load_state_dict(state)
        return sorted(k for k in state if not k.startswith("_scale_fn")), advance(other, resumed, 4)

    same_as_torch(run)


@pytest.mark.parametrize("initial", [False, True])
@pytest.mark.parametrize("last", [0, 3, 4])
@pytest.mark.parametrize("case", SCHEDULES)
def test_a_schedule_begun_in_the_middle(case, last, initial, same_as_torch):
    def run(lib):
        optimizer = sgd(lib)
        for group in optimizer.param_groups if initial else []:
            group.update(initial_lr=group["lr"], max_lr=1.0, min_lr=0.01)
        return advance(optimizer, schedule(lib, case, optimizer, last_epoch=last), 3)

    result = same_as_torch(run, characters=40)
    assert initial or result[0] == "KeyError"


@pytest.mark.parametrize("case", [case for case in SCHEDULES if case != "LambdaLR, two"])  # one group, one function
def test_a_rate_that_is_a_tensor_stays_one(case, same_as_torch):
    def run(lib):
        optimizer = lib.optim.SGD([parameter(lib, 2)], lr=lib.tensor(0.1))
        advance(optimizer, schedule(lib, case, optimizer), 5)
        return type(optimizer.param_groups[0]["lr"]).__name__, float(optimizer.param_groups[0]["lr"])

    assert same_as_torch(run)[0] == "Tensor"


@pytest.mark.parametrize("case", SCHEDULES)
def test_steps_in_the_wrong_order_or_to_an_epoch_warn_as_in_torch(case, same_as_torch):
    def too_early(lib):
        scheduler = schedule(lib, case, sgd(lib))
        scheduler.step()
        scheduler.step()

    def to_an_epoch(lib):
        optimizer = sgd(lib)
        scheduler = schedule(lib, case, optimizer)
        optimizer.step()
        scheduler.step(5)
        return rates(optimizer), scheduler.last_epoch

    same_as_torch(too_early)
    same_as_torch(to_an_epoch)


@pytest.mark.parametrize("case", SCHEDULES)
def test_asking_outside_a_step_warns(case, same_as_torch):
    same_as_torch(lambda lib: [float(lr) for lr in schedule(lib, case, sgd(lib)).get_lr()])
    assert same_as_torch(lambda lib: schedule(lib, case, 3))[0] in ("TypeError", "AttributeError")


def several(lib, optimizer):
    names = lib.optim.lr_scheduler
    return [names.ConstantLR(optimizer, 0.1, total_iters=2), names.ExponentialLR(optimizer, 0.9), names.LinearLR(optimizer, total_iters=3)]


ERROR_CASES = {
    "too few functions": lambda lib, s: s.LambdaLR(sgd(lib), lr_lambda=[lambda e: 1]),
    "too few factors": lambda lib, s: s.MultiplicativeLR(sgd(lib), lr_lambda=[lambda e: 1]),
    "a large constant": lambda lib, s: s.ConstantLR(sgd(lib), factor=1.5),
    "a start at zero": lambda lib, s: s.LinearLR(sgd(lib), start_factor=0),
    "an end too high": lambda lib, s: s.LinearLR(sgd(lib), end_factor=2.0),
    "an unknown cycle": lambda lib, s: s.CyclicLR(sgd(lib), 0.1, 0.2, mode="x"),
    "too few bases": lambda lib, s: s.CyclicLR(sgd(lib), [0.1], 0.2),
    "a cycle without momentum": lambda lib, s: s.CyclicLR(lib.optim.Adagrad([parameter(lib, 2)]), 0.1, 0.2),
    "a period of zero": lambda lib, s: s.CosineAnnealingWarmRestarts(sgd(lib), T_0=0),
    "a multiple of zero": lambda lib, s: s.CosineAnnealingWarmRestarts(sgd(lib), T_0=2, T_mult=0),
    "one cycle of unknown length": lambda lib, s: s.OneCycleLR(sgd(lib), max_lr=0.1),
    "one cycle of negative length": lambda lib, s: s.OneCycleLR(sgd(lib), max_lr=0.1, total_steps=-1),
    "one cycle of half a length": lambda lib, s: s.OneCycleLR(sgd(lib), max_lr=0.1, epochs=2),
    "a part above one": lambda lib, s: s.OneCycleLR(sgd(lib), max_lr=0.1, total_steps=5, pct_start=2.0),
    "an unknown strategy": lambda lib, s: s.OneCycleLR(sgd(lib), max_lr=0.1, total_steps=5, anneal_strategy="x"),
    "too many peaks": lambda lib, s: s.OneCycleLR(sgd(lib, 1), max_lr=[0.1, 0.2], total_steps=5),
    "a plateau of unknown mode": lambda lib, s: s.ReduceLROnPlateau(sgd(lib), mode="x"),
    "a plateau that grows": lambda lib, s: s.ReduceLROnPlateau(sgd(lib), factor=1.0),
    "a plateau of unknown threshold": lambda lib, s: s.ReduceLROnPlateau(sgd(lib), threshold_mode="x"),
    "a plateau with too few bounds": lambda lib, s: s.ReduceLROnPlateau(sgd(lib), min_lr=[0.1]),
    "a plateau of nothing": lambda lib, s: s.ReduceLROnPlateau(3),
    "a sequence of none": lambda lib, s: s.SequentialLR(sgd(lib), [], []),
    "a sequence over two optimizers": lambda lib, s: s.SequentialLR(sgd(lib), [s.StepLR(sgd(lib), 2)], []),
    "a chain of none": lambda lib, s: s.ChainedScheduler([]),
    "a chain over two optimizers": lambda lib, s: s.ChainedScheduler([s.StepLR(sgd(lib), 2), s.StepLR(sgd(lib), 2)]),
    "an average of unknown strategy": lambda lib, s: lib.optim.swa_utils.SWALR(sgd(lib), swa_lr=0.1, anneal_strategy="x"),
    "an average of negative length": lambda lib, s: lib.optim.swa_utils.SWALR(sgd(lib), swa_lr=0.1, anneal_epochs=-1),
    "an average with too few rates": lambda lib, s: lib.optim.swa_utils.SWALR(sgd(lib), swa_lr=[0.1]),
    "an average of decay above one": lambda lib, s: lib.optim.swa_utils.get_ema_avg_fn(1.5),
}


@pytest.mark.parametrize("what", ERROR_CASES)
def test_errors_match_torch(what, same_as_torch):
    result = same_as_torch(lambda lib: ERROR_CASES[what](lib, lib.optim.lr_scheduler))
    assert result[0] in ("ValueError", "TypeError")


def test_milestones_must_be_one_fewer_than_schedules(same_as_torch):
    def wrong(lib):
        optimizer = sgd(lib)
        return lib.optim.lr_scheduler.SequentialLR(optimizer, several(lib, optimizer), [1])

    assert same_as_torch(wrong)[0] == "ValueError"


@pytest.mark.parametrize("kind", ["SequentialLR", "ChainedScheduler"])
def test_a_plateau_cannot_be_chained(kind, same_as_torch):
    def wrong(lib):
        optimizer, names = sgd(lib), lib.optim.lr_scheduler
        parts = [names.ConstantLR(optimizer), names.ReduceLROnPlateau(optimizer)]
        names.SequentialLR(optimizer, parts, [2]) if kind == "SequentialLR" else names.ChainedScheduler(parts)

    assert same_as_torch(wrong)[0] == "ValueError"


def test_a_step_past_the_end_of_a_cycle_raises(same_as_torch):
    def over(lib):
        optimizer = sgd(lib)
        advance(optimizer, lib.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=3), 5)

    assert same_as_torch(over)[1].startswith("Tried to step 4 times")


@pytest.mark.parametrize(
    "options",
    [
        {"patience": 1},
        {"patience": 1, "cooldown": 2},
        {"mode": "max", "patience": 0, "factor": 0.5},
        {"patience": 1, "threshold": 0.1, "threshold_mode": "abs"},
        {"patience": 0, "min_lr": 0.02},
        {"patience": 0, "min_lr": [0.02, 0.05]},
        {"patience": 0, "eps": 0.05},
    ],
    ids=str,
)
def test_plateaus_count_as_in_torch(options, same_as_torch):
    def run(lib):
        optimizer, out = sgd(lib), []
        scheduler = lib.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)
        for value in [1.0, 0.9, 0.95, 0.95, 0.95, 0.94, 0.9, 0.9, 0.9, 0.5, 0.6, 0.6, 0.6, 0.6, float("nan"), 0.6]:
            optimizer.step()
            scheduler.step(value)
            out.append([*rates(optimizer), scheduler.num_bad_epochs, scheduler.cooldown_counter])
        return out, sorted(scheduler.state_dict())

    same_as_torch(run)


def test_sequences_and_chains_keep_torchs_state(same_as_torch):
    def run(lib):
        optimizer, names = sgd(lib), lib.optim.lr_scheduler
        sequence = names.SequentialLR(optimizer, several(lib, optimizer), [2, 5])
        out = [advance(optimizer, sequence, 9), sequence.last_epoch, [float(lr) for lr in sequence.get_last_lr()]]
        state = sequence.state_dict()
        other = sgd(lib)
        resumed = names.SequentialLR(other, several(lib, other), [2, 5])
        resumed.load_state_dict(state)
        out += [sorted(state), [sorted(s) for s in state["_schedulers"]], resumed.last_epoch]
        optimizer = sgd(lib)
        chain = names.ChainedScheduler(several(lib, optimizer)[:2], optimizer=optimizer)
        return [*out, advance(optimizer, chain, 5), sorted(chain.state_dict())]

    same_as_torch(run)


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_momentum_cycles_against_the_rate(kind, same_as_torch):
    def run(lib):
        out = []
        for make in (
            lambda o: lib.optim.lr_scheduler.OneCycleLR(o, max_lr=0.5, total_steps=8),
            lambda o: lib.optim.lr_scheduler.CyclicLR(o, 0.1, 0.2, step_size_up=2),
        ):
            optimizer = lib.optim.SGD([parameter(lib, 2)], lr=0.1, momentum=0.9) if kind == "SGD" else lib.optim.Adam([parameter(lib, 2)], lr=0.1)
            scheduler = make(optimizer)
            for _ in range(7):
                optimizer.step()
                scheduler.step()
                group = optimizer.param_groups[0]
                out.append([group["lr"], group["momentum"] if kind == "SGD" else group["betas"][0]])
        return out

    same_as_torch(run)


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_overridden_step_is_detected(when, same_as_torch):
    def run(lib):
        optimizer = sgd(lib)
        if when == "before":
            optimizer.step = lambda *args: None
        scheduler = lib.optim.lr_scheduler.StepLR(optimizer, 1)
        if when == "after":
            optimizer.step = lambda *args: None
        scheduler.step()

    same_as_torch(run)


def test_averages_of_models_match_torch(same_as_torch):
    def run(lib):
        layer, out, tools = lib.nn.Linear(2, 1), [], lib.optim.swa_utils
        with lib.no_grad():
            layer.weight.fill_(1.0)
            layer.bias.fill_(2.0)
        for options in (
            {},
            {"avg_fn": lambda old, new, n: old * 0.5 + new * 0.5},
            {"multi_avg_fn": tools.get_ema_multi_avg_fn(0.9)},
            {"multi_avg_fn": tools.get_swa_multi_avg_fn()},
            {"use_buffers": True},
        ):
            average = tools.AveragedModel(layer, **options)
            for value in (1.0, 3.0, 5.0):
                with lib.no_grad():
                    layer.weight.fill_(value)
                average.update_parameters(layer)
            out.append([average.module.weight, int(average.n_averaged), sorted(average.state_dict())])
        for strategy in ("cos", "linear"):
            optimizer = sgd(lib)
            out.append(advance(optimizer, tools.SWALR(optimizer, swa_lr=0.05, anneal_epochs=4, anneal_strategy=strategy), 6))
        return out

    same_as_torch(run)


def nested_schedule(lib, optimizer, kind):
    s = lib.optim.lr_scheduler
    inner = {
        "chain": lambda: s.ChainedScheduler([s.ExponentialLR(optimizer, 0.9), s.ConstantLR(optimizer, 0.5, 2)]),
        "sequence": lambda: s.SequentialLR(optimizer, [s.ExponentialLR(optimizer, 0.9), s.StepLR(optimizer, 1)], [1]),
    }[kind]()
    return s.SequentialLR(optimizer, [inner, s.ConstantLR(optimizer)], milestones=[2])


@pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step")  # torch warns of the undone step too
@pytest.mark.parametrize(("kind", "expected"), [("chain", [0.45, 0.405, 1 / 3, 1 / 3]), ("sequence", [1.0, 0.1, 1 / 3, 1 / 3])])  # torch's rates
def test_a_sequence_undoes_the_first_step_of_nested_schedules(kind, expected):
    optimizer = ut.optim.SGD([ut.nn.Parameter(ut.zeros(2))], lr=1.0)
    scheduler = nested_schedule(ut, optimizer, kind)
    rates_seen = [optimizer.param_groups[0]["lr"]]
    for _ in range(3):
        optimizer.step()
        scheduler.step()
        rates_seen.append(optimizer.param_groups[0]["lr"])
    assert rates_seen == pytest.approx(expected)


@pytest.mark.parametrize("factor", [0.95, [0.95], None])
def test_a_multiplicative_schedule_takes_functions_only(factor):
    optimizer = ut.optim.SGD([ut.nn.Parameter(ut.zeros(2))], lr=1.0)
    with pytest.raises(TypeError, match="lr_lambda should be a function, but got (float|NoneType)"):
        ut.optim.lr_scheduler.MultiplicativeLR(optimizer, factor)


def test_the_warnings_about_the_order_end_with_the_address_of_the_documentation():
    for overridden in (False, True):
        optimizer = sgd(ut)
        scheduler = ut.optim.lr_scheduler.StepLR(optimizer, 1)
        if overridden:
            optimizer.step = lambda: None
        with pytest.warns(UserWarning, match="optim.html#how-to-adjust-learning-rate$"):
            scheduler.step()


@pytest.mark.parametrize("family", ["SGD", "Adam"])
def test_cyclic_rates_write_both_momenta_to_the_groups(family, same_as_torch):
    def run(lib):
        optimizer = getattr(lib.optim, family)([parameter(lib, 2)], lr=0.1)
        lib.optim.lr_scheduler.CyclicLR(optimizer, 0.01, 0.1, base_momentum=0.7, max_momentum=0.95)
        return {k: v for k, v in sorted(optimizer.param_groups[0].items()) if "momentum" in k or k == "betas"}

    assert same_as_torch(run)["base_momentum"] == 0.7


TENSOR_ARGUMENTS = {
    "CyclicLR": lambda lib, o, t: lib.optim.lr_scheduler.CyclicLR(o, 0.01, t, step_size_up=3, base_momentum=t, max_momentum=t * 2),
    "OneCycleLR": lambda lib, o, t: lib.optim.lr_scheduler.OneCycleLR(o, t, 10, base_momentum=t, max_momentum=t),
    "SWALR": lambda lib, o, t: lib.optim.swa_utils.SWALR(o, swa_lr=t, anneal_epochs=3),
    "SWALR, list": lambda lib, o, t: lib.optim.swa_utils.SWALR(o, swa_lr=[t], anneal_epochs=3, anneal_strategy="linear"),
}


@pytest.mark.parametrize("case", TENSOR_ARGUMENTS)
def test_tensor_arguments_are_copied(case, same_as_torch):
    def run(lib):
        optimizer, t = lib.optim.SGD([parameter(lib, 2)], lr=0.1, momentum=0.5), lib.tensor(0.05)
        scheduler = TENSOR_ARGUMENTS[case](lib, optimizer, t)
        t.mul_(0.5)
        found = advance(optimizer, scheduler, 4)
        return found, {k: v for k, v in sorted(optimizer.param_groups[0].items()) if k != "params"}

    same_as_torch(run)


def test_a_base_rate_that_is_a_tensor_stays_the_base():
    """In torch the group's rate is then the base itself, so every step moves the base too."""
    optimizer = ut.optim.SGD([parameter(ut, 2)], lr=0.1)
    scheduler = ut.optim.lr_scheduler.CyclicLR(optimizer, ut.tensor(0.05), ut.tensor(0.1), step_size_up=2, cycle_momentum=False)
    assert advance(optimizer, scheduler, 4) == [[pytest.approx(lr)] for lr in (0.075, 0.1, 0.075, 0.05)]


@pytest.mark.parametrize("case", SCHEDULES)
def test_rates_that_are_returned_do_not_change_later(case):
    optimizer = ut.optim.SGD([{"params": [parameter(ut, 2)]}, {"params": [parameter(ut, 3)]}], lr=ut.tensor(0.1), momentum=0.5)
    scheduler = schedule(ut, case, optimizer)
    returned, found = scheduler.get_last_lr(), [float(lr) for lr in scheduler.get_last_lr()]
    advance(optimizer, scheduler, 5)
    assert [float(lr) for lr in returned] == found


def test_the_rates_of_a_plateau_are_copies(same_as_torch):
    def run(lib):
        optimizer = lib.optim.SGD([parameter(lib, 2)], lr=lib.tensor(0.1))
        scheduler = lib.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
        before = scheduler.get_last_lr()
        for _ in range(3):
            scheduler.step(1.0)
        return before, scheduler.get_last_lr()

    same_as_torch(run)


@pytest.mark.parametrize("kind", ["cos", "linear"])
def test_one_cycle_loads_states_of_old_versions(kind, same_as_torch):
    def run(lib):
        optimizer = sgd(lib)
        scheduler = lib.optim.lr_scheduler.OneCycleLR(optimizer, 0.5, 10, anneal_strategy=kind, cycle_momentum=False)
        del scheduler._anneal_func_type
        state = scheduler.state_dict()
        state["anneal_func"] = getattr(lib.optim.lr_scheduler.OneCycleLR, f"_annealing_{kind}")
        scheduler.load_state_dict(state)
        return advance(optimizer, scheduler, 6)

    same_as_torch(run)


@pytest.mark.parametrize("epochs", [0, 1, 3])
def test_swa_rates_after_few_epochs_match_torch(epochs, same_as_torch):
    def run(lib):
        optimizer = sgd(lib)
        scheduler = lib.optim.swa_utils.SWALR(optimizer, swa_lr=0.05, anneal_epochs=epochs)
        state = sorted(k for k in scheduler.state_dict())
        return rates(optimizer), advance(optimizer, scheduler, 4), state

    same_as_torch(run)


@pytest.mark.parametrize("case", [*SCHEDULES, "ReduceLROnPlateau", "SequentialLR", "ChainedScheduler", "SWALR"])
def test_schedules_have_the_private_methods_that_subclasses_call(case):
    name = case.split(",")[0]
    family = getattr(ut.optim.swa_utils if name == "SWALR" else ut.optim.lr_scheduler, name)
    methods = {
        "OneCycleLR": ["_anneal_func", "_annealing_cos", "_annealing_linear"],
        "CyclicLR": ["_triangular_scale_fn", "_triangular2_scale_fn", "_exp_range_scale_fn"],
        "ReduceLROnPlateau": ["_is_better", "_init_is_better", "_reduce_lr", "_reset"],
        "SWALR": ["_cosine_anneal", "_linear_anneal", "_get_initial_lr"],
    }
    assert all(callable(getattr(family, m)) for m in ["_update_lr", "_initial_step", *methods.get(name, [])])
