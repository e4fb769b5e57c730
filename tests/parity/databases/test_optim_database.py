"""Every optimizer compared with torch over torch's own database: each configuration and flag, each bad input, and exchanged state."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch, the oracle, is not installed")

from optim_database import INFOS, assert_same, described, error_inputs, in_library, inputs, parameters, run

import undertow as ut

SHORT = ("default", "amsgrad", "nesterov", "maximize", "momentum", "capturable", "default & foreach", "default & fused", "default & differentiable")
CASES = [
    pytest.param(name, options, id=f"{name}-{what}-{i}", marks=[] if what in SHORT else [pytest.mark.slow])
    for name in INFOS
    for i, (what, options) in enumerate(inputs(name))
]


def tolerance(name, options, dtype):
    """Rounding: torch sometimes keeps counts, rates and Muon's iteration in narrower types than the parameters."""
    if name == "Muon":
        return 2e-2
    if dtype == "bfloat16":
        return 5e-2
    if dtype != "float64":
        return 1e-4
    narrow = options.get("differentiable") or options.get("foreach") or isinstance(options.get("lr"), torch.Tensor) or "betas" in options
    return 2e-6 if narrow or name == "LBFGS" else 1e-9


def same_run(name, options, dtype, steps):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = run(ut, name, options, dtype, steps), run(torch, name, options, dtype, steps)
        if options.get("differentiable") and "modified by an inplace operation" in theirs.get("says", ""):
            # Torch's formula overwrites in the second step what it saved in the first. Ours does not, and its steps are the usual ones.
            theirs = {"params": run(torch, name, {**options, "differentiable": False}, dtype, steps)["params"]}
            ours = {"params": ours["params"]}
    if "error" in theirs or "error" in ours:
        assert (ours.get("error"), ours.get("says", "")[:36]) == (theirs.get("error"), theirs.get("says", "")[:36])
        return
    close = tolerance(name, options, dtype)
    assert_same(ours, theirs, close, close)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_steps_state_and_errors_match_torch(name, options):
    # A line search decides by rounded numbers, so runs diverge with the number of steps.
    same_run(name, options, "float64", 1 if name == "LBFGS" else 25)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "complex64", "bfloat16"])
@pytest.mark.parametrize(("name", "options"), [p for p in CASES if p.values[0] != "LBFGS"])
def test_other_dtypes_match_torch(name, options, dtype):
    same_run(name, options, dtype, 5 if "float16" in dtype else 25)


ERROR_CASES = [pytest.param(name, case, id=f"{name}-{i}") for name in INFOS for i, case in enumerate(error_inputs(name))]


@pytest.mark.parametrize(("name", "case"), ERROR_CASES)
def test_bad_inputs_of_the_database_raise_torchs_errors(name, case):
    given, said = case.optimizer_error_input, []
    for lib in (torch, ut):
        params = given.params
        if params is None:
            params = [torch.nn.Parameter(torch.ones(2, 3))]
        params, options = in_library((params, given.kwargs), lib)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(case.error_type, match=case.error_regex) as caught:
                optimizer = getattr(lib.optim, name)(params, **options)
                for p in params:  # those that only raise in a step
                    p.grad = lib.ones_like(p)
                optimizer.step()
        said.append((type(caught.value).__name__, str(caught.value).replace("undertow.", "torch.")))
    assert said[0] == said[1]


def stepped(lib, name, params, optimizer, steps, seed):
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        pushes = parameters(lib, [p.shape for p in params], "float64", rng)

        def closure(pushes=pushes):
            for p, g in zip(params, pushes, strict=True):
                p.grad = (g + 0.1 * p).detach()
            return sum((0.05 * p * p + g * p).sum() for p, g in zip(params, pushes, strict=True)).detach()

        closure() if name != "LBFGS" else None
        optimizer.step(closure)


@pytest.mark.parametrize("how", ["state dict", "deepcopy", "pickle", "a new group", "unpickled state dict"])
@pytest.mark.parametrize("name", [n for n in INFOS if n != "LBFGS"])
def test_training_continues_from_a_saved_state(name, how):
    def result(lib):
        params = parameters(lib, ((3, 4), (2, 3)), "float64", np.random.default_rng(0))
        optimizer = getattr(lib.optim, name)(params[:1] if how == "a new group" else params)
        stepped(lib, name, params, optimizer, 3, seed=1)
        if how == "a new group":
            optimizer.add_param_group({"params": params[1:], "lr": 0.03})
        elif how.endswith("state dict"):
            state = optimizer.state_dict()
            if how.startswith("unpickled"):
                state = pickle.loads(pickle.dumps(state))
            optimizer = getattr(lib.optim, name)(params, lr=0.5)
            optimizer.load_state_dict(state)
        else:
            optimizer = copy.deepcopy(optimizer) if how == "deepcopy" else pickle.loads(pickle.dumps(optimizer))
            params = optimizer.param_groups[0]["params"]
        stepped(lib, name, params, optimizer, 3, seed=2)
        return described([p.detach() for p in params]), described(optimizer.state_dict()), repr(optimizer)

    close = 2e-2 if name == "Muon" else 1e-9
    assert_same(result(ut), result(torch), close, close)


def test_every_optimizer_of_the_database_is_here():
    missing = [info for info in INFOS if not hasattr(ut.optim, info)]
    assert not missing and len(INFOS) == 14
