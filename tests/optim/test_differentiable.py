"""Steps with `differentiable=True`: the derivative with respect to parameters, gradients, states and options, over several steps."""

from __future__ import annotations

import pytest

import undertow as ut

CASES = [
    ("SGD", {}, ("lr",)),
    ("SGD", {"momentum": 0.9, "nesterov": True}, ("lr", "momentum", "weight_decay")),
    ("SGD", {"momentum": 0.5, "dampening": 0.1, "maximize": True}, ("lr", "weight_decay", "dampening")),
    ("Adam", {}, ("lr", "beta1", "beta2", "weight_decay")),
    ("Adam", {"amsgrad": True, "maximize": True}, ("lr", "beta1", "beta2", "weight_decay", "eps")),
    ("AdamW", {}, ("lr", "beta1", "beta2", "weight_decay")),
    ("AdamW", {"amsgrad": True}, ("lr", "weight_decay")),
    ("NAdam", {}, ("lr", "beta1", "beta2", "weight_decay", "momentum_decay")),
    ("NAdam", {"decoupled_weight_decay": True}, ("lr", "weight_decay")),
    ("RAdam", {"betas": (0.9, 0.4)}, ("lr", "weight_decay")),
    ("RAdam", {"decoupled_weight_decay": True}, ("lr", "weight_decay", "beta1", "beta2")),
    ("Adamax", {}, ("lr", "beta1", "beta2", "weight_decay")),
    ("Adagrad", {"initial_accumulator_value": 0.1}, ("lr", "lr_decay", "weight_decay", "eps")),
    ("Adadelta", {}, ("lr", "rho", "weight_decay", "eps")),
    ("RMSprop", {}, ("lr", "alpha", "weight_decay", "eps")),
    ("RMSprop", {"momentum": 0.9, "centered": True}, ("lr", "alpha", "weight_decay", "momentum")),
    ("Rprop", {}, ("lr",)),
    ("ASGD", {"t0": 1}, ("lr", "lambd", "alpha", "weight_decay")),
]
VALUES = {"lr": 0.05, "beta1": 0.8, "beta2": 0.95, "weight_decay": 0.1, "momentum": 0.7, "dampening": 0.2, "eps": 0.01, "lr_decay": 0.1, "rho": 0.8}
VALUES |= {"alpha": 0.75, "lambd": 0.01, "momentum_decay": 0.02}
STARTS = [[0.5, -1.0, 2.0], [1.5, 0.7, -0.3], [0.6, 0.9, -0.4], [0.55, 1.1, -0.2]]  # the parameter, and three gradients


def after_steps(lib, name, options, hypers, p, gradients, **given):
    """The parameter and the states after one step for each gradient; `hypers` are options given as tensors."""
    p = p.clone()
    options = {**options, **{k: v for k, v in hypers.items() if not k.startswith("beta")}}
    if "beta1" in hypers:
        options["betas"] = (hypers["beta1"], hypers["beta2"])
    optimizer = getattr(lib.optim, name)([p], differentiable=True, **options)
    for state, value in given.items():
        optimizer.state[p][state] = value.clone()
    for g in gradients:
        p.grad = g + 0.1 * p
        optimizer.step()
    return p, *(v for v in optimizer.state[p].values() if v.requires_grad and v.dtype == lib.float64)


def tensors(lib, *values):
    return [lib.tensor(v, dtype=lib.float64, requires_grad=True) for v in values]


@pytest.mark.parametrize(("name", "options", "hypers"), CASES, ids=[f"{n}-{i}" for i, (n, _, _) in enumerate(CASES)])
def test_derivatives_of_three_steps_are_those_of_finite_differences(name, options, hypers):
    # As in torch, the first gradient enters a new buffer of SGD's without its history; a buffer that is there already has one.
    given = {"momentum_buffer": ut.ones(3, dtype=ut.float64)} if name == "SGD" and "momentum" in options else {}

    def scenario(p, *rest):
        return after_steps(ut, name, options, dict(zip(hypers, rest[3:], strict=True)), p, rest[:3], **given)

    inputs = tensors(ut, *STARTS, *(VALUES[h] for h in hypers))
    if name in ("ASGD", "NAdam"):  # eta and the product of momenta are kept in float32, as in torch
        assert ut.autograd.gradcheck(scenario, inputs, eps=1e-2, atol=1e-3, rtol=3e-2)
    else:
        assert ut.autograd.gradcheck(scenario, inputs)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)], ids=str)
