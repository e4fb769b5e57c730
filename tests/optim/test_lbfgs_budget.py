"""LBFGS's line search uses no more evaluations than max_eval leaves it, as torch's."""

import pytest

import undertow as ut

torch = pytest.importorskip("torch", reason="PyTorch is the oracle here")


def descent(L, max_eval):
    x = L.tensor([-1.2, 1.0], dtype=L.float64, requires_grad=True)
    optimizer = L.optim.LBFGS([x], line_search_fn="strong_wolfe", max_iter=50, max_eval=max_eval)
    losses = []

    def closure():
        optimizer.zero_grad()
        loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
        loss.backward()
        losses.append(loss.item())
        return loss

    for _ in range(2):
        optimizer.step(closure)
    return x.tolist(), losses, optimizer.state[x]["func_evals"]


@pytest.mark.parametrize("max_eval", [1, 2, 3, 5, 15, 40])
def test_evaluations_are_torchs(max_eval):
    ours, theirs = descent(ut, max_eval), descent(torch, max_eval)
    assert ours[2] == theirs[2] and ours[1] == pytest.approx(theirs[1]) and ours[0] == pytest.approx(theirs[0])
