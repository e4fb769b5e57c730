"""An LSTM layer over batches of every size: rows that each thread takes through all steps, and steps that threads share."""

import pytest

import undertow as ut
from undertow import nn


def by_hand(layer: nn.LSTM, x: ut.Tensor, state: tuple[ut.Tensor, ut.Tensor]) -> ut.Tensor:
    out, (h, c) = [], state
    for step in x:
        h, c = ut.lstm_cell(step, (h, c), *layer.all_weights[0])
        out.append(h)
    return ut.stack(out)


# Around 8 rows, where rows are distributed, and around 16, where two threads get 8 each; large weights get 16 each.
@pytest.mark.parametrize("hidden", [5, 70, 200])
@pytest.mark.parametrize("batch", [1, 7, 8, 9, 15, 17, 33])
def test_outputs_and_gradients_match_the_steps_written_out(batch: int, hidden: int):
    ut.manual_seed(batch)
    layer = nn.LSTM(6, hidden).double()
    x = ut.randn(4, batch, 6, dtype=ut.float64, requires_grad=True)
    state = tuple(ut.randn(batch, hidden, dtype=ut.float64, requires_grad=True) for _ in range(2))
    inputs = (x, *state, *layer.parameters())
    whole, steps = layer(x, tuple(s.unsqueeze(0) for s in state))[0], by_hand(layer, x, state)
    assert ut.allclose(whole, steps, atol=1e-12)
    weights = ut.randn(4, batch, hidden, dtype=ut.float64)
    for mine, theirs in zip(ut.autograd.grad(whole, inputs, weights), ut.autograd.grad(steps, inputs, weights), strict=True):
        assert ut.allclose(mine, theirs, atol=1e-11)


@pytest.mark.parametrize("batch", [3, 20, 50])
def test_results_are_bitwise_equal_for_any_number_of_threads(batch: int):
    ut.manual_seed(0)
    layer, x = nn.LSTM(30, 100, bidirectional=True), ut.randn(6, batch, 30, requires_grad=True)
    before, results = ut.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            ut.set_num_threads(threads)
            out = layer(x)[0]
            results.append([out.detach(), *ut.autograd.grad(out.sum(), (x, *layer.parameters()))])
    finally:
        ut.set_num_threads(before)
    for other in results[1:]:
        assert all(ut.equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_gates_that_are_views_and_a_weight_that_is_a_transpose():
    ut.manual_seed(0)
    gates, h, c, weight = ut.randn(12, 5, 160).transpose(0, 1), ut.randn(40, 12).t(), ut.randn(12, 40), ut.randn(40, 160).t()
    run = ut._C._ops["_nn.lstm_layer"]
    for views, plain in zip(run(gates, h, c, weight, False), run(gates.contiguous(), h.contiguous(), c, weight.contiguous(), False), strict=True):
        assert ut.allclose(views, plain, atol=1e-6)