def test_the_gradient_of_the_learning_rate_matches_torch(name, shape, same_as_torch):
    def scenario(lib):
        lr = lib.full(shape, 0.1, dtype=lib.float64, requires_grad=True)
        p, *gradients = tensors(lib, *STARTS)
        end = after_steps(lib, name, {}, {"lr": lr}, p, gradients)[0]
        return lib.autograd.grad(end.sum(), [lr, p, *gradients])

    same_as_torch(scenario)


@pytest.mark.parametrize("name", ["Adam", "AdamW"])
def test_the_gradients_of_the_betas_match_torch(name, same_as_torch):
    def scenario(lib):
        betas = tensors(lib, 0.8, 0.95)
        p, *gradients = tensors(lib, *STARTS)
        end = after_steps(lib, name, {}, dict(zip(("beta1", "beta2"), betas, strict=True)), p, gradients)[0]
        return lib.autograd.grad(end.sum(), [*betas, p, *gradients])

    same_as_torch(scenario)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_the_gradient_of_the_weight_decay_matches_torch(name, same_as_torch):
    def scenario(lib):
        decay = lib.tensor(0.3, dtype=lib.float64, requires_grad=True)
        p, g = tensors(lib, *STARTS[:2])
        end = after_steps(lib, name, {}, {"weight_decay": decay}, p, [g])[0]
        return lib.autograd.grad(end.sum(), [decay, p, g])

    same_as_torch(scenario)


@pytest.mark.parametrize("name", ["Adam", "AdamW"])
def test_amsgrad_is_differentiable_as_in_torch(name, same_as_torch):
    def scenario(lib):
        p, g = tensors(lib, *STARTS[:2])
        end = after_steps(lib, name, {"amsgrad": True}, {}, p, [g])[0]
        return lib.autograd.grad(end.sum(), [p, g])

    same_as_torch(scenario)


def test_the_product_of_nadams_momenta_has_a_gradient_as_in_torch(same_as_torch):
    def scenario(lib):
        p, g, product = tensors(lib, *STARTS[:2], 0.7)
        like = lib.ones(3, dtype=lib.float64)
        state = {"step": lib.tensor(3.0), "exp_avg": like, "exp_avg_sq": like * 2, "mu_product": product}
        end = after_steps(lib, "NAdam", {}, {}, p, [g], **state)
        return lib.autograd.grad(sum(e.sum() for e in end), [p, g, product])

    same_as_torch(scenario)


def test_a_weight_decay_of_zero_has_a_gradient():
    decay = ut.tensor(0.0, dtype=ut.float64, requires_grad=True)
    p, g = tensors(ut, *STARTS[:2])
    end = after_steps(ut, "SGD", {"lr": 0.1}, {"weight_decay": decay}, p, [g])[0]
    assert ut.autograd.grad(end.sum(), decay)[0].item() == pytest.approx(-0.1 * sum(STARTS[0]))


@pytest.mark.parametrize("name", sorted({c[0] for c in CASES}))
def test_options_given_as_tensors_step_like_numbers(name):
    """Without `differentiable`, tensors are options like numbers, and nothing is recorded."""
    hypers = {h: VALUES[h] for _, _, names in (c for c in CASES if c[0] == name) for h in names}
    ends = []
    for make in (float, lambda v: ut.tensor(v, dtype=ut.float64, requires_grad=True)):
        values = {k: make(v) for k, v in hypers.items()}
        if "beta1" in values:
            values["betas"] = (values.pop("beta1"), values.pop("beta2"))
        p = ut.tensor(STARTS[0], dtype=ut.float64, requires_grad=True)
        optimizer = getattr(ut.optim, name)([p], **values)
        for g in STARTS[1:]:
            p.grad = ut.tensor(g, dtype=ut.float64)
            optimizer.step()
        ends.append(p.detach())
        assert p.is_leaf
        assert not any(v.requires_grad for v in optimizer.state[p].values())
    assert ut.allclose(*ends, rtol=1e-6)  # ASGD and NAdam keep numbers in float32


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)], ids=str)
@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_takes_a_learning_rate_of_any_one_element_shape(shape, search, same_as_torch):
    def scenario(lib):
        p = lib.tensor([1.0, -2.0], dtype=lib.float64, requires_grad=True)
        optimizer = lib.optim.LBFGS([p], lr=lib.full(shape, 0.5, dtype=lib.float64), max_iter=5, line_search_fn=search)

        def closure():
            optimizer.zero_grad()
            loss = ((p - 3) ** 4).sum()
            loss.backward()
            return loss

        optimizer.step(closure)
        return p

    same_as_torch(scenario)
